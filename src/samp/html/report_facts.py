"""The numbers of a report about a run: distributions, examples and classes.

How a metric gets here, from its own file to a `Quantity`: `samp.metrics`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from samp.batch.columns import Array, Columns
from samp.batch.results import RunResults
from samp.html.facts import Record
from samp.html.svg import Histogram

EXAMPLES = 6  # of each end
ROUNDING = 1e-4  # completeness errors up to this come from arithmetic rather than from the method
# The same for residuals relative to the scores: where these hardly change, a share of the change means little.
ROUNDING_OF_SCORES = 1e-6
ALIKE = 1e-9  # values this close, relative to the largest, are one value
MOST_CLASSES = 200  # in the table


@dataclass(frozen=True)
class Quantity:
    """One number of every input, with its heading and meaning."""

    key: str
    heading: str
    meaning: str
    logarithmic: bool = False

    def values(self, columns: Columns) -> Array:
        """Return the known values."""
        values = self.per_input(columns)
        known: Array = values[~np.isnan(values)]
        return known

    def per_input(self, columns: Columns) -> Array:
        """Return the number of every input, NaN where it is not known.

        >>> QUANTITIES[0].per_input(Columns.from_rows([{"residual": -0.5, "score_change": 2.0}]))
        array([0.25])
        """
        if self.key != "error_share":
            return columns[self.key]
        residual, change = columns["residual"], columns["score_change"]
        with np.errstate(divide="ignore", invalid="ignore"):  # by 0: no bound, or nothing of nothing
            return np.where((residual == 0) & (change == 0), 0.0, np.abs(residual / change))


QUANTITIES = (
    Quantity(
        "error_share",
        "Completeness error",
        "what the credit misses of the change of the score, as a share of that change",
        logarithmic=True,
    ),
    Quantity("gini", "Concentration (Gini)", "0 if credit lies evenly on all pixels, near 1 if on a few"),
    Quantity("top_share", "Credit of the top 10 %", "the share of all credit, by size, on the 10 % with the most"),
    Quantity("score", "Score", "what the model gives the explained class"),
)


SCORES = ("score", "baseline_score_to_baseline", "baseline_score_to_image")


def histogram(values: Array, logarithmic: bool = False, most: int = 30) -> Histogram | None:
    """Return the histogram of these values, None if there are none; a logarithmic one has log10 of values as edges.

    Zeros of a logarithmic one are counted with the smallest value above 0. Values that differ by rounding are one bar.

    >>> histogram(np.array([0.0, 0.1, 1.0]), most=2)
    Histogram(edges=(0.0, 0.5, 1.0), heights=(2, 1), outside=0)
    """
    finite = values[np.isfinite(values)]
    if not len(finite):
        return None
    if logarithmic:
        least = finite[finite > 0].min() if (finite > 0).any() else 1e-12
        finite = np.log10(np.maximum(finite, least))
    low, high = float(finite.min()), float(finite.max())
    if high - low <= ALIKE * max(abs(low), abs(high)):  # no bar could be that narrow
        air = max(0.5, 1e-6 * abs(low))
        low, high = low - air, high + air
    heights, edges = np.histogram(finite, min(most, max(len(finite) // 2, 1) + 1), (low, high))
    return Histogram(tuple(edges.tolist()), tuple(heights.tolist()), len(values) - len(finite))


def median_and_deciles(values: Array) -> tuple[float, float, float] | None:
    """Return the median, the first decile and the last one; None if no value is finite.

    >>> median_and_deciles(np.arange(11.0))
    (5.0, 1.0, 9.0)
    """
    finite = values[np.isfinite(values)]
    if not len(finite):
        return None
    middle, low, high = np.quantile(finite, [0.5, 0.1, 0.9])
    return float(middle), float(low), float(high)


def extreme_positions(values: Array, count: int = EXAMPLES) -> tuple[list[int], list[int]]:
    """Return positions of the smallest values (smallest first) and of the largest (largest first).

    No position is in both, and none is of a NaN.

    >>> extreme_positions(np.array([0.3, np.nan, 0.1, 0.9]), 1)
    ([2], [3])
    """
    order = np.argsort(values, kind="stable")  # NaN come last
    order = order[: len(values) - int(np.isnan(values).sum())]
    each = min(count, len(order) // 2)
    return order[:each].tolist(), order[len(order) - each :][::-1].tolist()


def ranking_quantity(columns: Columns) -> Quantity:
    """Return what best and worst go by: completeness, or concentration if that is not known or mere rounding.

    >>> ranking_quantity(Columns.from_rows([{"gini": 0.5, "residual": None}])).key
    'gini'
    """
    known = len(QUANTITIES[0].values(columns))
    return QUANTITIES[0] if known and not is_complete(columns) else QUANTITIES[1]


def is_complete(columns: Columns) -> bool:
    """Return whether the credit of every input sums to the change of its score, up to rounding.

    >>> rows = [{"residual": 1e-7, "score_change": 2.0}, {"residual": 1e-7, "score_change": 0.0, "score": 5.0}]
    >>> more = [*rows, {"residual": 0.1, "score_change": 2.0}]
    >>> is_complete(Columns.from_rows(rows)), is_complete(Columns.from_rows(more))
    (True, False)
    """
    errors, residual = QUANTITIES[0].per_input(columns), np.abs(columns["residual"])
    of_scores = ROUNDING_OF_SCORES * np.fmax.reduce([np.abs(columns[name]) for name in SCORES])
    known = ~np.isnan(errors)
    return bool(known.any() and ((errors <= ROUNDING) | (residual <= of_scores))[known].all())


def run_numbers(run: RunResults, columns: Columns) -> Record:
    """Return the numbers of a run's page for machines."""
    medians = {quantity.key: median_and_deciles(quantity.values(columns)) for quantity in QUANTITIES}
    counts = {"explained": columns.explained_count, "failed": len(columns) - columns.explained_count}
    return {"settings": run.settings, **counts, "median_10_90": medians}


def class_summaries(columns: Columns) -> list[Record]:
    """Return a summary of each explained class, the most frequent first.

    >>> row = {"target": 1, "label": "cat", "predicted": 2, "gini": 0.5, "score": 3.0}
    >>> class_summaries(Columns.from_rows([row]))[0]["agreed"]
    0.0
    """
    target = columns["target"]
    order = np.argsort(target, kind="stable")[: len(target) - int(np.isnan(target).sum())]
    numbers, firsts = np.unique(target[order], return_index=True)
    groups = list(zip(numbers.astype(int).tolist(), np.split(order, firsts[1:]), strict=False))
    known = {quantity.key: quantity.per_input(columns) for quantity in QUANTITIES}
    groups.sort(key=lambda group: (-len(group[1]), group[0]))
    return [_class_summary(columns, known, number, group) for number, group in groups]


def _class_summary(columns: Columns, known: dict[str, Array], number: int, group: Array) -> Record:
    medians = {key: median_and_deciles(values[group]) for key, values in known.items()}
    return {
        "class": columns.labels[number],
        "index": number,
        "inputs": len(group),
        "agreed": float((columns["predicted"][group] == number).mean()),
        **{key: found[0] if found else None for key, found in medians.items()},
    }
