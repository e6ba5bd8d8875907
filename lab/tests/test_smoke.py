"""The smoke run: every experiment end to end on two images of each data set, as a user would start it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from samp.cli import main
from samp_lab.registry import load_experiments
from samp_lab.reproduce import substitute_setups
from samp_lab.smoke import STAND_INS

for package in ("captum", "skimage", "sklearn", "matplotlib", "scipy"):
    pytest.importorskip(package, reason="needs the extras compare, viz and metrics")


def test_every_experiment_runs_end_to_end_and_is_reported(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["bench", "smoke", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    kept = json.loads((tmp_path / "results.json").read_text())
    assert not kept["failed"]
    report = (tmp_path / "report.md").read_text()
    for experiment in load_experiments():
        setups = substitute_setups(experiment, STAND_INS)
        if experiment.measurements(setups):
            assert experiment.title in report
    assert (tmp_path / "report.html").stat().st_size > 10_000
    assert list((tmp_path / "figures").glob("*.png"))
