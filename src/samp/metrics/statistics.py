"""Comparing methods on the same images: spread, confidence intervals, and a paired test.

A standard deviation over images measures how much images differ, not how certain a mean is. Two methods on the same
images share what makes an image easy or hard, so they are compared image by image. No score is assumed to be normal.

Intervals are bootstrap BCa intervals of the mean (`samp.metrics.intervals`).
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from samp.checks import check_real, is_one_of
from samp.extras import install_command
from samp.metrics.intervals import Bootstrap, Floats, mean_and_sd, mean_interval

__all__ = ["Bootstrap", "Comparison", "Summary", "compare_pairs", "holm", "summarise", "table"]

Better = Literal["higher", "lower"]
Scores = Sequence[float] | Tensor | NDArray[np.generic]  # one number per sample
EXACT_UP_TO = 50  # pairs, as scipy's
LARGEST = 1e100  # of a score: its cube, for the skew, must stay finite
ROUNDING = 1e-12  # of a pair's scores: differences up to this are none


@dataclass(frozen=True)
class Summary:
    """The mean of a method's scores, their standard deviation and the confidence interval of the mean.

    `sd` has n − 1 in its divisor. `low` and `high` are the ends of the interval. Without scores all are NaN; with one,
    `sd` and the interval are.

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

    - `rank_biserial`: −1 … 1, the share of the rank sum in favour of a less the share in favour of b; pairs without a
      difference have no rank, and if none differs it is 0.
    - `dz`: Cohen's, the mean difference in standard deviations of the differences; NaN if they are all equal.

    `p` is the two-sided p of Wilcoxon's signed-rank test: 1 where no pair differs, NaN where there is no pair. `exact`
    is False where it comes from the normal approximation.

    >>> print(compare_pairs([3.0, 5.0, 4.0, 6.0], [1.0, 2.0, 0.0, 1.0], better="higher"))
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


def summarise(scores: Scores, bootstrap: Bootstrap | None = None) -> Summary:
    """Mean, standard deviation and bootstrap interval of one score per sample; NaN scores are left out and counted.

    >>> summary = summarise([1.0, 2.0, 3.0, float("nan")])
    >>> summary.count, summary.left_out, summary.mean, summary.sd
    (3, 1, 2.0, 1.0)
    """
    bootstrap = _check_bootstrap(bootstrap)
    given = _as_scores(scores)
    known = given[~np.isnan(given)]
    mean, sd = mean_and_sd(known)
    low, high = mean_interval(known, bootstrap)
    return Summary(len(known), len(given) - len(known), mean, sd, low, high, bootstrap.confidence)


def compare_pairs(a: Scores, b: Scores, better: Better, bootstrap: Bootstrap | None = None) -> Comparison:
    """Compare method a with method b, given their scores of the same samples in the same order.

    Two scores are equal if they differ by at most 1e-12 of the larger one, or by the last digits of the largest score
    of all, so that rounding wins no pair.
    Wilcoxon's test drops pairs without a difference. It is exact up to 50 pairs whose differences all have different
    sizes; otherwise it is the normal approximation, corrected for ties and not for continuity.

    >>> compare_pairs([0.1, 0.2, 0.3], [0.2, 0.4, 0.6], better="lower").wins
    3
    """
    bootstrap, sign = _check_bootstrap(bootstrap), _sign(better)
    first, second = _as_scores(a), _as_scores(b)
    _check_lengths({"a": first, "b": second})
    known = ~(np.isnan(first) | np.isnan(second))
    differences = _differences(first[known], second[known])
    mean, sd = mean_and_sd(differences)
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
        rank_biserial=sign * rank_biserial + 0.0,  # no −0
        dz=sign * mean / sd + 0.0 if sd > 0 else math.nan,
    )


def table(
    scores: Mapping[str, Scores], better: Better, against: str | None = None, bootstrap: Bootstrap | None = None
) -> str:
    """Return a Markdown table, one row per method; with `against`, each other method is compared with that one.

    The p-values have Holm's correction for the number of comparisons: at 0.05, one table in twenty has a false one.

    >>> print(table({"ours": [0.1, 0.3, 0.2], "theirs": [0.4, 0.5, 0.9]}, better="lower"))
    | method | n | mean ± sd ↓ | 95 % interval |
    |---|---|---|---|
    | ours | 3 | 0.200 ± 0.100 | [0.100, 0.300] |
    | theirs | 3 | 0.600 ± 0.265 | [0.433, 0.900] |
    """
    bootstrap = _check_bootstrap(bootstrap)
    _sign(better)
    _check_methods(scores, against)
    arrow = "↑" if better == "higher" else "↓"
    heads = ["method", "n", f"mean ± sd {arrow}", f"{bootstrap.confidence * 100:g} % interval"]
    rows = {name: _summary_cells(summarise(values, bootstrap)) for name, values in scores.items()}
    if against is not None:
        heads += [f"less {against}", "rank-biserial", "p (Wilcoxon, Holm)"]
        others = [name for name in scores if name != against]
        compared = [compare_pairs(scores[name], scores[against], better, bootstrap) for name in others]
        cells = map(_comparison_cells, compared, holm([c.p for c in compared]))
        compared_cells = dict(zip(others, cells, strict=True))
        rows = {name: row + compared_cells.get(name, ["–"] * 3) for name, row in rows.items()}
    lines = [_line(heads), "|---" * len(heads) + "|", *(_line([name, *row]) for name, row in rows.items())]
    return "\n".join(lines)


