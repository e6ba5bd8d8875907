"""What fails and what stays open, grouped by the claims of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from samp_lab.paper_claims import CLAIMS
from samp_lab.report.chapter import Chapter
from samp_lab.report.contents import Report
from samp_lab.sections import State, Verdict

OTHERS = "Other comparisons that the paper draws"
OWN = "Of our own method"


@dataclass(frozen=True)
class ClaimGroup:
    """Comparisons of one claim that are in the same state, each with its chapter."""

    title: str
    comparisons: tuple[tuple[Chapter, Verdict], ...]

    @property
    def verdicts(self) -> list[Verdict]:
        return [verdict for _, verdict in self.comparisons]

    @property
    def anchors(self) -> list[str]:
        return [chapter.anchor for chapter, _ in self.comparisons]


def group_by_claim(report: Report, state: State) -> list[ClaimGroup]:
    """Return the paper's comparisons in this state by claim, in its order; those of the paper's nets come first.

    >>> group_by_claim(Report(), "fails")
    []
    """
    found = [pair for pair in report.comparisons(own=False) if pair[1].state == state]
    titles = {key: f"{claim.words} ({claim.where})" for key, claim in CLAIMS.items()} | {"": OTHERS}
    groups = {key: [pair for pair in found if pair[1].part == key] for key in titles}
    return [ClaimGroup(titles[key], _main_first(pairs)) for key, pairs in groups.items() if pairs]


def own_group(report: Report, state: State) -> list[ClaimGroup]:
    """Return our own comparisons in this state: one group, or none.

    >>> own_group(Report(), "open")
    []
    """
    found = tuple(pair for pair in report.comparisons(own=True) if pair[1].state == state)
    return [ClaimGroup(OWN, found)] if found else []


def _main_first(pairs: Sequence[tuple[Chapter, Verdict]]) -> tuple[tuple[Chapter, Verdict], ...]:
    return tuple(sorted(pairs, key=lambda pair: not pair[1].main))
