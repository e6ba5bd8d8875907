"""A chapter of the report: the section of one experiment, with our remarks on it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from samp_lab.registry import EXPERIMENTS
from samp_lab.report.remarks import Remark
from samp_lab.sections import Section, State

Part = Literal["tables", "figures", "own"]
"""Where a chapter stands: with the paper's tables, with its figures and theory, or with our own method."""


@dataclass(frozen=True)
class Chapter:
    """The section of one experiment, with our remarks on it.

    >>> Chapter(Section("Fig. λ", "λ", ()), ()).anchor
    'fig'
    """

    section: Section
    remarks: tuple[Remark, ...]
    stale: tuple[str, ...] = ()
    """Sentences on its cells that are of older code."""

    @property
    def anchor(self) -> str:
        """The target of links to the chapter."""
        return re.sub(r"[^a-z0-9]+", "-", self.section.name.lower()).strip("-") or "section"

    @property
    def short(self) -> str:
        """The title up to its colon."""
        return self.section.title.partition(":")[0]

    @property
    def part(self) -> Part:
        """The part of the report. What goes beyond the paper but judges its claims alone stands with its figures.

        >>> sections = Section("table3", "Table 3", ()), Section("eta", "Fig. η", ()), Section("ours", "Ours", ())
        >>> [Chapter(section, ()).part for section in sections]
        ['tables', 'figures', 'own']
        """
        verdicts = self.section.verdicts
        registration = EXPERIMENTS.get(self.section.name)
        beyond = self.section.name == "panel" or (registration is not None and registration.group == "beyond")
        if beyond and (not verdicts or any(verdict.is_own for verdict in verdicts)):
            return "own"
        return "tables" if self.section.title.startswith("Table") else "figures"

    def counts(self) -> Counter[State]:
        """Return the number of comparisons in each state."""
        return Counter(verdict.state for verdict in self.section.verdicts)


def select_part(chapters: Sequence[Chapter], part: Part) -> list[Chapter]:
    """Return the chapters of one part of the report.

    >>> [one.anchor for one in select_part([Chapter(Section("table1", "Table 1", ()), ())], "tables")]
    ['table1']
    """
    return [chapter for chapter in chapters if chapter.part == part]
