"""How fine maps are, their contours, and the last step of a walk: hand-made cases, and what figures say of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("scipy")

from samp_lab.experiment import Experiment
from samp_lab.figures.baselines import BASELINES
from samp_lab.figures.baselines import measurements_of as baseline_measurements
from samp_lab.figures.eta import ETA, curves_by_bound
from samp_lab.figures.verification import VERIFICATION, walk_of
from samp_lab.measurements.base import Measurement, name_of
from samp_lab.measurements.map_grain import contours, mean_frequency
from samp_lab.measurements.paper_figures import last_change, mean_correlation
from samp_lab.setups import parse_setup
from samp_lab.store import Results
from samp_lab.tables.table3 import TABLE3

IMAGENET = parse_setup("imagenet")
NOISE = np.random.default_rng(0).normal(0, 0.01, 30)


@pytest.mark.parametrize(("cycles", "turned"), [(1, False), (4, False), (8, True)])
def test_a_wave_has_its_own_frequency(cycles: int, turned: bool) -> None:
    wave = torch.cos(2 * torch.pi * cycles * torch.arange(32) / 32).repeat(1, 32, 1)
    wave = wave.transpose(1, 2) if turned else wave
    assert mean_frequency(3 + 1e-3 * wave).item() == pytest.approx(cycles / 32, rel=1e-3)  # float32 beside 3


def test_two_waves_are_weighed_by_their_power() -> None:
    place = torch.arange(32).double()
    slow, fast = (torch.cos(2 * torch.pi * cycles * place / 32).repeat(1, 32, 1) for cycles in (2, 8))
    assert mean_frequency(slow + 2 * fast).item() == pytest.approx((1 * 2 + 4 * 8) / 5 / 32)


def test_blurring_makes_maps_coarser_and_a_constant_map_has_no_frequency() -> None:
    noise = torch.rand(1, 64, 64, generator=torch.Generator().manual_seed(0))
    smooth = torch.nn.functional.avg_pool2d(noise[:, None], 5, 1)[:, 0]
    assert mean_frequency(smooth).item() < 0.6 * mean_frequency(noise).item()
    assert mean_frequency(noise).item() == pytest.approx(0.383, abs=0.01)  # white noise
    assert mean_frequency(torch.ones(1, 8, 8)).isnan().all()


def test_contours_do_not_depend_on_brightness_and_do_on_shape() -> None:
    disc, square = torch.zeros(56, 56), torch.zeros(56, 56)
    rows, columns = torch.meshgrid(torch.arange(56), torch.arange(56), indexing="ij")
    disc[(rows - 28) ** 2 + (columns - 28) ** 2 < 200] = 1.0
    square[2:20, 2:20] = 1.0
    maps = torch.stack([disc, 0.1 * disc + 5, square])[None]
    edges = contours(maps)  # 1 3 27 27
    assert mean_correlation(edges[:, :2]).item() == pytest.approx(1.0)
    assert mean_correlation(edges[:, 1:]).item() < 0.1


def test_the_last_change_is_relative_to_a_mean_step() -> None:
    scores = torch.tensor([[0.0, 4.0, 4.0, 2.0], [1.0, 3.0, 3.0, torch.nan], [2.0, *[torch.nan] * 3]])
    found = last_change(scores, torch.tensor([3, 2, 0]))
    assert found[:2].tolist() == pytest.approx([2 / ((4 + 0 + 2) / 3), 0.0])
    assert found[2].isnan()


def states(figure: Experiment, numbers: dict[Measurement, dict[str, Any]], tmp_path: Path) -> dict[str, str]:
    results = Results({name_of(cell): {"numbers": columns} for cell, columns in numbers.items()}, {})
    return {verdict.part: verdict.state for verdict in figure.section(results, [IMAGENET], tmp_path).verdicts}


@pytest.mark.parametrize(("rise", "state"), [(0.1, "holds"), (-0.1, "fails"), (0.0, "open")])
def test_finer_maps_have_a_higher_frequency_at_the_smallest_bound(rise: float, state: str, tmp_path: Path) -> None:
    cells = curves_by_bound(IMAGENET)
    numbers: dict[Measurement, dict[str, Any]] = {cells[10]: {"frequency": [0.2] * 30}}
    numbers[cells[200]] = {"frequency": (0.2 + rise + NOISE - NOISE.mean()).tolist()}
    assert states(ETA, numbers, tmp_path) == {"finer": state}


def test_fine_maps_are_those_of_table_3() -> None:
    asked = {name_of(cell) for cell in TABLE3.measurements([IMAGENET])}
    assert {name_of(cell) for cell in curves_by_bound(IMAGENET).values()} == asked


def test_contours_are_judged_beside_maps(tmp_path: Path) -> None:
    baselines, methods = baseline_measurements(IMAGENET)
    more, less = (0.5 + NOISE).tolist(), (0.2 - NOISE).tolist()
    numbers: dict[Measurement, dict[str, Any]] = {
        baselines: {"correlation": more, "contours": less},
        methods: {"correlation": less, "contours": more},
    }
    results = Results({name_of(cell): {"numbers": columns} for cell, columns in numbers.items()}, {})
    found = BASELINES.section(results, [IMAGENET], tmp_path).verdicts
    assert [verdict.state for verdict in found] == ["holds", "fails"]


@pytest.mark.parametrize(("last", "state"), [(0.02, "holds"), (0.5, "fails"), (None, None)])
def test_the_last_credit_is_judged_where_it_was_measured(last: float | None, state: str | None, tmp_path: Path) -> None:
    columns = {"early": (0.6 + NOISE).tolist(), "drop": (0.1 + NOISE).tolist()}
    columns |= {} if last is None else {"last": (last + 0.1 * np.abs(NOISE)).tolist()}
    found = states(VERIFICATION, {walk_of(IMAGENET): columns}, tmp_path)
    assert found.pop("last-credit", None) == state
    assert found == {"early-rise": "holds", "small-drop": "holds"}
