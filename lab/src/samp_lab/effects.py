"""Effects: "A does better than B" by Deletion or Insertion, in the paper's numbers and in ours, image by image."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from samp_lab.sections import Verdict
from samp_lab.setups import Setup
from samp_lab.statistics import Difference, neutral_state

Column = Literal["deletion", "insertion", "difference"]
BETTER: Mapping[str, Literal["lower", "higher"]] = {"deletion": "lower", "insertion": "higher"}
BETTER_OF_ALL: Mapping[str, Literal["lower", "higher"]] = {**BETTER, "difference": "higher"}
ARROWS = {"deletion": "deletion ↓", "insertion": "insertion ↑", "difference": "insertion − deletion ↑"}


@dataclass(frozen=True)
class Effect:
    """A comparison of row a with row b in one column, which the paper draws or its numbers show.

    `part` is the paper's claim that it belongs to (`samp_lab.paper_claims`): the tests of one claim on one setup are a
    family, which Holm's correction is for. `neutral` is for a claim that a and b do not differ significantly, `better`
    for one in words that a is better than b, whatever the paper's numbers are.

    >>> effect = Effect("SAMP++", "IG", "deletion")
    >>> from samp_lab.setups import parse_setup
    >>> print(effect.verdict(-0.1, Difference(-0.2, -0.3, -0.1, p=0.01), parse_setup("mnist")).state)
    holds
    """

    a: str
    b: str
    column: Column
    part: str = ""
    neutral: bool = False
    better: bool = False

    def claim(self, ours: Difference, setup: Setup) -> Verdict:
        """Return the verdict on our own claim that a is better than b, which is not in the paper."""
        state = ours.state(-1 if BETTER_OF_ALL[self.column] == "lower" else 1)
        claim = f"{self.a} better than {self.b}, {ARROWS[self.column]}"
        return Verdict(claim, "–", str(ours), state, setup.title, self.part, setup.reading)

    def verdict(self, paper: float, ours: Difference, setup: Setup) -> Verdict:
        """Return the paper's difference a − b of means beside ours, image by image, with its interval and p."""
        theirs = f"{paper:+.3f}".replace("-", "−")
        if self.neutral:
            claim = f"no significant change from {self.b} to {self.a}, {ARROWS[self.column]}"
            words = f"“no significant impact”; its numbers: {theirs}"
            return Verdict(claim, words, str(ours), neutral_state(ours), setup.title, self.part, setup.reading)
        sign = (-1 if BETTER_OF_ALL[self.column] == "lower" else 1) if self.better else (1 if paper > 0 else -1)
        better = (sign < 0) == (self.column == "deletion")
        claim = f"{self.a} {'better' if better else 'worse'} than {self.b}, {ARROWS[self.column]}"
        state = ours.state(sign)
        return Verdict(claim, theirs, str(ours), state, setup.title, self.part, setup.reading)
