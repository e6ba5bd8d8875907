"""The report of a run: its numbers are those of the rows, and its page stands alone in a real browser."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import small_runs
from browser import scrolls_sideways, started, visit
from cli_runs import refused
from cli_runs import run as command
from samp.cli.report_facts import QUANTITIES, Quantity, bars, classes, ends, judged_by
from samp.cli.report_page import _card, page
from samp.runs import load, run
from samp.runs.columns import NUMBERS, Columns
from small_runs import classifier


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run over twenty photos and one that is none."""
    folder = tmp_path_factory.mktemp("report")
    data = small_runs.photos(folder / "data", 20)
    (data / "<b>bad.jpg").write_text("no photo")
    run(data, out=folder / "out", model=classifier(), shard_size=6)
    return folder / "out"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with started() as browser:
        yield browser


def told(words: str) -> dict[str, Any]:
    """The numbers that a page holds for machines."""
    found = re.search(r'<script type="application/json" id="facts">(.*?)</script>', words)
    assert found
    facts: dict[str, Any] = json.loads(found[1])
    return facts


def test_numbers_are_those_of_the_rows(done: Path) -> None:
    facts = told(page(load(done)))
    rows = [row for row in load(done).rows() if not row["error"]]
    assert (facts["explained"], facts["failed"]) == (20, 1)
    assert facts["median_10_90"]["gini"][0] == pytest.approx(statistics.median(row["gini"] for row in rows))
    errors = [abs(row["residual"] / row["score_change"]) for row in rows]
    assert facts["median_10_90"]["error_share"][0] == pytest.approx(statistics.median(errors))


def test_best_and_worst_are_by_completeness(done: Path) -> None:
    rows = load(done).rows()
    best, worst = ends(QUANTITIES[0].of(load(done).columns()))
    errors = {row["id"]: abs(row["residual"] / row["score_change"]) for row in rows if not row["error"]}
    ranked = sorted(errors, key=lambda name: errors[name])
    assert [rows[place]["id"] for place in best] == ranked[:6]
    assert [rows[place]["id"] for place in worst] == ranked[-6:][::-1]


def test_every_input_is_in_one_bar() -> None:
    values = [0.0, 1e-6, 1e-3, 0.1, 0.1, 2.0]
    for logarithmic in (False, True):
        found = bars(np.array([*values, np.inf]), logarithmic)
        assert found is not None
        assert (sum(found.heights), found.outside) == (6, 1)
    assert bars(np.empty(0)) is None
    alike = bars(np.full(9, 0.5))
    assert alike is not None
    assert sum(alike.heights) == 9


def test_classes_are_summed_up_by_hand() -> None:
    rows = [
        {"target": 1, "label": "bee", "predicted": 1, "score": 1.0, "gini": 0.5},
        {"target": 1, "label": "bee", "predicted": 0, "score": 3.0, "gini": 0.7},
        {"target": 0, "label": "ant", "predicted": 0, "score": 2.0, "gini": 0.1},
    ]
    bee, ant = classes(Columns.of_rows(rows))
    assert (bee["class"], bee["inputs"], bee["agreed"], bee["score"]) == ("bee", 2, 0.5, 2.0)
    assert bee["gini"] == pytest.approx(0.6)
    assert (ant["class"], ant["agreed"], ant["error_share"]) == ("ant", 1.0, None)


def test_an_error_of_no_change_is_infinite_or_none() -> None:
    error: Quantity = QUANTITIES[0]
    pairs = [(0.5, 0.0), (0.0, 0.0), (None, 1.0), (1.0, None), (-1.0, 4.0)]
    columns = Columns.of_rows([{"residual": residual, "score_change": change} for residual, change in pairs])
    np.testing.assert_equal(error.of(columns), [np.inf, 0.0, np.nan, np.nan, 0.25])
    assert judged_by(Columns.of_rows([])).key == "gini"
    assert "; 1 without bound" in _card(error, columns)


def test_a_run_that_is_not_finished_is_summed_up_as_far_as_it_is_there(done: Path, tmp_path: Path) -> None:
    data = small_runs.photos(tmp_path / "data", 9)
    run(data, out=tmp_path / "out", model=classifier(), shard_size=3, method="gradcam")
    next((tmp_path / "out" / "done").glob("000001*")).unlink()
    words = page(load(tmp_path / "out"))
    assert "3 inputs have no row yet" in words
    assert "credit is not meant to sum to the score" in words
    assert told(words)["explained"] == 6


@pytest.mark.parametrize("photos", [1, 0])
def test_a_run_of_almost_nothing_has_a_page(tmp_path: Path, photos: int) -> None:
    data = small_runs.photos(tmp_path / "data", photos)
    data.mkdir(exist_ok=True)
    (data / "bad.png").write_text("no photo")
    run(data, out=tmp_path / "out", model=classifier())
    words = page(load(tmp_path / "out"))
    assert "There are too few maps for this" in words
    assert "credit is not meant to sum" not in words  # no row says so, but the method's would


