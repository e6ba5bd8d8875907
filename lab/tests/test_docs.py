"""What docs/experiments.md and docs/datasets.md say is true: names exist, examples run, numbers agree."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType
from typing import Any

import click
import pytest

from samp_lab import smoke
from samp_lab.commands import bench
from samp_lab.experiment_commands import OTHER_COMMANDS
from samp_lab.registry import EXPERIMENTS, load_experiment
from samp_lab.reproduce import SetupChoice, run_and_report
from samp_lab.workspace import ExperimentOptions

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
DATASETS = (ROOT / "docs" / "datasets.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SMOKE = "two images of each data set"
MINUTES = "about two minutes"


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(samp_lab(?:\.\w+)+)`", PAGE + DATASETS))))
def test_every_name_on_the_pages_exists(name: str) -> None:
    resolve_name(name)


def test_the_experiment_of_the_page_can_be_defined_run_and_registered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    define, run, register = BLOCKS
    names: dict[str, Any] = {}
    exec(define, names)
    mine = names["MINE"]
    assert "run_and_report([MINE], SetupChoice(), options, Path(" in run
    options = ExperimentOptions(limit=1, models=tmp_path)
    assert run_and_report([mine], SetupChoice(("digits/mnist-slim",)), options, tmp_path, say=lambda _: None) == []
    monkeypatch.setattr("samp_lab.registry.EXPERIMENTS", dict(EXPERIMENTS))  # the page's line changes a copy
    monkeypatch.setitem(sys.modules, "my_package", ModuleType("my_package"))
    monkeypatch.setitem(sys.modules, "my_package.my_table", ModuleType("my_package.my_table"))
    monkeypatch.setattr(sys.modules["my_package.my_table"], "MINE", mine, raising=False)
    exec(register, names)
    assert load_experiment("mine") is mine


def test_smoke_is_described_in_the_same_words_everywhere() -> None:
    assert smoke.LIMIT == 2
    smoke_help = " ".join((OTHER_COMMANDS["smoke"].help or "").split())
    for text in (smoke_help, " ".join((smoke.__doc__ or "").split()), " ".join(PAGE.split())):
        assert SMOKE in text
        assert MINUTES in text


def test_every_command_on_the_page_exists() -> None:
    known = bench.list_commands(click.Context(bench))
    named = re.findall(r"samp bench (\w[\w-]*)", PAGE + DATASETS)
    assert set(named) - {"NAME"} <= set(known)
