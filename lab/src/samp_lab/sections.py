"""The section of an experiment in a report: tables, verdicts, pictures and text, independent of the output format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["holds", "open", "fails", "missing"]


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of plain text."""

    text: str


@dataclass(frozen=True)
class Grid:
    """A table. A cell in ** ** is the best of its column; its interval follows in [ ].

    The first cell of a row is its name. `groups` is a line above the heads: names, which may be empty, and the number
    of columns that each spans.

    >>> rows = (("IG", "**0.1** [0.0, 0.2]", "0.2"),)
    >>> Grid(("method", "ours", "the paper's"), rows, groups=(("", 1), ("deletion ↓", 2))).full_heads
    ('method', 'deletion ↓, ours', "deletion ↓, the paper's")
    """

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    groups: tuple[tuple[str, int], ...] = ()

    @property
    def full_heads(self) -> tuple[str, ...]:
        """The heads with the names of their groups, for formats with a single line of heads."""
        above = [name for name, columns in self.groups for _ in range(columns)] or [""] * len(self.heads)
        return tuple(f"{group}, {head}" if group else head for group, head in zip(above, self.heads, strict=True))


@dataclass(frozen=True)
class Verdict:
    """A claim of the paper, or our own, beside what was measured.

    `state` is "holds", "open" or "fails" by the rule of `samp_lab.statistics.claim_state`, and "missing" for a claim
    that was not measured, or on too few images. `part` is the key of the claim of the paper (`samp_lab.paper_claims`)
    that this one belongs to, "" for none; `reading` that of its setup.

    >>> Verdict("a beats b", "+0.1", "+0.2 [0.1, 0.3]", "holds").state
    'holds'
    """

    claim: str
    paper: str
    ours: str
    state: State
    setup: str = ""
    part: str = ""
    reading: str = "text"
    main: bool = True
    """Whether it decides on its claim: the report marks the nets and training seeds that show how far it carries."""

    @property
    def is_own(self) -> bool:
        """Whether the claim is ours: the paper says nothing of it."""
        return not self.part and self.paper in ("", "–")


@dataclass(frozen=True)
class Verdicts:
    """Verdicts that belong together."""

    rows: tuple[Verdict, ...]
    title: str = "What the paper finds, and whether it holds here"


@dataclass(frozen=True)
class Picture:
    """A figure: a file in the figures folder, and its caption."""

    file: str
    caption: str


Block = Paragraph | Grid | Verdicts | Picture


@dataclass(frozen=True)
class Section:
    """The part of a report on one experiment.

    >>> section = Section("table1", "Table 1", (Verdicts((Verdict("a", "b", "c", "open"),)),))
    >>> [verdict.state for verdict in section.verdicts]
    ['open']
    """

    name: str
    title: str
    blocks: tuple[Block, ...]

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        return tuple(row for block in self.blocks if isinstance(block, Verdicts) for row in block.rows)
