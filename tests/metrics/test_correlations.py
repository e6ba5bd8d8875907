"""Correlations: against SciPy, at their ends, and where there are none."""

from __future__ import annotations

import warnings

import pytest
import torch

from laws import CLOSE, images
from samp.metrics.correlations import get_correlation, mean_ranks, pearson, spearman

TIED = torch.tensor([[3.0, 1.0, 3.0, 2.0, 2.0, 3.0], [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]])


def test_both_equal_scipys_with_and_without_ties() -> None:
    stats = pytest.importorskip("scipy.stats")
    a, b = images(0, 5, 40), images(1, 5, 40)
    coarse = (a * 4).round(), (b * 3).round()
    for x, y in ((a, b), coarse, (a * 1e-200, b * 1e200), (a.float() + 1e4, b.float())):
        for ours, theirs in ((pearson, stats.pearsonr), (spearman, stats.spearmanr)):
            rows = zip(x.double().numpy(), y.double().numpy(), strict=True)
            expected = torch.tensor([theirs(*row)[0] for row in rows])
            torch.testing.assert_close(ours(x, y), expected.double(), rtol=1e-9, atol=1e-9)


def test_ties_share_their_mean_rank() -> None:
    assert mean_ranks(TIED).tolist() == [[5, 1, 5, 2.5, 2.5, 5], [3, 3, 3, 3, 3, 6]]


def test_ends_are_reached_exactly() -> None:
    a = torch.tensor([1.0, 2.0, 4.0, 8.0])
    assert pearson(a, 3 * a - 5).item() == pytest.approx(1, abs=1e-15)
    assert pearson(a, -a).item() == -1
    assert spearman(a, a**3).item() == 1
    assert pearson(a, a**3).item() < 0.99


@pytest.mark.parametrize("correlate", [pearson, spearman])
def test_what_does_not_vary_correlates_with_nothing_and_warns_of_nothing(correlate: object) -> None:
    varied = images(0, 1, 6)
    rounding = torch.tensor([[0.3, 0.3 + 2.0**-25] * 3])  # one step of float32 apart
    assert rounding[0, 0] != rounding[0, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for flat in (torch.zeros(1, 6), torch.full((1, 6), 1e-30), torch.full((1, 6), 7), rounding):
            assert get_correlation(correlate)(flat, varied).isnan().all()
            assert get_correlation(correlate)(varied, flat).isnan().all()
        assert get_correlation(correlate)(torch.ones(1, 1), torch.ones(1, 1)).isnan().all()


def test_small_variation_of_whole_numbers_counts() -> None:
    """Exact sums have no rounding to forgive."""
    a = torch.tensor([2**50, 2**50 + 1, 2**50 + 2])
    torch.testing.assert_close(pearson(a, torch.tensor([0.0, 1.0, 2.0])).item(), 1.0, **CLOSE)


def test_unknown_names_get_a_sentence() -> None:
    with pytest.raises(ValueError, match=r"unknown correlation 'pearsn': did you mean 'pearson'\?"):
        get_correlation("pearsn")
