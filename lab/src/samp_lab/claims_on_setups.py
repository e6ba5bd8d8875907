"""Verdicts on a claim of the paper on one setup, which few images leave undecided."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from samp_lab.sections import State, Verdict
from samp_lab.setups import Setup
from samp_lab.statistics import MIN_IMAGES


@dataclass(frozen=True)
class SetupClaim:
    """A claim of the paper (`part`, a key of `samp_lab.paper_claims.CLAIMS`) on a setup, measured on so many images.

    >>> from samp_lab.setups import parse_setup
    >>> few, enough = (SetupClaim(parse_setup("mnist"), "finer", images) for images in (19, 20))
    >>> few.verdict("a > b", "more", "+1", "holds").state, enough.verdict("a > b", "more", "+1", "holds").state
    ('missing', 'holds')
    """

    setup: Setup
    part: str
    images: int

    def verdict(self, claim: str, paper: str, ours: str, state: State) -> Verdict:
        """Return the verdict with the setup's title and reading; "missing" of fewer than MIN_IMAGES images."""
        if self.images < MIN_IMAGES:
            ours, state = f"{self.images} images, too few to judge", "missing"
        return Verdict(claim, paper, ours, state, self.setup.title, self.part, self.setup.reading)


def count_pairs(a: Sequence[float], b: Sequence[float]) -> int:
    """Return how many images have both numbers.

    >>> count_pairs([1.0, math.nan, 2.0], [1.0, 1.0, math.nan])
    1
    """
    return sum(not (math.isnan(one) or math.isnan(other)) for one, other in zip(a, b, strict=True))
