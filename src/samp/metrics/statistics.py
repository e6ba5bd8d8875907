"""Comparing methods on the same images: spread, confidence, and a paired test.

A standard deviation over images says how images differ, not how sure a mean is; and two methods on the same images
share what makes an image easy or hard, so they are compared image by image. Nothing here assumes normal scores.

Intervals are bootstrap BCa intervals (Efron, 1987) of the mean. Plain percentiles would be too short on the long side
of skewed scores, and Deletion scores pile up near 0; BCa corrects for that and, for a mean, costs nothing more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from numbers import Integral
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

Better = Literal["higher", "lower"]
Floats = NDArray[np.float64]
DRAWS_AT_ONCE = 2**22  # 32 MiB of places; how a sample is cut depends on its size alone, and so the draws do
EXACT_UP_TO = 50  # pairs, as scipy's


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
        if not 0 < self.confidence < 1:
            raise ValueError(f"confidence lies between 0 and 1, not at {self.confidence!r}.")
        if not (isinstance(self.resamples, Integral) and self.resamples >= 1):
            raise ValueError(f"resamples is a whole number of at least 1, not {self.resamples!r}.")


@dataclass(frozen=True)
class Summary:
    """The mean of a method's scores, how far they spread and how sure the mean is.

    `sd` has n − 1 in its divisor. `low` and `high` bound the mean. Without a score all are NaN; with one, `sd` and the
    interval are.

    >>> print(Summary(count=3, left_out=1, mean=0.5, sd=0.1, low=0.4, high=0.6, confidence=0.95))
    0.500 ± 0.100 (sd) [0.400, 0.600] (95 % interval of the mean) over 3 samples; could not be measured: 1
    """

    count: int
    left_out: int
    """Scores that are NaN: samples that could not be measured."""
    mean: float
    sd: float
    low: float
    high: float
    confidence: float

    def __str__(self) -> str:
        numbers = f"{self.mean:.3f} ± {self.sd:.3f} (sd) [{self.low:.3f}, {self.high:.3f}]"
        without = f"; could not be measured: {self.left_out}" if self.left_out else ""
        return f"{numbers} ({self.confidence * 100:g} % interval of the mean) over {self.count} samples{without}"


@dataclass(frozen=True)
class Comparison:
    """Two methods, a and b, on the same images.

    The mean difference a − b and its interval are in the unit of the scores; the effect sizes are above 0 where a is
    the better one:

    - `rank_biserial`: −1 … 1, the share of the rank sum that speaks for a less the share that speaks for b; pairs
      without a difference have no rank, and if none differs it is 0.
    - `dz`: Cohen's, the mean difference in standard deviations of the differences; NaN if they are all equal.

    `p` is the two-sided p of Wilcoxon's signed-rank test: 1 where no pair differs, NaN where there is no pair. `exact`
    says whether it is exact or by the normal approximation.

    >>> print(paired([3.0, 5.0, 4.0, 6.0], [1.0, 2.0, 0.0, 1.0], better="higher"))
    a is better in 4 of 4 pairs, worse in 0: a − b = 3.500 [2.500, 4.500] (95 %), rank-biserial 1.00, dz 2.71, p = 0.12
    """

    pairs: int
    left_out: int
    """Pairs with a NaN on either side."""
    wins: int
    losses: int
    difference: float
    low: float
    high: float
    confidence: float
    p: float
    exact: bool
    rank_biserial: float
    dz: float

    def __str__(self) -> str:
        counts = f"a is better in {self.wins} of {self.pairs} pairs, worse in {self.losses}"
        size = f"a − b = {self.difference:.3f} [{self.low:.3f}, {self.high:.3f}] ({self.confidence * 100:g} %)"
        test = f"p = {self.p:.2g}"
        without = f"; could not be measured: {self.left_out}" if self.left_out else ""
        return f"{counts}: {size}, rank-biserial {self.rank_biserial:.2f}, dz {self.dz:.2f}, {test}{without}"


def summarise(scores: Any, bootstrap: Bootstrap | None = None) -> Summary:
    """Mean, standard deviation and bootstrap interval of one score per sample; NaN scores are left out and counted.

    >>> found = summarise([1.0, 2.0, 3.0, float("nan")])
    >>> found.count, found.left_out, found.mean, found.sd
    (3, 1, 2.0, 1.0)
    """
    bootstrap = bootstrap or Bootstrap()
    given = _numbers(scores)
    known = given[~np.isnan(given)]
    mean, sd = _mean_and_sd(known)
    low, high = mean_interval(known, bootstrap)
    return Summary(len(known), len(given) - len(known), mean, sd, low, high, bootstrap.confidence)


def paired(a: Any, b: Any, better: Better, bootstrap: Bootstrap | None = None) -> Comparison:
    """Method a against method b, whose scores are of the same samples in the same order.

    Wilcoxon's test drops pairs without a difference. It is exact up to 50 pairs whose differences all have different
    sizes; otherwise it is the normal approximation, corrected for ties and not for continuity.

    >>> paired([0.1, 0.2, 0.3], [0.2, 0.4, 0.6], better="lower").wins
    3
    """
    bootstrap, sign = bootstrap or Bootstrap(), _sign(better)
    first, second = _numbers(a), _numbers(b)
    if len(first) != len(second):
        raise ValueError(
            f"a has {len(first)} scores but b {len(second)}: give both for the same samples, in one order."
        )
    known = ~(np.isnan(first) | np.isnan(second))
    differences = first[known] - second[known]
    mean, sd = _mean_and_sd(differences)
    p, exact, rank_biserial = _wilcoxon(differences)
    low, high = mean_interval(differences, bootstrap)
    return Comparison(
        pairs=len(differences),
        left_out=int((~known).sum()),
        wins=int((sign * differences > 0).sum()),
        losses=int((sign * differences < 0).sum()),
        difference=mean,
        low=low,
        high=high,
        confidence=bootstrap.confidence,
        p=p,
        exact=exact,
        rank_biserial=sign * rank_biserial,
        dz=sign * mean / sd if sd > 0 else math.nan,
    )


def table(
    scores: Mapping[str, Any], better: Better, against: str | None = None, bootstrap: Bootstrap | None = None
) -> str:
    """A Markdown table, one row per method; with `against`, each other method is compared with that one.

    Their p are Holm's: corrected for how many methods are compared, so that all of them together err in one table out
    of twenty at 0.05.

    >>> print(table({"ours": [0.1, 0.3, 0.2], "theirs": [0.4, 0.5, 0.9]}, better="lower"))
    | method | n | mean ± sd ↓ | 95 % interval |
    |---|---|---|---|
    | ours | 3 | 0.200 ± 0.100 | [0.100, 0.300] |
    | theirs | 3 | 0.600 ± 0.265 | [0.433, 0.900] |
    """
    bootstrap = bootstrap or Bootstrap()
    _sign(better)
    if against is not None and against not in scores:
        raise ValueError(f"against is {against!r}, but the methods are {', '.join(scores) or 'none'}.")
    arrow = "↑" if better == "higher" else "↓"
    heads = ["method", "n", f"mean ± sd {arrow}", f"{bootstrap.confidence * 100:g} % interval"]
    rows = {name: _cells(summarise(values, bootstrap)) for name, values in scores.items()}
    if against is not None:
        heads += [f"less {against}", "rank-biserial", "p (Wilcoxon, Holm)"]
        others = [name for name in scores if name != against]
        compared = [paired(scores[name], scores[against], better, bootstrap) for name in others]
        cells = map(_compared_cells, compared, holm([c.p for c in compared]))
        compared_cells = dict(zip(others, cells, strict=True))
        rows = {name: row + compared_cells.get(name, ["–"] * 3) for name, row in rows.items()}
    lines = [_line(heads), "|---" * len(heads) + "|", *(_line([name, *row]) for name, row in rows.items())]
    return "\n".join(lines)


def holm(ps: Any) -> list[float]:
    """Holm's step-down correction; NaN, no test, stays NaN and does not count.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    given = np.asarray(ps, float)
    corrected, order = given.copy(), np.argsort(given)[: int((~np.isnan(given)).sum())]  # NaN sorts last
    factors = np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(given[order] * factors), 1)
    return [float(p) for p in corrected]


