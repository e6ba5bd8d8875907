"""The report of a run: its numbers are those of the rows, and its page stands alone in a real browser."""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import small_runs
from browser import scrolls_sideways, visit
from cli_runs import assert_refused
from cli_runs import run as command
from samp.batch import load, run, tables
from samp.batch.columns import NUMBERS, Columns
from samp.html.report_facts import QUANTITIES, Quantity, class_summaries, ranking_quantity
from samp.html.report_page import describe_quantity, run_page
from small_runs import classifier


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run over twenty photos and one that is none."""
    folder = tmp_path_factory.mktemp("report")
    data = small_runs.photos(folder / "data", 20)
    (data / "<b>bad.jpg").write_text("no photo")
    run(data, out=folder / "out", model=classifier(), shard_size=6)
    return folder / "out"


def told(words: str) -> dict[str, Any]:
    """The numbers that a page holds for machines."""
    found = re.search(r'<script type="application/json" id="facts">(.*?)</script>', words)
    assert found
    facts: dict[str, Any] = json.loads(found[1])
    return facts


def test_numbers_are_those_of_the_rows(done: Path) -> None:
    facts = told(run_page(load(done)))
    rows = [row for row in load(done).rows() if not row["error"]]
    assert (facts["explained"], facts["failed"]) == (20, 1)
    assert facts["median_10_90"]["gini"][0] == pytest.approx(statistics.median(row["gini"] for row in rows))
    errors = [abs(row["residual"] / row["score_change"]) for row in rows]
    assert facts["median_10_90"]["error_share"][0] == pytest.approx(statistics.median(errors))


def shown(words: str) -> dict[str, list[str]]:
    """The ids of the examples under each of their headings."""
    parts = re.findall(r'<h3>(.*?)</h3>\s*<div class="maps n6">(.*?)</div>', words, re.DOTALL)
    return {head: re.findall(r"<figcaption><b>(.*?)</b>", figures) for head, figures in parts}


def test_best_and_worst_are_by_completeness(tmp_path: Path) -> None:
    run(small_runs.photos(tmp_path / "data", 20), out=tmp_path / "out", model=classifier(), method="samp++")
    rows = load(tmp_path / "out").rows()
    errors = {row["id"]: abs(row["residual"] / row["score_change"]) for row in rows}
    ranked = sorted(errors, key=lambda name: errors[name])
    words = run_page(load(tmp_path / "out"))
    assert shown(words) == {"The best": ranked[:6], "The worst": ranked[-6:][::-1]}
    assert "Best and worst</h2>" in words
    assert "up to rounding" not in words


def test_where_errors_are_rounding_best_and_worst_are_by_concentration(done: Path) -> None:
    rows = [row for row in load(done).rows() if not row["error"]]
    assert max(abs(row["residual"] / row["score_change"]) for row in rows) < 1e-4
    ranked = [row["id"] for row in sorted(rows, key=lambda row: row["gini"])]
    words = run_page(load(done))
    assert shown(words) == {"The most concentrated": ranked[-6:][::-1], "The most even": ranked[:6]}
    assert "Best and worst, by concentration</h2>" in words
    assert "Credit sums to the score change up to rounding" in words


@pytest.mark.parametrize(
    ("row", "judge"),
    [
        ({"residual": 1e-3, "score_change": 2.0, "score": 3.0}, "error_share"),
        ({"residual": 1e-4, "score_change": 2.0, "score": 3.0}, "gini"),
        ({"residual": -1e-6, "score_change": 1e-5, "score": -9.0}, "gini"),
        ({"residual": 1e-6, "score_change": 0.0, "baseline_score_to_image": 9.0}, "gini"),
        ({"residual": 1e-6, "score_change": 1e-5, "score": 0.1}, "error_share"),
        ({"residual": 0.5, "score_change": 0.0, "score": 3.0}, "error_share"),
        ({"residual": 0.0, "score_change": 0.0}, "gini"),
    ],
)
def test_one_error_that_is_more_than_rounding_is_worth_ranking(row: dict[str, float], judge: str) -> None:
    exact = [{"residual": 1e-8, "score_change": 1.0, "score": 1.0, "gini": 0.5}, {"error": "no photo"}]
    assert ranking_quantity(Columns.from_rows([*exact, row])).key == judge


def test_classes_are_summed_up_by_hand() -> None:
    rows = [
        {"target": 1, "label": "bee", "predicted": 1, "score": 1.0, "gini": 0.5},
        {"target": 1, "label": "bee", "predicted": 0, "score": 3.0, "gini": 0.7},
        {"target": 0, "label": "ant", "predicted": 0, "score": 2.0, "gini": 0.1},
    ]
    bee, ant = class_summaries(Columns.from_rows(rows))
    assert (bee["class"], bee["inputs"], bee["agreed"], bee["score"]) == ("bee", 2, 0.5, 2.0)
    assert bee["gini"] == pytest.approx(0.6)
    assert (ant["class"], ant["agreed"], ant["error_share"]) == ("ant", 1.0, None)


def test_an_error_of_no_change_is_infinite_or_none() -> None:
    error: Quantity = QUANTITIES[0]
    pairs = [(0.5, 0.0), (0.0, 0.0), (None, 1.0), (1.0, None), (-1.0, 4.0)]
    columns = Columns.from_rows([{"residual": residual, "score_change": change} for residual, change in pairs])
    np.testing.assert_equal(error.per_input(columns), [np.inf, 0.0, np.nan, np.nan, 0.25])
    assert ranking_quantity(Columns.from_rows([])).key == "gini"
    assert "; 1 without bound" in describe_quantity(error, columns)["summary"]


def test_a_run_that_is_not_finished_is_summed_up_as_far_as_it_is_there(done: Path, tmp_path: Path) -> None:
    data = small_runs.photos(tmp_path / "data", 9)
    run(data, out=tmp_path / "out", model=classifier(), shard_size=3, method="gradcam")
    next((tmp_path / "out" / "done").glob("000001*")).unlink()
    words = run_page(load(tmp_path / "out"))
    assert "3 inputs have no row yet" in words
    assert "credit is not meant to sum to the score" in words
    assert told(words)["explained"] == 6


@pytest.mark.parametrize("photos", [1, 0])
def test_a_run_of_almost_nothing_has_a_page(tmp_path: Path, photos: int) -> None:
    data = small_runs.photos(tmp_path / "data", photos)
    data.mkdir(exist_ok=True)
    (data / "bad.png").write_text("no photo")
    run(data, out=tmp_path / "out", model=classifier())
    words = run_page(load(tmp_path / "out"))
    assert "There are too few maps for this" in words
    assert "credit is not meant to sum" not in words  # no row says so, but the method's would


def test_the_page_says_the_numbers_of_the_walk_and_does_without_in_runs_of_old(done: Path, tmp_path: Path) -> None:
    assert "all sizes: walks 4, steps 13, noise 0.01" in run_page(load(done))
    run(small_runs.photos(tmp_path / "data", 2), out=tmp_path / "out", model=classifier())
    path = tmp_path / "out" / "manifest.json"
    said = json.loads(path.read_text())
    del said["settings"]["walk"]
    path.write_text(json.dumps(said))
    assert "<dt>Walk</dt>" not in run_page(load(tmp_path / "out"))


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_columns_are_those_of_the_rows_and_one_map_that_of_all(
    tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'samp[scale]'")
    monkeypatch.setattr("samp.batch.tables.best_form", lambda: form)
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
        place = columns.locate(position)
        assert done.row(*place) == row
        assert bool(columns.failed[position]) == bool(row["error"])
        if not row["error"]:
            assert torch.equal(done.map(*place), maps[row["id"]])


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_a_table_of_an_older_version_has_no_resolution(
    tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'samp[scale]'")
    older = {name: kind for name, kind in tables.COLUMNS.items() if name != "resolution"}
    with monkeypatch.context() as patched:
        patched.setattr("samp.batch.tables.best_form", lambda: form)
        patched.setattr("samp.batch.tables.COLUMNS", older)
        run(small_runs.photos(tmp_path / "data", 4), out=tmp_path / "out", model=classifier(), method="ig")
    columns = load(tmp_path / "out").columns()
    assert np.isnan(columns["resolution"]).all()
    assert columns["gradients"].tolist() == [51] * 4
    assert "51 gradients each" in run_page(load(tmp_path / "out"))


def test_the_page_says_at_which_resolution_maps_are_reproducible(done: Path, tmp_path: Path) -> None:
    resolution = np.median([row["resolution"] for row in load(done).rows() if not row["error"]])
    assert f"maps reproducible at {resolution:.0f} px in the median" in run_page(load(done))
    run(small_runs.photos(tmp_path / "data", 2), out=tmp_path / "out", model=classifier(), method="ig")
    assert "reproducible" not in run_page(load(tmp_path / "out"))


def test_pictures_are_shown_where_the_data_set_is_there(done: Path, tmp_path: Path) -> None:
    plain, with_photos = run_page(load(done)), run_page(load(done), pictures=True)
    assert plain.count("<img") == 12
    assert with_photos.count("<img") == 24
    run([Image.new("RGB", (16, 16), (40 * i, 9, 9)) for i in range(4)], out=tmp_path / "out", model=classifier())
    with pytest.warns(UserWarning, match="^4 of 4 photos cannot be read again: their maps are shown alone"):
        words = run_page(load(tmp_path / "out"), pictures=True)
    assert "The data set could not be read again" in words
    assert words.count("<img") == 4


def test_the_command_writes_the_page(done: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = command("report", str(done), "--out", str(tmp_path / "page.html"))
    assert result.exit_code == 0, result.output
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == run_page(load(done))
    assert command("report", str(done)).exit_code == 0
    assert (done / "report.html").is_file()
    monkeypatch.chdir(tmp_path)
    assert_refused(command("report", "nowhere"), "there is no run in nowhere")


@pytest.mark.parametrize("how", [{}, {"color_scheme": "dark"}, {"width": 390, "height": 800}])
def test_the_page_stands_alone(done: Path, tmp_path: Path, chromium: Any, how: dict[str, Any]) -> None:
    path = tmp_path / "page.html"
    path.write_text(run_page(load(done), pictures=True), encoding="utf-8")
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
    path.write_text(run_page(load(done)), encoding="utf-8")
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
