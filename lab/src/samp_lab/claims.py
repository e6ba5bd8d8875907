"""Claims about one number per image, or about two groups of images, as verdicts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from samp.extras import install_command
from samp.metrics.intervals import Bootstrap
from samp.metrics.statistics import Summary, compare_pairs
from samp_lab.report.format import p_value
from samp_lab.sections import SIGNIFICANCE, State


def state_above(summary: Summary, bound: float) -> State:
    """Whether a mean lies above a bound: "open" where its interval holds the bound.

    >>> from samp.metrics import summarise
    >>> state_above(summarise([0.4, 0.5, 0.6]), 0.25), state_above(summarise([0.4, 0.5, 0.6]), 0.55)
    ('holds', 'open')
    """
    if math.isnan(summary.low) or summary.low <= bound <= summary.high:
        return "open"
    return "holds" if summary.mean > bound else "fails"


@dataclass(frozen=True)
class Difference:
    """A mean difference a − b with its bootstrap interval, and the two-sided p of a rank test."""

    value: float
    low: float
    high: float
    p: float

    def __str__(self) -> str:
        if math.isnan(self.low):
            return "too few images"
        said = f"{self.value:+.3f} [{self.low:+.3f}, {self.high:+.3f}], {p_value(self.p)}"
        return said.replace("-", "−")

    def state(self, sign: int) -> State:
        """Whether the difference has the sign that the paper's has.

        >>> Difference(0.2, 0.1, 0.3, 0.01).state(+1), Difference(0.2, 0.1, 0.3, 0.01).state(-1)
        ('holds', 'fails')
        """
        if math.isnan(self.low) or self.low <= 0 <= self.high or not self.p < SIGNIFICANCE:
            return "open"
        return "holds" if (self.value > 0) == (sign > 0) else "fails"


def compare_paired(a: Sequence[float], b: Sequence[float]) -> Difference:
    """Two numbers of each image, by Wilcoxon's test.

    >>> compare_paired([3.0, 5.0, 4.0], [1.0, 2.0, 0.0]).state(+1)  # three images are too few to be sure
    'open'
    """
    found = compare_pairs(a, b, "higher")
    return Difference(found.difference, found.low, found.high, found.p)


def compare_groups(a: Sequence[float], b: Sequence[float], bootstrap: Bootstrap | None = None) -> Difference:
    """Two groups of different images, by Mann and Whitney's test; for the interval each is resampled by itself.

    >>> compare_groups([3.0, 4.0, 5.0], [1.0, 1.0, 1.0]).value
    3.0
    """
    bootstrap = bootstrap or Bootstrap()
    first, second = (np.asarray([value for value in group if not math.isnan(value)]) for group in (a, b))
    if min(len(first), len(second)) < 2:
        return Difference(math.nan, math.nan, math.nan, math.nan)
    draw = np.random.default_rng(bootstrap.seed)
    means = [
        group[draw.integers(0, len(group), (bootstrap.resamples, len(group)))].mean(1) for group in (first, second)
    ]
    tail = (1 - bootstrap.confidence) / 2
    low, high = np.quantile(means[0] - means[1], [tail, 1 - tail])
    p = _scipy_stats().mannwhitneyu(first, second).pvalue
    return Difference(float(first.mean() - second.mean()), float(low), float(high), float(p))


def _scipy_stats() -> Any:
    try:
        return import_module("scipy.stats")
    except ImportError as error:
        raise ImportError(
            f"Mann and Whitney's test is scipy's, which is not installed: {install_command('metrics')}."
        ) from error
