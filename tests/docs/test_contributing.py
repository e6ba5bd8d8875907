"""The recipes of CONTRIBUTING.md, followed: a method, a baseline, a metric and a table of our own work as it says."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from torch import Tensor

import samp
from cli_runs import a_photo, run, tiny
from samp import baselines
from samp.cli import option_words
from samp.compare_columns import COLUMNS, Column
from samp.methods import registry

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = ("Add a method", "Add a baseline", "Add a metric", "Add a table")
NET = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 5)).eval()
METHOD = """
from dataclasses import dataclass
from typing import ClassVar

import torch

from samp.attribution import Attribution
from samp.engine.driver import RunOptions
from samp.engine.problem import Problem
from samp.methods._common import MethodInfo, make_attribution


@dataclass(frozen=True)
class Toy:
    about: ClassVar[MethodInfo] = MethodInfo(paper="none", cost="nothing", complete="no")
    credit: float = 1.0

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        return make_attribution(problem, torch.full_like(problem.x, self.credit), self, run)


METHODS = {"toy": Toy()}
"""
TABLE = """
from samp_lab.effects import Effect
from samp_lab.tables.metric_table import MetricTable

TOY = MetricTable(
    name="toy",
    title="A toy table",
    rows={"IG": "ig", "SAMP": "samp"},
    setups=("mnist",),
    values={"digits": {"IG": (-0.038, 0.14, 0.795, 0.11), "SAMP": (-0.093, 0.14, 1.074, 0.18)}},
    effects=(Effect("SAMP", "IG", "insertion"),),
)
"""


def steps(title: str) -> list[str]:
    recipe = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\d\. (.*)$", recipe, re.MULTILINE)


@pytest.mark.parametrize("title", RECIPES)
def test_a_recipe_has_five_lines_and_names_files_that_are_there(title: str) -> None:
    assert len(steps(title)) == 5
    paths = [path for step in steps(title) for path in re.findall(r"`((?:src|lab|tests|docs)/[^`]+)`", step)]
    assert len(paths) >= 3
    for path in map(Path, paths):
        to_be_written = path.stem in ("toy", "test_toy") and (ROOT / path).parent.is_dir()
        assert to_be_written or (ROOT / path).exists(), path


def test_a_method_by_the_recipe_explains_and_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "toy.py").write_text(METHOD, encoding="utf-8")
    monkeypatch.setattr(samp.methods, "__path__", [*samp.methods.__path__, str(tmp_path)])
    monkeypatch.setitem(registry.METHODS, "toy", registry.Entry("toy"))  # type: ignore[arg-type]  # a dict, to patch
    result = samp.explain(NET, torch.rand(2, 3, 4, 4), method="toy")
    assert (result.map == 3).all()  # three channels of credit 1
    assert result.method == "Toy(credit=1.0)"
    listing = run("methods")
    assert listing.exit_code == 0
    assert "| `toy` | `Toy(credit=1.0)` | none | nothing | no | ours (Apache-2.0) |" in listing.output
    compared = samp.compare(NET, torch.rand(2, 3, 4, 4), ["toy", "ig"])
    assert compared.names == ("toy", "ig")


@dataclass(frozen=True)
class Dimmed:
    """A baseline by the recipe: the image at a tenth of its brightness."""

    def __call__(self, x: Tensor, seed: int = 0) -> Tensor:
        return x / 10


def test_a_baseline_by_the_recipe_is_known_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tuple(baselines.BASELINES) == option_words.BASELINES  # the second list that the recipe names
    monkeypatch.setitem(baselines.BASELINES, "dimmed", Dimmed())
    monkeypatch.setattr(baselines, "ALWAYS_FINITE", (*baselines.ALWAYS_FINITE, Dimmed))
    monkeypatch.setattr(option_words, "BASELINES", (*option_words.BASELINES, "dimmed"))
    x = torch.rand(2, 3, 4, 4)
    by_name = samp.explain(NET, x, method=samp.SAMP(baseline="dimmed"))
    as_tensor = samp.explain(NET, x, method=samp.SAMP(baseline=x / 10))
    assert torch.equal(by_name.values, as_tensor.values)
    assert "Dimmed()" in by_name.method
    monkeypatch.chdir(tmp_path)
    explained = tiny(a_photo(), "--method", "ig", "--baseline", "dimmed", "--json")
    assert explained.exit_code == 0, explained.output
    assert "Dimmed()" in explained.output


def toy_metric(maps: Tensor | samp.Attribution) -> Tensor:
    """A metric by the recipe: the share of credit in the upper half of the image."""
    values = (maps.map if isinstance(maps, samp.Attribution) else maps).abs()
    return values[:, : values.shape[1] // 2].sum((1, 2)) / values.sum((1, 2))


def test_a_metric_by_the_recipe_accumulates_and_stands_in_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    running = samp.metrics.Running(toy_metric)
    for _ in range(3):
        running.update(samp.explain(NET, torch.rand(2, 3, 4, 4)))
    (moments,) = running.compute().values()
    assert moments.count == 6
    assert 0 < moments.mean < 1

    column = Column(
        key="upper_half",
        heading="upper half",
        better="higher",
        write="{:.2f}".format,
        measure=lambda task, row: toy_metric(row.attribution),
        meaning="Share of the credit that lies in the upper half.",
    )
    monkeypatch.setattr(sys.modules[samp.compare.__module__], "COLUMNS", [*COLUMNS, column])
    compared = samp.compare(NET, torch.rand(2, 3, 4, 4), ["ig", "random"])
    head, _, first, *_ = compared.table().splitlines()
    assert head.endswith("| upper half ↑ |")
    assert re.search(r"\| 0\.\d\d \|$", first)
    assert compared["ig"].numbers(sample=0)["upper_half"] == toy_metric(compared["ig"].attribution)[0].item()


def test_a_table_by_the_recipe_is_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not find_spec("samp_lab"):
        pytest.skip("needs the package samp-lab: pip install -e lab")
    from samp_lab import registry as experiments

    (tmp_path / "toy_table.py").write_text(TABLE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    toy = experiments.Registration("toy_table:TOY", "A toy table.", "beyond")
    monkeypatch.setitem(experiments.EXPERIMENTS, "toy", toy)
    assert "A toy table." in run("bench", "--help").output
    out = tmp_path / "out"
    finished = run("bench", "toy", "--dataset", "digits/mnist-slim", "--limit", "2", "--out", str(out))
    assert finished.exit_code == 0, finished.output
    report = (out / "report.md").read_text(encoding="utf-8")
    assert "## A toy table" in report
    assert "SAMP better than IG, insertion" in report
