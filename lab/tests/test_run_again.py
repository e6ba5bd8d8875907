"""A run made again after something changed: images, weights, settings, or the files of the run itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from PIL import Image

from samp.cli import main
from samp_lab.datasets.images import Entry, Images
from samp_lab.measurements.base import key_of
from samp_lab.measurements.method_maps import MethodCurves
from samp_lab.measurements.path_orders import TransferCurves
from samp_lab.report import write_report
from samp_lab.runner import measure, run_measurements
from samp_lab.setups import parse_setup
from samp_lab.store import Store
from samp_lab.tables.metric_table import MetricTable
from samp_lab.workspace import ExperimentOptions, Workspace

DIGITS = parse_setup("digits/mnist-slim")
QUICK = ExperimentOptions(limit=4, part=2)
PAIR = MetricTable("pair", "Two methods", {"IG": "ig", "random": "random"}, (DIGITS.name,), {})


def run(cells, folder: Path, options: ExperimentOptions = QUICK):  # type: ignore[no-untyped-def]  # any cells, any outcome
    return run_measurements(cells, options, Store(folder), "samp bench test", say=lambda _: None)


def broken() -> Image.Image:
    raise OSError("this is no picture.")


def lab_with(digits: Images) -> Workspace:
    return Workspace(QUICK, _images={("digits", 4): digits})


def test_an_image_that_was_mended_is_measured(tmp_path: Path) -> None:
    """The images behind a bad one move up, so what is kept of their parts is of other images."""
    cell, store = MethodCurves(DIGITS, "ig"), Store(tmp_path)
    whole = Workspace(QUICK).images("digits", None)
    entries = list(whole.entries)
    bad = replace(whole, entries=[entries[0], Entry(entries[1].id, entries[1].label, broken), *entries[2:]])
    before = measure(cell, lab_with(bad), store)
    after = measure(cell, lab_with(whole), store)
    fresh = measure(cell, Workspace(QUICK), Store(tmp_path / "fresh"))
    assert [len(one.entry["numbers"]["deletion"]) for one in (before, after)] == [3, 4]
    assert before.entry["skipped"] == [{"id": entries[1].id, "why": "this is no picture."}]
    assert after.entry == fresh.entry


def test_the_judges_weights_change_the_key() -> None:
    cell, lab = TransferCurves(DIGITS, "ig", "mnist-slim-56"), Workspace(QUICK)
    before = key_of(cell, lab.facts(DIGITS, None, cell.judge))
    judge = lab.net("mnist-slim-56")
    next(judge.net.parameters()).data += 1
    changed = Workspace(QUICK, {"mnist-slim-56": judge})
    assert key_of(cell, changed.facts(DIGITS, None, cell.judge)) != before
    assert changed.facts(DIGITS, None) == lab.facts(DIGITS, None)


@pytest.mark.parametrize("other", [replace(QUICK, seed=1), replace(QUICK, limit=3)])
def test_rows_of_different_images_are_never_set_side_by_side(tmp_path: Path, other: ExperimentOptions) -> None:
    cells = PAIR.measurements([DIGITS])
    run(cells, tmp_path)
    assert "| IG |" in _report(tmp_path)
    run(cells[1:], tmp_path, other)
    said = _report(tmp_path)
    assert "| IG |" not in said
    assert "Two methods is not shown for twenty digits, slim CNN: its cells are of different images" in said
    assert f"{other.limit} images of seed {other.seed}" in said
    run(cells, tmp_path, other)
    assert "| IG |" in _report(tmp_path)


def _report(folder: Path) -> str:
    return write_report(Store(folder), [PAIR])[0].read_text(encoding="utf-8")


def test_a_cell_that_fails_later_is_shown_as_it_was_and_said_to_have_failed(tmp_path: Path) -> None:
    cells = PAIR.measurements([DIGITS])
    run(cells, tmp_path)
    results = Store(tmp_path).results_file
    results.write_text(results.read_text().replace('"failed": {}', f'"failed": {{"{_name(cells[0])}": "no room"}}'))
    assert "could not be measured again, and older numbers are shown: no room." in _report(tmp_path)
    assert "| IG |" in _report(tmp_path)


def _name(cell: object) -> str:
    from samp_lab.measurements.base import name_of

    return name_of(cell).replace('"', '\\"')  # type: ignore[arg-type]  # a cell


@pytest.mark.parametrize(
    "kept",
    [
        "[]",
        '{"a": 1}',
        '{"cells": {',
        '{"about": {}, "commands": [], "cells": [], "failed": {}}',
        '{"about": {}, "commands": [], "cells": {"x": {}}, "failed": {}}',
    ],
)
def test_results_that_are_none_are_told_before_anything_is_measured(tmp_path: Path, kept: str) -> None:
    (tmp_path / "results.json").write_text(kept)
    for words in (["table2", "--dataset", DIGITS.name, "--limit", "1"], ["report"]):
        said = CliRunner().invoke(main, ["bench", *words, "--out", str(tmp_path)])
        assert said.exit_code == 2
        assert "results.json" in said.output
        assert said.output.strip().count("\n") == 0
    assert not (tmp_path / "cells").exists()
    assert (tmp_path / "results.json").read_text() == kept


def test_a_file_in_the_place_of_the_folder_gets_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    words = ["bench", "table2", "--dataset", DIGITS.name, "--limit", "1", "--out", str(tmp_path / "out")]
    said = CliRunner().invoke(main, words)
    assert said.exit_code == 2
    assert "cannot be a folder of results (File exists): give another as --out." in said.output


def test_one_reason_for_many_cells_is_said_once(tmp_path: Path) -> None:
    words = ["bench", "table2", "--dataset", "digits/nothing", "--limit", "1", "--out", str(tmp_path)]
    said = CliRunner().invoke(main, words)
    assert said.exit_code == 1
    assert said.output.count("\nsamp: ") == 1
    assert "and 3 more failed: unknown model 'nothing'" in said.output
    assert (tmp_path / "report.md").read_text(encoding="utf-8").count("unknown model 'nothing'") == 1
