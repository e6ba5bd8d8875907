"""How cells were made: commits, precision, versions of methods; and the data card."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import samp.methods.ig
from paper_results import cells_of, write_results
from samp_lab.report.contents import gather_report
from samp_lab.report.data_card import DATA, data_table, net_table
from samp_lab.report.html_page import render_html
from samp_lab.report.left_out import stale_notes
from samp_lab.report.markdown import render_markdown
from samp_lab.report.provenance import list_facts, method_versions, setup_table, why_stale
from samp_lab.setups import DATA_TITLES, parse_setup
from samp_lab.store import Results
from samp_lab.tables.metric_table import MetricTable

SMALL = MetricTable("small", "Table 0: small", {"IG": "ig", "SAMP": "samp"}, ("mnist",), {})


def entry(method: str = "IG(steps=50)", version: int | None = None, **more: Any) -> dict[str, Any]:
    facts = {"device": "cuda", "count": 7} | ({} if version is None else {"method_version": version})
    return {"asked": {"kind": "judged", "bed": "mnist", "method": method}, "facts": facts, "numbers": {}, **more}


def facts_of(*entries: dict[str, Any]) -> dict[str, str]:
    return dict(list_facts({}, Results({str(place): one for place, one in enumerate(entries)}, {})))


def made(commit: str, dirty: bool = False, precision: str = "float32") -> dict[str, Any]:
    return {"commit": commit, "dirty": dirty, "precision": precision}


# ---- commits and precision


def test_cells_are_counted_by_commit_the_most_first() -> None:
    one, other = "a" * 40, "b" * 40
    entries = [entry(made=made(one)), entry(made=made(other)), entry(made=made(other)), entry(made=made(one, True))]
    assert facts_of(*entries, entry())["Commits"] == (
        "bbbbbbbbbb: 2 cells; aaaaaaaaaa: 1 cell; aaaaaaaaaa with changes that were not committed: 1 cell; "
        "not recorded: 1 cell"
    )


def test_cells_of_tf32_are_counted_in_one_sentence() -> None:
    on_cpu = entry()
    on_cpu["facts"]["device"] = "cpu"
    stored = entry()
    stored["facts"]["precision"] = "float32"
    said = facts_of(entry(made=made("a" * 40)), stored, entry(), entry(), on_cpu)["Precision"]
    assert said.startswith("float32: 2 cells; 2 cells made on a GPU before this was recorded, with TF32")
    assert said.endswith("; not recorded: 1 cell")
    assert "TF32" not in facts_of(entry(made=made("a" * 40)))["Precision"]


# ---- versions


@pytest.mark.parametrize(("stored", "now", "stale"), [(None, 1, False), (1, 1, False), (None, 2, True), (3, 2, True)])
def test_a_cell_of_another_version_of_its_method_is_stale(stored: int | None, now: int, stale: bool) -> None:
    assert bool(why_stale(entry(version=stored), {"IG": now})) == stale
    assert why_stale(entry(method="", version=stored), {"IG": now}) == ""  # a cell of no single method


def test_every_method_has_a_version() -> None:
    assert {"SAMP", "SAMPPlusPlus", "IG", "RISE", "Consensus", "SquaredNoise"} <= set(method_versions())
    assert all(version >= 1 for version in method_versions().values())


def test_stale_cells_are_named_in_their_chapter_and_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = write_results(tmp_path, cells_of([SMALL], ["mnist"]))
    assert gather_report(store, [SMALL]).left_out == ()
    newer = {name: version + (name == "SAMP") for name, version in method_versions().items()}
    monkeypatch.setattr("samp_lab.report.provenance.method_versions", lambda: newer)
    report = gather_report(store, [SMALL])
    (said,) = report.left_out
    assert "SAMP on MNIST, the paper's CNN (1 cell), made with version 1 of SAMP" in said
    assert report.chapters[0].stale == (said,)
    assert render_markdown(report).count(said) == 2
    assert render_html(report).count("made with version 1 of SAMP") == 2


def test_the_version_is_read_from_the_method(monkeypatch: pytest.MonkeyPatch) -> None:
    class Newer:
        version = 7

    monkeypatch.setattr(samp.methods.ig.IG, "about", Newer())
    method_versions.cache_clear()
    try:
        assert method_versions()["IG"] == 7
    finally:
        method_versions.cache_clear()


def test_reasons_noted_by_hand_stay() -> None:
    assert stale_notes([entry(stale="drawn before")])[0].endswith("(1 cell), drawn before.")


def test_test_beds_name_their_reading() -> None:
    beds = [parse_setup(name) for name in ("mosaic", "mosaic@authors")]
    assert [row[0] for row in setup_table(beds, Results({}, {})).rows] == [
        "MNIST mosaics, the paper's CNN for several labels",
        "MNIST mosaics, the paper's CNN for several labels (reading “authors”)",
    ]


def test_test_beds_name_the_devices_of_their_cells() -> None:
    cells = {f"{place}": entry() for place in range(3)}
    for cell, device in zip(cells.values(), ("cpu", "cuda", "cpu"), strict=True):
        cell["facts"] = {**cell.get("facts", {}), "device": device, "count": 20}
    table = setup_table([parse_setup("mnist")], Results(cells, {}))
    assert dict(zip(table.heads, table.rows[0], strict=True))["device"] == "CPU, GPU"


# ---- the data card


def test_every_data_set_has_a_card() -> None:
    assert set(DATA) == set(DATA_TITLES)
    assert "TRAINING" in DATA["imagenet"].split


def test_data_sets_stand_once_with_the_most_images_used() -> None:
    results = Results({"a": entry(), "b": replace_count(entry(), 9)}, {})
    grid = data_table([parse_setup("mnist"), parse_setup("mnist:even"), parse_setup("mnist@authors")], results)
    assert [row[0] for row in grid.rows] == ["MNIST"]
    assert grid.rows[0][2] == "9"


def replace_count(one: dict[str, Any], count: int) -> dict[str, Any]:
    return {**one, "facts": {**one["facts"], "count": count}}


def test_trained_nets_have_recipe_accuracy_hash_and_seed() -> None:
    recipe = {"epochs": 8, "rate": 0.1, "seed": 2, "net": {"kind": "FiveLayer", "widths": [8, 24]}}
    net = {
        "accuracy": {"test": 0.99321, "training": 1.0},
        "weights": "3ffd9fe1e70ec26f" + "0" * 48,
        "recipe": json.dumps(recipe),
        "test_images": 10000,
    }
    setups = [parse_setup(name) for name in ("mnist", "imagenet", "imagenet/mobilenet_v2")]
    first, *others = net_table(setups, {"mnist": net}).rows
    assert first == (
        "the paper's CNN",
        "mnist",
        "trained here: FiveLayer 8–24; epochs 8, rate 0.1",
        "99.32 % of 10,000 test images; 100.00 % of the training images",
        "3ffd9fe1e70ec26f",
        "2",
    )
    assert [row[1] for row in others] == ["resnet50", "mobilenet_v2"]
    assert "0.749" in others[0][3]
    assert "0.892" in others[0][3]


def test_a_net_without_test_images_says_so() -> None:
    net = {"accuracy": {"test": None, "training": 1.0}, "weights": "ab", "recipe": "{}", "test_images": 0}
    assert net_table([], {"cub": net}).rows[0][3] == "no test images; 100.00 % of the training images"


def test_the_card_is_in_both_reports(tmp_path: Path) -> None:
    report = gather_report(write_results(tmp_path, cells_of([SMALL], ["mnist"])), [SMALL])
    for text in (render_markdown(report), render_html(report)):
        assert "Data card" in text
        assert "commonly given as CC BY-SA 3.0" in text
