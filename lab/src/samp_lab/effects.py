"""Effects: "A does better than B", as the paper's numbers have it and as ours do, image by image."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from samp.metrics.statistics import Comparison, compare_pairs
from samp_lab.report.format import p_value
from samp_lab.sections import SIGNIFICANCE, State, Verdict

Column = Literal["deletion", "insertion", "difference"]
BETTER: Mapping[str, Literal["lower", "higher"]] = {"deletion": "lower", "insertion": "higher"}
BETTER_OF_ALL: Mapping[str, Literal["lower", "higher"]] = {**BETTER, "difference": "higher"}
ARROWS = {"deletion": "deletion ↓", "insertion": "insertion ↑", "difference": "insertion − deletion ↑"}


@dataclass(frozen=True)
class Effect:
    """The paper's comparison of row a with row b in one column.

    >>> effect = Effect("SAMP++", "IG", "deletion")
    >>> print(effect.verdict(-0.1, ([0.1, 0.2, 0.3, 0.2, 0.1, 0.4], [0.4, 0.6, 0.5, 0.9, 0.7, 0.5]), "MNIST").state)
    holds
    """

    a: str
    b: str
    column: Column

    def claim(self, ours: tuple[Sequence[float], Sequence[float]], bed: str) -> Verdict:
        """Our own claim that a is better than b, of which the paper knows nothing."""
        found = compare_pairs(*ours, BETTER_OF_ALL[self.column])
        state = _state(found, -1 if BETTER_OF_ALL[self.column] == "lower" else 1)
        return Verdict(
            f"{self.a} better than {self.b}, {ARROWS[self.column]}", "–", _format_comparison(found), state, bed
        )

    def verdict(self, paper: float, ours: tuple[Sequence[float], Sequence[float]], bed: str) -> Verdict:
        """The paper's difference a − b beside ours, image by image, with its interval and Wilcoxon's p."""
        found = compare_pairs(*ours, BETTER[self.column])
        sign = 1 if paper > 0 else -1
        better = (paper < 0) == (self.column == "deletion")
        claim = f"{self.a} {'better' if better else 'worse'} than {self.b}, {ARROWS[self.column]}"
        return Verdict(claim, f"{paper:+.3f}".replace("-", "−"), _format_comparison(found), _state(found, sign), bed)


def _format_comparison(found: Comparison) -> str:
    if math.isnan(found.low):
        return "too few images to say"
    said = f"{found.difference:+.3f} [{found.low:+.3f}, {found.high:+.3f}], {p_value(found.p)}"
    return said.replace("-", "−")


def _state(found: Comparison, sign: int) -> State:
    if math.isnan(found.low) or found.low <= 0 <= found.high or not found.p < SIGNIFICANCE:
        return "open"
    return "holds" if (found.difference > 0) == (sign > 0) else "fails"


def kendall_tau(paper: Sequence[float], ours: Sequence[float]) -> float:
    """Kendall's τ-b between two orders of the same rows: 1 the same, −1 the reverse.

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
