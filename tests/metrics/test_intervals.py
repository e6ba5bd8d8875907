"""Bootstrap intervals against scipy's, and the laws that an interval of a mean obeys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from samp.metrics import intervals
from samp.metrics.intervals import Bootstrap, mean_interval

stats = pytest.importorskip("scipy.stats")
QUICK = Bootstrap(resamples=200)


@pytest.mark.parametrize("seed", range(4))
def test_interval_equals_scipys_bca(seed: int) -> None:
    values = np.random.default_rng(seed).exponential(size=60) ** 1.5
    found = mean_interval(values, Bootstrap(0.9, 4000, seed))
    peer = stats.bootstrap(
        (values,), np.mean, n_resamples=4000, confidence_level=0.9, method="BCa", rng=np.random.default_rng(seed)
    ).confidence_interval
    # so close because both take the same draws from the generator
    np.testing.assert_allclose(found, [peer.low, peer.high], rtol=1e-9)


def test_interval_leans_to_the_long_side_of_skewed_scores() -> None:
    values = np.random.default_rng(0).exponential(size=40)
    low, high = mean_interval(values, Bootstrap())
    assert high - values.mean() > 1.1 * (values.mean() - low)
    flipped = mean_interval(-values, Bootstrap())
    np.testing.assert_allclose(flipped, (-high, -low), atol=0.02)  # up to the draws


def test_interval_of_symmetric_scores_is_symmetric_where_resamples_tie_with_the_mean() -> None:
    np.testing.assert_allclose(mean_interval(np.array([0.1, 0.3, 0.2]), Bootstrap()), (0.1, 0.3), atol=1e-12)


def test_interval_covers_the_mean_as_often_as_it_says() -> None:
    """500 normal samples of 40: the share covered has a standard deviation of 0.012 about 0.9."""
    random = np.random.default_rng(0)
    covered = 0
    for seed in range(500):
        low, high = mean_interval(random.normal(3.0, 2.0, 40), Bootstrap(0.9, 500, seed))
        covered += low <= 3.0 <= high
    assert covered / 500 == pytest.approx(0.9, abs=0.04)


def test_interval_follows_shift_and_scale_also_far_from_zero() -> None:
    values = np.random.default_rng(0).normal(size=30)
    low, high = mean_interval(values, QUICK)
    moved = mean_interval(values / 8 + 2.0**30, QUICK)
    np.testing.assert_allclose(np.array(moved) - 2.0**30, (low / 8, high / 8), atol=1e-6)


def test_the_seed_decides_the_draws_and_the_confidence_the_width() -> None:
    values = np.random.default_rng(0).normal(size=30)
    assert mean_interval(values, Bootstrap()) == mean_interval(values, Bootstrap(0.95, 9999, 0))
    assert mean_interval(values, Bootstrap()) != mean_interval(values, Bootstrap(seed=1))
    widths = [high - low for low, high in (mean_interval(values, Bootstrap(c)) for c in (0.5, 0.9, 0.99))]
    assert widths == sorted(widths)


def test_extreme_skew_and_confidence_still_give_an_interval() -> None:
    low, high = mean_interval(np.array([0.0] * 50 + [1.0]), Bootstrap(1 - 1e-13, 500))
    assert 0 <= low <= 1 / 51 <= high <= 1


def test_large_samples_are_drawn_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).normal(size=100)
    whole = mean_interval(values, Bootstrap(resamples=2000))
    monkeypatch.setattr(intervals, "DRAWS_AT_ONCE", 1000)
    np.testing.assert_allclose(mean_interval(values, Bootstrap(resamples=2000)), whole, rtol=1e-12)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"confidence": 1.0}, "between 0 and 1, not at 1.0"),
        ({"confidence": "0.9"}, "between 0 and 1, not at '0.9'"),
        ({"resamples": 0}, "resamples is a whole number of at least 1, not 0"),
        ({"resamples": True}, "resamples is a whole number of at least 1, not True"),
        ({"seed": -1}, "seed is a whole number of at least 0, not -1"),
        ({"seed": 1.5}, "seed is a whole number of at least 0, not 1.5"),
    ],
)
def test_what_draws_no_interval_gets_a_sentence(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Bootstrap(**settings)
