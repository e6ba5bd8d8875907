"""Confidence intervals of a mean: bootstrap BCa intervals (Efron, 1987).

Deletion scores pile up near 0, and plain percentile intervals of such skewed scores are too short on the long side. BCa
corrects for that and, for a mean, costs nothing more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from samp.checks import check_whole, is_number

Floats = NDArray[np.float64]
DRAWS_AT_ONCE = 2**22  # 32 MiB of indices; chunks depend on the sample's size alone, and so the draws are reproducible


@dataclass(frozen=True)
class Bootstrap:
    """How intervals are drawn: their confidence, the number of resamples, and the seed.

    >>> Bootstrap(confidence=0.9)
    Bootstrap(confidence=0.9, resamples=9999, seed=0)
    """

    confidence: float = 0.95
    resamples: int = 9999
    seed: int = 0

    def __post_init__(self) -> None:
        if not is_number(self.confidence) or not 0 < self.confidence < 1:
            raise ValueError(f"confidence lies between 0 and 1, not at {self.confidence!r}.")
        check_whole("resamples", self.resamples, 1)
        check_whole("seed", self.seed, 0)


def mean_interval(values: Floats, bootstrap: Bootstrap) -> tuple[float, float]:
    """The BCa interval of the mean; NaN below two values, and the value itself where all are equal.

    >>> mean_interval(np.array([2.0, 2.0]), Bootstrap())
    (2.0, 2.0)
    """
    if len(values) < 2:
        return math.nan, math.nan
    if (values == values[0]).all():
        return float(values[0]), float(values[0])
    mean, _ = mean_and_sd(values)
    centred = values - mean
    means = _resampled_means(centred, bootstrap)
    low, high = mean + np.quantile(means, _levels(means, centred, bootstrap.confidence))
    return float(low), float(high)


def mean_and_sd(values: Floats) -> tuple[float, float]:
    """Mean and standard deviation (n − 1 in its divisor); NaN without values, and a NaN deviation of one.

    >>> mean_and_sd(np.array([0.1, 0.1, 0.1]))
    (0.1, 0.0)
    """
    if not len(values):
        return math.nan, math.nan
    # taken about the first value, so that equal ones deviate by exactly 0 and not by some rounding
    above = values - values[0]
    return float(values[0] + above.mean()), float(above.std(ddof=1)) if len(values) > 1 else math.nan


def _levels(means: Floats, centred: Floats, confidence: float) -> list[float]:
    """The two quantiles of the BCa interval: moved by the bias of the resamples' median and by the skew of the values.

    The jackknife's acceleration Σ u³ / 6 (Σ u²)^1.5 is the same for the left-out means and for the values themselves.
    """
    normal = NormalDist()
    slack = 1e-12 * np.abs(centred).max()  # resamples with the values' own mean may miss it by rounding
    below = ((means < -slack).mean() + (means <= slack).mean()) / 2  # such ties count half
    bias = normal.inv_cdf(float(np.clip(below, 0.5 / len(means), 1 - 0.5 / len(means))))
    skew = float((centred**3).sum() / (6 * (centred**2).sum() ** 1.5))
    ends = [bias + normal.inv_cdf(tail) for tail in ((1 - confidence) / 2, (1 + confidence) / 2)]
    scales = [1 - skew * end for end in ends]  # not above 0 only at extreme skew and confidence: the last resample then
    return [normal.cdf(bias + e / scale) if scale > 0 else float(e > 0) for e, scale in zip(ends, scales, strict=True)]


def _resampled_means(values: Floats, bootstrap: Bootstrap) -> Floats:
    random = np.random.default_rng(bootstrap.seed)
    size, rows = len(values), max(DRAWS_AT_ONCE // len(values), 1)
    counts = [min(rows, bootstrap.resamples - done) for done in range(0, bootstrap.resamples, rows)]
    return np.concatenate([values[random.integers(size, size=(count, size))].mean(1) for count in counts])