def test_no_map_is_read_but_those_that_are_shown(tmp_path: Path) -> None:
    """So a page about a million inputs takes seconds; what is wrong with other maps is found when every byte is."""
    data = small_runs.photos(tmp_path / "data", 20)
    run(data, out=tmp_path / "out", model=classifier(), shard_size=1)
    before = page(load(tmp_path / "out"))
    rows = load(tmp_path / "out").rows()
    best, worst = ends(QUANTITIES[0].of(Columns.of_rows(rows)))
    others = set(range(20)) - {*best, *worst}
    for shard in others:
        path = tmp_path / "out" / "maps" / f"{shard:06d}.safetensors"
        content = path.read_bytes()
        path.write_bytes(content[:-40] + bytes(40))
    assert page(load(tmp_path / "out")) == before
    assert len(load(tmp_path / "out", thorough=True).numbers) == 12
    result = command("report", str(tmp_path / "out"), "--check")
    assert result.exit_code == 0, result.output
    assert "8 inputs have no row yet" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("part", ["numbers", "maps"])
@pytest.mark.parametrize("harm", ["cut short", "zeros", "gone"])
def test_what_a_crash_of_the_machine_leaves_is_found_without_reading_it_all(
    tmp_path: Path, part: str, harm: str
) -> None:
    run(small_runs.photos(tmp_path / "data", 6), out=tmp_path / "out", model=classifier(), shard_size=2)
    (victim,) = (tmp_path / "out" / part).glob("000001.*")
    content = victim.read_bytes()
    victim.unlink()
    if harm != "gone":
        victim.write_bytes(content[:-1] if harm == "cut short" else bytes(len(content)))
    assert load(tmp_path / "out").numbers == (0, 2)


def test_receipts_of_old_that_say_no_sizes_are_checked_by_every_byte(tmp_path: Path) -> None:
    run(small_runs.photos(tmp_path / "data", 4), out=tmp_path / "out", model=classifier(), shard_size=2)
    for path in (tmp_path / "out" / "done").glob("*.json"):
        said = json.loads(path.read_text())
        del said["sizes"]
        path.write_text(json.dumps(said))
    victim = tmp_path / "out" / "maps" / "000001.safetensors"
    victim.write_bytes(victim.read_bytes()[:-1] + b"x")
    assert load(tmp_path / "out").numbers == (0,)


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_columns_are_those_of_the_rows_and_one_map_that_of_all(
    tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'samp[scale]'")
    monkeypatch.setattr("samp.runs.tables.best_form", lambda: form)
    data = small_runs.photos(tmp_path / "data", 7)
    (data / "bad.png").write_text("no photo")
    run(data, out=tmp_path / "out", model=classifier(), shard_size=3)
    done = load(tmp_path / "out")
    rows, columns = done.rows(), done.columns()
    assert len(columns) == len(rows) == 8
    for name in NUMBERS:
        known = [np.nan if row[name] is None else row[name] for row in rows]
        np.testing.assert_array_equal(columns[name], known, name)
    assert columns.labels == {row["target"]: row["label"] for row in rows if not row["error"]}
    maps = dict(done.maps())
    for position, row in enumerate(rows):
        place = columns.where(position)
        assert done.row(*place) == row
        assert bool(columns.failed[position]) == bool(row["error"])
        if not row["error"]:
            assert torch.equal(done.map(*place), maps[row["id"]])


def test_pictures_are_shown_where_the_data_set_is_there(done: Path, tmp_path: Path) -> None:
    plain, with_photos = page(load(done)), page(load(done), pictures=True)
    assert plain.count("<img") == 12
    assert with_photos.count("<img") == 24
    run([Image.new("RGB", (16, 16), (40 * i, 9, 9)) for i in range(4)], out=tmp_path / "out", model=classifier())
    words = page(load(tmp_path / "out"), pictures=True)
    assert "The data set could not be read again" in words
    assert words.count("<img") == 4


def test_the_command_writes_the_page(done: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = command("report", str(done), "--out", str(tmp_path / "page.html"))
    assert result.exit_code == 0, result.output
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page(load(done))
    assert command("report", str(done)).exit_code == 0
    assert (done / "report.html").is_file()
    monkeypatch.chdir(tmp_path)
    refused(command("report", "nowhere"), "there is no run in nowhere")


@pytest.mark.parametrize("how", [{}, {"color_scheme": "dark"}, {"width": 390, "height": 800}])
def test_the_page_stands_alone(done: Path, tmp_path: Path, chromium: Any, how: dict[str, Any]) -> None:
    path = tmp_path / "page.html"
    path.write_text(page(load(done), pictures=True), encoding="utf-8")
    with visit(chromium, path, **how) as seen:
        assert not scrolls_sideways(seen.page)
        assert seen.page.locator("figure.card svg").count() == 4
        assert "<b>bad.jpg" in seen.page.inner_text("#failures-title + ul")
        heights = seen.page.eval_on_selector_all("rect.bar", "bars => bars.map(bar => bar.height.baseVal.value)")
        assert min(heights) >= 0
        assert max(heights) > 100
    assert seen.faults() == []


def test_headings_sort_the_classes(done: Path, tmp_path: Path, chromium: Any) -> None:
    path = tmp_path / "page.html"
    path.write_text(page(load(done)), encoding="utf-8")
    with visit(chromium, path) as seen:
        for heading, order in (("Score", -1), ("Score", 1), ("inputs", -1)):
            seen.page.get_by_role("button", name=heading, exact=True).click()
            column = "td:last-child" if heading == "Score" else "td:nth-child(2)"
            cells = seen.page.eval_on_selector_all(
                f"#numbers tbody {column}", "cells => cells.map(c => Number(c.dataset.value))"
            )
            assert cells == sorted(cells, reverse=order < 0)
            assert len(cells) > 1
    assert seen.faults() == []