def holm(ps: Scores) -> list[float]:
    """The p-values with Holm's step-down correction; NaN, where there was no test, stays NaN and does not count.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    given = _as_scores(ps, "p-values")
    if ((given < 0) | (given > 1)).any():
        raise ValueError(f"p-values lie from 0 to 1, but these go from {np.nanmin(given):g} to {np.nanmax(given):g}.")
    corrected, order = given.copy(), np.argsort(given)[: int((~np.isnan(given)).sum())]  # NaN sorts last
    factors = np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(given[order] * factors), 1)
    return [float(p) for p in corrected]


def _wilcoxon(differences: Floats) -> tuple[float, bool, float]:
    """p, whether it is exact, and the rank-biserial correlation, above 0 where differences are."""
    if not len(differences):
        return math.nan, True, math.nan
    moved = differences[differences != 0]
    if not len(moved):
        return 1.0, True, 0.0
    stats = _import_scipy_stats()
    sizes = np.abs(moved)
    exact = len(moved) <= EXACT_UP_TO and len(np.unique(sizes)) == len(moved)
    p = stats.wilcoxon(moved, method="exact" if exact else "approx").pvalue
    ranks = stats.rankdata(sizes)
    return float(p), exact, float((ranks * np.sign(moved)).sum() / ranks.sum())


def _import_scipy_stats() -> Any:
    try:
        return import_module("scipy.stats")
    except ImportError as error:
        message = f"Wilcoxon's test is scipy's, which is not installed: {install_command('metrics')}."
        raise ImportError(message) from error


def _as_scores(scores: object, what: str = "scores") -> Floats:
    """Return one number per sample; raise TypeError for anything but numbers, ValueError for other shapes and Inf."""
    numbers = _array(scores, what)
    if numbers.ndim != 1:
        raise ValueError(f"{what} are one number per sample, not of shape {numbers.shape}.")
    if np.isinf(numbers).any():
        raise ValueError(f"the {what} hold Inf, which has no mean: pass NaN for what could not be measured.")
    if (np.abs(numbers[~np.isnan(numbers)]) > LARGEST).any():
        raise ValueError(f"the {what} reach beyond ±{LARGEST:g}, where sums overflow: scale them down first.")
    return numbers


def _array(values: object, what: str) -> Floats:
    if isinstance(values, Tensor):
        check_real(values, f"the {what}")
        values = values.detach().cpu().double().numpy()
    try:
        given = np.asarray(values)
    except ValueError:  # of ragged lists
        given = np.array(None)
    if given.dtype.kind not in "biuf":
        raise TypeError(f"{what} are numbers in a list, an array or a tensor, not {reprlib.repr(values)}.")
    return given.astype(np.float64)


def _check_bootstrap(given: object) -> Bootstrap:
    if given is not None and not isinstance(given, Bootstrap):
        raise TypeError(f"bootstrap is a samp.metrics.Bootstrap or None, not {reprlib.repr(given)}.")
    return given or Bootstrap()


def _differences(first: Floats, second: Floats) -> Floats:
    """a − b of every pair; 0 where the difference is rounding."""
    differences = first - second
    sizes = np.maximum(np.abs(first), np.abs(second))
    last_digit = 4 * np.finfo(np.float64).eps * sizes.max(initial=0.0)
    return np.where(np.abs(differences) <= np.maximum(ROUNDING * sizes, last_digit), 0.0, differences)


def _check_methods(scores: Mapping[str, Scores], against: str | None) -> None:
    if not isinstance(scores, Mapping):
        raise TypeError(f"scores is {{method: its scores}}, not {reprlib.repr(scores)}.")
    for name in scores:
        if not isinstance(name, str):
            raise TypeError(f"a table's methods are named by strings, not by {name!r}.")
    if against is None:
        return
    if not isinstance(against, str) or against not in scores:
        raise ValueError(f"against is {against!r}, but the methods are {', '.join(scores) or 'none'}.")
    for name, values in scores.items():
        _check_lengths({name: _as_scores(values), against: _as_scores(scores[against])})


def _check_lengths(scores: Mapping[str, Floats]) -> None:
    """Raise ValueError unless two methods, by name, have as many scores."""
    lengths = {name: len(values) for name, values in scores.items()}
    if len(set(lengths.values())) > 1:
        (a, first), (b, second) = lengths.items()
        raise ValueError(f"{a} has {first} scores but {b} {second}: give both for the same samples, in one order.")


def _sign(better: Better) -> int:
    if not is_one_of(better, ("higher", "lower")):
        raise ValueError(f"better is 'higher' or 'lower', not {better!r}.")
    return 1 if better == "higher" else -1


def _summary_cells(summary: Summary) -> list[str]:
    count = f"{summary.count}" + (f" ({summary.left_out} left out)" if summary.left_out else "")
    return [count, f"{summary.mean:.3f} ± {summary.sd:.3f}", f"[{summary.low:.3f}, {summary.high:.3f}]"]


def _comparison_cells(compared: Comparison, p: float) -> list[str]:
    difference = f"{compared.difference:+.3f} [{compared.low:+.3f}, {compared.high:+.3f}]"
    return [difference, f"{compared.rank_biserial:+.2f}", f"{p:.2g}"]


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
