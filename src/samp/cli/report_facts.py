"""What a report says of a run: distributions, examples and classes, as plain numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from samp.runs.tables import Row

EXAMPLES = 6  # of each end
MOST_CLASSES = 200  # in the table


@dataclass(frozen=True)
class Quantity:
    """One number of every input, and how it is told."""

    key: str
    heading: str
    meaning: str
    logarithmic: bool = False

    def values(self, rows: Sequence[Row]) -> list[float]:
        """Those that are known."""
        return [value for row in rows if (value := self.of(row)) is not None]

    def of(self, row: Row) -> float | None:
        """The number of one input.

        >>> QUANTITIES[0].of({"residual": -0.5, "score_change": 2.0})
        0.25
        """
        if self.key != "error_share":
            return row.get(self.key)
        residual, change = row.get("residual"), row.get("score_change")
        if residual is None or change is None:
            return None
        return abs(residual / change) if change else (math.inf if residual else 0.0)


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


@dataclass(frozen=True)
class Bars:
    """A histogram: edges (one more than heights) and how many values lie between them."""

    edges: tuple[float, ...]
    heights: tuple[int, ...]
    outside: int
    """Values that no finite axis shows."""


def bars(values: Sequence[float], logarithmic: bool = False, most: int = 30) -> Bars | None:
    """The histogram of these values, or None where there are none; a logarithmic one has log10 for its edges.

    Zeros of a logarithmic one are counted with the smallest value above 0.

    >>> bars([0.0, 0.1, 1.0], most=2)
    Bars(edges=(0.0, 0.5, 1.0), heights=(2, 1), outside=0)
    """
    finite = np.array([value for value in values if math.isfinite(value)], dtype=float)
    if not len(finite):
        return None
    if logarithmic:
        least = finite[finite > 0].min() if (finite > 0).any() else 1e-12
        finite = np.log10(np.maximum(finite, least))
    heights, edges = np.histogram(finite, bins=min(most, max(len(finite) // 2, 1) + 1))
    return Bars(tuple(edges.tolist()), tuple(heights.tolist()), len(values) - len(finite))


def spread(values: Sequence[float]) -> tuple[float, float, float] | None:
    """The median, with a tenth of the values below the second and a tenth above the third.

    >>> spread([float(i) for i in range(11)])
    (5.0, 1.0, 9.0)
    """
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return None
    middle, low, high = np.quantile(finite, [0.5, 0.1, 0.9])
    return float(middle), float(low), float(high)


def ends(rows: Sequence[Row], quantity: Quantity, count: int = EXAMPLES) -> tuple[list[int], list[int]]:
    """Positions of the rows where a quantity is smallest (smallest first) and largest (largest first); none in both.

    >>> rows = [{"gini": 0.3}, {"gini": None}, {"gini": 0.1}, {"gini": 0.9}]
    >>> ends(rows, QUANTITIES[1], 1)
    ([2], [3])
    """
    known = [(value, place) for place, row in enumerate(rows) if (value := quantity.of(row)) is not None]
    order = [place for _, place in sorted(known)]
    each = min(count, len(order) // 2)
    return order[:each], order[len(order) - each :][::-1]


def judged_by(rows: Sequence[Row]) -> Quantity:
    """What best and worst are judged by: completeness, or concentration where a method promises no sum.

    >>> judged_by([{"gini": 0.5, "residual": None}]).key
    'gini'
    """
    return QUANTITIES[0] if QUANTITIES[0].values(rows) else QUANTITIES[1]


def classes(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """A summary of each explained class, the most frequent first.

    >>> row = {"target": 1, "label": "cat", "predicted": 2, "gini": 0.5, "score": 3.0}
    >>> classes([row])[0]["agreed"]
    0.0
    """
    groups: dict[int, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["target"], []).append(row)
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    return [_class(number, group) for number, group in ordered]


def _class(number: int, group: Sequence[Row]) -> dict[str, Any]:
    medians = {quantity.key: spread(quantity.values(group)) for quantity in QUANTITIES}
    return {
        "class": group[0]["label"],
        "index": number,
        "inputs": len(group),
        "agreed": sum(row["predicted"] == number for row in group) / len(group),
        **{key: found[0] if found else None for key, found in medians.items()},
    }
