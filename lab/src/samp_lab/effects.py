"""Effects: "A does better than B" by Deletion or Insertion, in the paper's numbers and in ours, image by image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from samp_lab.sections import Verdict
from samp_lab.statistics import compare_paired

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

    def claim(self, ours: tuple[Sequence[float], Sequence[float]], setup: str) -> Verdict:
        """Return the verdict on our own claim that a is better than b, which is not in the paper."""
        difference = compare_paired(*ours)
        state = difference.state(-1 if BETTER_OF_ALL[self.column] == "lower" else 1)
        return Verdict(f"{self.a} better than {self.b}, {ARROWS[self.column]}", "–", str(difference), state, setup)

    def verdict(self, paper: float, ours: tuple[Sequence[float], Sequence[float]], setup: str) -> Verdict:
        """Return the paper's difference a − b beside ours, image by image, with its interval and Wilcoxon's p."""
        difference = compare_paired(*ours)
        better = (paper < 0) == (self.column == "deletion")
        claim = f"{self.a} {'better' if better else 'worse'} than {self.b}, {ARROWS[self.column]}"
        state = difference.state(1 if paper > 0 else -1)
        return Verdict(claim, f"{paper:+.3f}".replace("-", "−"), str(difference), state, setup)
