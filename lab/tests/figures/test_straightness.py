"""Straight and bent score curves: the two measures by hand, and what they decide."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from samp_lab.figures.curves import CURVES, measurements_by_row
from samp_lab.measurements.base import name_of
from samp_lab.measurements.straightness import straightness
from samp_lab.sections import Grid, Verdict
from samp_lab.setups import parse_setup
from samp_lab.store import Results

CIFAR = parse_setup("cifar10")


def test_a_line_fits_a_line_wherever_it_lies() -> None:
    shares = torch.tensor([0.0, 0.4, 0.8, 1.0])  # the last step is smaller
    found = straightness(torch.stack([1 - 0.7 * shares, 5 + 3 * shares]), shares)
    np.testing.assert_allclose(found.fit.numpy(), 1.0, atol=1e-9)
    np.testing.assert_allclose(found.gap.numpy(), 0.0, atol=1e-6)


def test_fit_and_gap_by_hand() -> None:
    found = straightness(torch.tensor([[1.0, 0.2, 0.1, 0.0]]), torch.linspace(0, 1, 4))
    away = np.array([1.0, 0.2, 0.1, 0.0]) - np.array([1, 2 / 3, 1 / 3, 0])
    assert found.gap.item() == pytest.approx(np.abs(away).max(), rel=1e-6)
    spread = np.var([1.0, 0.2, 0.1, 0.0]) * 4
    assert found.fit.item() == pytest.approx(1 - (away**2).sum() / spread, rel=1e-6)


def test_curves_without_a_change_or_with_unknown_points_are_nan() -> None:
    flat_and_unknown = torch.tensor([[1.0, 1.0, 1.0], [1.0, torch.nan, 0.0]])
    found = straightness(flat_and_unknown, torch.linspace(0, 1, 3))
    assert found.fit.isnan().all()
    assert found.gap.isnan().all()


def sections_of(fits: dict[str, float], tmp_path: Path) -> tuple[list[Verdict], list[Grid]]:
    entries = {}
    noise = np.random.default_rng(1).normal(0, 0.02, 30)
    for row, measurement in measurements_by_row(CIFAR).items():
        numbers: dict[str, list[float]] = {"deletion": [0.1] * 30}
        if row in fits:
            names = [f"line {what} {curve}" for what in ("fit", "gap") for curve in ("deletion", "insertion")]
            numbers |= {name: (fits[row] + noise).tolist() for name in names}
        entries[name_of(measurement)] = {"numbers": numbers}
    section = CURVES.section(Results(entries, {}), [CIFAR], tmp_path)
    return list(section.verdicts), [block for block in section.blocks if isinstance(block, Grid)]


def test_curves_that_the_paper_calls_straight_are_judged_and_no_others(tmp_path: Path) -> None:
    found, (grid,) = sections_of({"IG": 0.97, "XRAI": 0.5, "SAMP++": 0.2, "Blur IG": 0.1}, tmp_path)
    states = {verdict.claim: verdict.state for verdict in found}
    assert states == {
        "IG: the deletion curve is nearly straight": "holds",
        "IG: the insertion curve is nearly straight": "holds",
        "XRAI: the deletion curve is nearly straight": "fails",
        "XRAI: the insertion curve is nearly straight": "fails",
    }
    assert [row[0] for row in grid.rows] == ["SAMP++", "IG", "Blur IG", "XRAI"]
    assert {verdict.part for verdict in found} == {"curve-shapes"}


def test_results_of_older_runs_are_shown_without_it(tmp_path: Path) -> None:
    assert sections_of({}, tmp_path) == ([], [])
