"""The rule by which a claim holds, stays open or fails, and the numbers with intervals that it is applied to."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from samp.extras import install_command
from samp.metrics.intervals import Bootstrap, Floats
from samp.metrics.statistics import Summary, compare_pairs, holm, summarise
from samp_lab.report.format import p_value
from samp_lab.sections import State

SIGNIFICANCE = 0.05
"""A test whose p is not below this decides nothing."""
MIN_IMAGES = 20
"""From fewer images no verdict is given: intervals and tests of so few say little about others."""
Statistic = Callable[[Floats], Floats]
"""From weights (r n: how often each image counts, in each of r resamples) to one number per row."""


class Interval(Protocol):
    """A number with a lower and an upper end: `Estimate`, `Difference`, or `samp.metrics.Summary`."""

    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


def claim_state(found: Interval, least: float = -math.inf, most: float = math.inf, p: float = 0.0) -> State:
    """Return the state of the claim that a number lies between `least` and `most`.

    It "holds" where the whole interval lies between them, "fails" where the whole interval lies beyond one of them,
    and is "open" otherwise: where the interval includes a bound, where there is no interval (NaN), and where the test
    that goes with the number has a `p` that is not below 0.05. A number of fewer than MIN_IMAGES images leaves
    the claim "missing".

    >>> [claim_state(Estimate(0.3, low, high), least=0.25) for low, high in ((0.26, 0.4), (0.2, 0.4), (0.1, 0.2))]
    ['holds', 'open', 'fails']
    >>> claim_state(Estimate(0.3, 0.26, 0.4, images=19), least=0.25)
    'missing'
    """
    if too_few_images(found):
        return "missing"
    if not p < SIGNIFICANCE:  # also where p is NaN
        return "open"
    if least < found.low and found.high < most:
        return "holds"
    return "fails" if found.high < least or found.low > most else "open"


def sign_state(found: Interval, sign: int, p: float = 0.0) -> State:
    """Return the state of the claim that a number is positive (`sign` above 0) or negative.

    >>> sign_state(Estimate(0.2, 0.1, 0.3), +1), sign_state(Estimate(0.2, 0.1, 0.3), -1)
    ('holds', 'fails')
    """
    return claim_state(found, least=0.0, p=p) if sign > 0 else claim_state(found, most=0.0, p=p)


def neutral_state(found: Difference) -> State:
    """Return the state of the claim that something makes no significant difference.

    It "holds" where p is not below 0.05 and "fails" where the difference is significant, by p and interval.

    >>> [neutral_state(Difference(0.2, 0.1, 0.3, p, images=100)) for p in (0.3, 0.01)]
    ['holds', 'fails']
    """
    if too_few_images(found):
        return "missing"
    if found.p >= SIGNIFICANCE:
        return "holds"
    return "fails" if "holds" in (found.state(+1), found.state(-1)) else "open"


def not_worse_state(found: Difference) -> State:
    """Return the state of the claim that a is not worse than b: it fails where a − b is significantly below 0.

    Its p is not corrected: that would favour the claim.

    >>> [not_worse_state(Difference(a, a - 1, a + 1, p, images=99)) for a, p in ((2, 0.01), (0, 0.9), (-2, 0.01))]
    ['holds', 'holds', 'fails']
    """
    if too_few_images(found):
        return "missing"
    return "fails" if found.state(-1) == "holds" else "holds"


def too_few_images(found: Interval) -> str:
    """Return the words for a number of fewer than MIN_IMAGES images, "" for enough, or where their number is unknown.

    >>> too_few_images(Estimate(0.3, 0.2, 0.4, images=8)), too_few_images(Estimate(0.3, 0.2, 0.4, images=20))
    ('8 images, too few to judge', '')
    """
    images = found.count if isinstance(found, Summary) else getattr(found, "images", None)
    return "" if images is None or images >= MIN_IMAGES else f"{images} images, too few to judge"


def state_of_all(states: Sequence[State]) -> State:
    """Return the state of the claim that several claims all hold: it fails if one of them does.

    >>> state_of_all(["holds", "open"]), state_of_all(["holds", "open", "fails"]), state_of_all(["holds"])
    ('open', 'fails', 'holds')
    >>> state_of_all(["holds", "missing"])
    'missing'
    """
    if "fails" in states:
        return "fails"
    if "missing" in states:
        return "missing"
    return "open" if "open" in states else "holds"


def state_of_most(states: Sequence[State]) -> State:
    """Return the state of the claim that most of several claims hold: those of more than half decide.

    >>> state_of_most(["holds", "holds", "fails"]), state_of_most(["holds", "open"]), state_of_most(["fails"] * 2)
    ('holds', 'open', 'fails')
    """
    return next((state for state in ("holds", "fails") if 2 * states.count(state) > len(states)), "open")


@dataclass(frozen=True)
class Estimate:
    """A number, its interval, and the number of images that it is of, where that is known.

    >>> print(Estimate(-0.5, -0.75, -0.25)), Estimate(0.1, -0.1, 0.3).state(sign=1)
    −0.500 [−0.750, −0.250]
    (None, 'open')
    """

    value: float
    low: float
    high: float
    images: int | None = field(default=None, kw_only=True)

    def state(self, sign: int) -> State:
        """Return the state of the claim that the number has this sign."""
        return sign_state(self, sign)

    def format(self, form: str = ".3f") -> str:
        """Return the number and, where there is one, its interval in this format, with true minus signs."""
        if math.isnan(self.value):
            return "–"
        interval = "" if math.isnan(self.low) else f" [{self.low:{form}}, {self.high:{form}}]"
        return f"{self.value:{form}}{interval}".replace("-", "−")

    def __str__(self) -> str:
        return self.format()


@dataclass(frozen=True)
class Difference(Estimate):
    """A mean difference a − b with its bootstrap interval, and the two-sided p of a rank test.

    >>> print(Difference(0.2, 0.1, 0.3, p=0.01)), Difference(0.2, 0.1, 0.3, p=0.2).state(+1)
    +0.200 [+0.100, +0.300], p = 0.01
    (None, 'open')
    """

    p: float
    family: int = field(default=1, kw_only=True)
    """The number of tests that p is corrected for."""

    def state(self, sign: int) -> State:
        """Return the state of the claim that the difference has this sign, for which the test counts as well."""
        return sign_state(self, sign, self.p)

    def __str__(self) -> str:
        few = too_few_images(self) or ("too few images" if math.isnan(self.low) else "")
        return few or f"{self.format('+.3f')}, {self.format_p()}"

    def format_p(self) -> str:
        """Return p in words, as Holm's where it is corrected.

        >>> Difference(0.2, 0.1, 0.3, p=0.01, family=4).format_p()
        "Holm's p = 0.01"
        """
        return ("Holm's " if self.family > 1 else "") + p_value(self.p)


def compare_paired(a: Sequence[float], b: Sequence[float]) -> Difference:
    """Return the difference of two numbers of each image, with the p of Wilcoxon's test.

    >>> compare_paired([3.0, 5.0, 4.0], [1.0, 2.0, 0.0]).state(+1)  # three images are too few to be sure
    'missing'
    """
    found = compare_pairs(a, b, "higher")
    return Difference(found.difference, found.low, found.high, found.p, images=found.pairs)


def correct_family(family: Sequence[Difference]) -> list[Difference]:
    """Return the differences with Holm's p: a family is the tests of one claim on one setup.

    >>> [one.p for one in correct_family([Difference(0.2, 0.1, 0.3, p) for p in (0.01, 0.04, 0.03)])]
    [0.03, 0.06, 0.06]
    """
    corrected = holm([one.p for one in family]) if family else []
    return [replace(one, p=p, family=len(family)) for one, p in zip(family, corrected, strict=True)]


def compare_groups(a: Sequence[float], b: Sequence[float], bootstrap: Bootstrap | None = None) -> Difference:
    """Return the difference of two groups of different images, with the p of Mann and Whitney's test.

    For the interval each group is resampled by itself.

    >>> compare_groups([3.0, 4.0, 5.0], [1.0, 1.0, 1.0]).value
    3.0
    """
    bootstrap = bootstrap or Bootstrap()
    first, second = (np.asarray([value for value in group if not math.isnan(value)]) for group in (a, b))
    if min(len(first), len(second)) < 2:
        return Difference(math.nan, math.nan, math.nan, math.nan, images=min(len(first), len(second)))
    draw = np.random.default_rng(bootstrap.seed)
    means = [
        group[draw.integers(0, len(group), (bootstrap.resamples, len(group)))].mean(1) for group in (first, second)
    ]
    tail = (1 - bootstrap.confidence) / 2
    low, high = np.quantile(means[0] - means[1], [tail, 1 - tail])
    p = _scipy_stats().mannwhitneyu(first, second).pvalue
    images = min(len(first), len(second))  # each group must have enough of them
    return Difference(float(first.mean() - second.mean()), float(low), float(high), float(p), images=images)


def bootstrap_estimate(statistic: Statistic, images: int, bootstrap: Bootstrap | None = None) -> Estimate:
    """Return the statistic of all images, with its interval between percentiles of resamples of images.

    >>> x = np.arange(50.0)
    >>> mean = bootstrap_estimate(lambda weights: weights @ x / weights.sum(1), images=50)
    >>> mean.value, 19 < mean.low < mean.value < mean.high < 30
    (24.5, True)
    """
    bootstrap = bootstrap or Bootstrap(resamples=1999)
    value = float(statistic(np.ones((1, images)))[0])
    if images < 2:
        return Estimate(value, math.nan, math.nan, images=images)
    random = np.random.default_rng(bootstrap.seed)
    weights = random.multinomial(images, np.full(images, 1 / images), bootstrap.resamples).astype(np.float64)
    resampled = statistic(weights)
    known = resampled[~np.isnan(resampled)]  # a resample may hold one image only
    if math.isnan(value) or not len(known):
        return Estimate(value, math.nan, math.nan, images=images)
    tail = (1 - bootstrap.confidence) / 2
    low, high = np.quantile(known, [tail, 1 - tail])
    return Estimate(value, float(low), float(high), images=images)


def correlation(x: Sequence[float], y: Sequence[float]) -> Statistic:
    """Return the statistic "Pearson's correlation over images"; NaN where either number does not vary.

    >>> correlation([1.0, 2.0, 3.0], [3.0, 2.0, 1.0])(np.ones((1, 3))).tolist()
    [-1.0]
    """
    a, b = (np.asarray(values, np.float64) - np.mean(values) for values in (x, y))  # shifts change nothing but rounding
    a, b = (values / (np.abs(values).max(initial=0.0) or 1.0) for values in (a, b))

    def statistic(weights: Floats) -> Floats:
        share = weights / weights.sum(1, keepdims=True)
        mean_a, mean_b = share @ a, share @ b
        together = share @ (a * b) - mean_a * mean_b
        spread = np.sqrt(np.maximum((share @ a**2 - mean_a**2) * (share @ b**2 - mean_b**2), 0.0))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(spread > 1e-12, np.clip(together / spread, -1.0, 1.0), np.nan)

    return statistic


def median_of(values: Sequence[float]) -> Statistic:
    """Return the statistic "median over images", each counted as often as its weight says; NaN of none.

    >>> median_of([5.0, 1.0, 2.0, 9.0])(np.array([[1.0, 1.0, 1.0, 1.0], [0.0, 3.0, 1.0, 0.0]])).tolist()
    [3.5, 1.0]
    """
    order = np.argsort(values, kind="stable")
    ordered = np.asarray(values, np.float64)[order]

    def statistic(weights: Floats) -> Floats:
        if not len(ordered):
            return np.full(len(weights), np.nan)
        reached = weights[:, order].cumsum(1)  # r n
        half = reached[:, -1:] / 2
        below, above = (reached >= half).argmax(1), (reached > half).argmax(1)
        return np.asarray((ordered[below] + ordered[above]) / 2, np.float64)

    return statistic


def ratio(a: Sequence[float], b: Sequence[float]) -> Estimate:
    """Return the geometric mean over images of a / b.

    >>> ratio([2.0, 2.0, 2.0], [1.0, 1.0, 1.0]).value
    2.0
    """
    logs = summarise([math.log(one / other) for one, other in zip(a, b, strict=True)])
    return Estimate(*(math.exp(value) for value in (logs.mean, logs.low, logs.high)), images=logs.count)


def kendall_tau(paper: Sequence[float], ours: Sequence[float]) -> float:
    """Return Kendall's τ-b between two orders of the same rows: 1 the same, −1 the reverse.

    >>> kendall_tau([1, 2, 3], [10, 20, 30]), kendall_tau([1, 2, 3], [3, 2, 1])
    (1.0, -1.0)
    """
    pairs = [(i, j) for i in range(len(paper)) for j in range(i)]
    products = [_sign(paper[i] - paper[j]) * _sign(ours[i] - ours[j]) for i, j in pairs]
    untied = [sum(_sign(values[i] - values[j]) != 0 for i, j in pairs) for values in (paper, ours)]
    scale = math.sqrt(untied[0] * untied[1])
    return sum(products) / scale if scale else math.nan


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def _scipy_stats() -> Any:
    try:
        return import_module("scipy.stats")
    except ImportError as error:
        raise ImportError(
            f"Mann and Whitney's test needs scipy, which is not installed: {install_command('metrics')}."
        ) from error