def mean_interval(values: Floats, bootstrap: Bootstrap) -> tuple[float, float]:
    """The bootstrap's BCa interval of the mean; NaN below two values, and the value itself where all are equal.

    >>> mean_interval(np.array([2.0, 2.0]), Bootstrap())
    (2.0, 2.0)
    """
    if len(values) < 2:
        return math.nan, math.nan
    if (values == values[0]).all():
        return float(values[0]), float(values[0])
    mean, _ = _mean_and_sd(values)
    centred = values - mean
    means = _resampled_means(centred, bootstrap)
    low, high = mean + np.quantile(means, _levels(means, centred, bootstrap.confidence))
    return float(low), float(high)


def _levels(means: Floats, centred: Floats, confidence: float) -> list[float]:
    """The two quantiles BCa reads off: moved by the bias of the resamples' median and by the skew of the values.

    The jackknife's acceleration Σ u³ / 6 (Σ u²)^1.5 is the same for the left-out means and for the values themselves.
    """
    normal = NormalDist()
    slack = 1e-12 * np.abs(centred).max()  # resamples with the values' own mean may miss it by rounding
    below = ((means < -slack).mean() + (means <= slack).mean()) / 2  # such ties count half
    bias = normal.inv_cdf(float(np.clip(below, 0.5 / len(means), 1 - 0.5 / len(means))))
    skew = float((centred**3).sum() / (6 * (centred**2).sum() ** 1.5))
    ends = [bias + normal.inv_cdf(tail) for tail in ((1 - confidence) / 2, (1 + confidence) / 2)]
    rooms = [1 - skew * end for end in ends]  # not above 0 only at extreme skew and confidence: the last resample then
    return [normal.cdf(bias + e / room) if room > 0 else float(e > 0) for e, room in zip(ends, rooms, strict=True)]


