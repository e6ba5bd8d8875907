"""The ratio of Σa and Δy by hand: medians of resamples, and a verdict that a perfect correlation does not decide."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from samp_lab.figures.credit_ratio import credit_ratio
from samp_lab.figures.sensitivity import SENSITIVITY, measurements_of
from samp_lab.measurements.base import name_of
from samp_lab.measurements.paper_tables import CreditSums
from samp_lab.setups import parse_setup
from samp_lab.statistics import median_of
from samp_lab.store import Results

MNIST = parse_setup("mnist@authors")
CHANGES = np.linspace(1.0, 5.0, 41)


def results_of(credit: Callable[[CreditSums], np.ndarray]) -> Results:
    entries = {}
    for cell in measurements_of(MNIST):
        assert isinstance(cell, CreditSums)
        columns = {}
        for direction in ("to_baseline", "to_image"):
            columns[f"credit {direction}"] = credit(cell).tolist()
            columns[f"change {direction}"] = CHANGES.tolist()
        entries[name_of(cell)] = {"numbers": columns}
    return Results(entries, {})


def test_a_weighted_median_is_that_of_the_images_repeated() -> None:
    draw = np.random.default_rng(0)
    values = draw.normal(size=9)
    weights = draw.integers(0, 4, (20, 9)).astype(float)
    weights[:, 0] += 1
    expected = [np.median(np.repeat(values, row.astype(int))) for row in weights]
    np.testing.assert_allclose(median_of(values.tolist())(weights), expected)


def test_the_ratio_leaves_out_images_whose_score_does_not_change() -> None:
    cell = measurements_of(MNIST)[0]
    assert isinstance(cell, CreditSums)
    numbers = {"credit to_image": [2.0, 7.0, None, 9.0, 4.0], "change to_image": [1.0, 0.0, 1.0, 3.0, 1.0]}
    found = credit_ratio(Results({name_of(cell): {"numbers": numbers}}, {}), cell, "to_image")
    assert found.value == 3.0  # of 2, 3 and 4


def test_a_credit_that_is_five_times_too_large_correlates_and_is_not_complete(tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    found = SENSITIVITY.section(results_of(lambda cell: 5 * CHANGES), [MNIST], tmp_path).verdicts
    complete = [verdict for verdict in found if verdict.claim.startswith("Σa")]
    assert {verdict.state for verdict in complete} == {"fails"}
    assert {verdict.ours for verdict in complete} == {"median of Σa/Δy 5 [5, 5]"}
    assert {(verdict.part, verdict.reading) for verdict in found} == {("completeness", "authors")}


def test_the_largest_beta_alone_decides_on_completeness(tmp_path: Path) -> None:
    def credit(cell: CreditSums) -> np.ndarray:
        eta = cell.method.eta  # type: ignore[union-attr]  # all lines are SAMP's
        smallest = min(one.method.eta for one in measurements_of(MNIST))  # type: ignore[attr-defined]  # as above
        return CHANGES * (1.02 if eta == smallest else 3.0)

    found = SENSITIVITY.section(results_of(credit), [MNIST], tmp_path).verdicts
    assert [verdict.state for verdict in found if verdict.claim.startswith("Σa")] == ["holds"] * 4