def _resampled_means(values: Floats, bootstrap: Bootstrap) -> Floats:
    random = np.random.default_rng(bootstrap.seed)
    size, rows = len(values), max(DRAWS_AT_ONCE // len(values), 1)
    counts = [min(rows, bootstrap.resamples - done) for done in range(0, bootstrap.resamples, rows)]
    return np.concatenate([values[random.integers(size, size=(count, size))].mean(1) for count in counts])


def _wilcoxon(differences: Floats) -> tuple[float, bool, float]:
    """p, whether it is exact, and the rank-biserial correlation, above 0 where differences are."""
    if not len(differences):
        return math.nan, True, math.nan
    moved = differences[differences != 0]
    if not len(moved):
        return 1.0, True, 0.0
    stats = _scipy_stats()
    sizes = np.abs(moved)
    exact = len(moved) <= EXACT_UP_TO and len(np.unique(sizes)) == len(moved)
    p = stats.wilcoxon(moved, method="exact" if exact else "approx").pvalue
    ranks = stats.rankdata(sizes)
    return float(p), exact, float((ranks * np.sign(moved)).sum() / ranks.sum())


def _scipy_stats() -> Any:
    try:
        return import_module("scipy.stats")
    except ImportError as error:
        raise ImportError("Wilcoxon's test is scipy's, which is not installed: pip install samp[metrics].") from error


def _mean_and_sd(values: Floats) -> tuple[float, float]:
    """About the first value, so that equal ones have a spread of 0 and not of some rounding."""
    if not len(values):
        return math.nan, math.nan
    above = values - values[0]
    return float(values[0] + above.mean()), float(above.std(ddof=1)) if len(values) > 1 else math.nan


def _numbers(scores: Any) -> Floats:
    numbers = np.asarray(scores.detach().cpu().double() if isinstance(scores, Tensor) else scores, dtype=np.float64)
    if numbers.ndim != 1:
        raise ValueError(f"scores are one number per sample, not of shape {numbers.shape}.")
    if np.isinf(numbers).any():
        raise ValueError("the scores hold Inf, which has no mean: pass NaN for what could not be measured.")
    return numbers


def _sign(better: Better) -> int:
    if better not in ("higher", "lower"):
        raise ValueError(f"better is 'higher' or 'lower', not {better!r}.")
    return 1 if better == "higher" else -1


def _cells(summary: Summary) -> list[str]:
    count = f"{summary.count}" + (f" ({summary.left_out} left out)" if summary.left_out else "")
    return [count, f"{summary.mean:.3f} ± {summary.sd:.3f}", f"[{summary.low:.3f}, {summary.high:.3f}]"]


def _compared_cells(compared: Comparison, p: float) -> list[str]:
    difference = f"{compared.difference:+.3f} [{compared.low:+.3f}, {compared.high:+.3f}]"
    return [difference, f"{compared.rank_biserial:+.2f}", f"{p:.2g}"]


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
