"""Tables of the page: names to the left, numbers to the right, intervals on a line of their own below the number."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from samp_lab.report.page_one import HEADS, ClaimLine
from samp_lab.report.shared_tables import NUMBER, best_and_rest, numeric_columns, state_words
from samp_lab.report.texts import SIGNS, STATES
from samp_lab.sections import Grid, State

SHORT_HEAD, SHORT_LINK = 12, 20  # letters: texts up to this long are kept on one line
NO_BREAK = "\N{NO-BREAK SPACE}"
UNLIKE_COLOUR: State = "open"  # of a claim on which the readings disagree
ARROW = re.compile(r" (?=[↓↑])")
NUMBER_PARTS = re.compile(r"^(?P<number>.*?)(?P<sd> ± [^\[]*?)?(?P<sure> \[.*)?$", re.DOTALL)


@dataclass(frozen=True)
class Badge:
    """A state in its colour."""

    state: State
    text: str
    sign: str = ""
    spoken: str = ""
    """What a screen reader says for the sign."""
    hidden: bool = False
    """Whether a screen reader leaves it out."""


@dataclass(frozen=True)
class Cell:
    """A cell of a table: the text after the best value, or a link to a section, or a badge."""

    text: str
    best: str = ""
    deviation: str = ""
    interval: str = ""
    link: str = ""
    badge: Badge | None = None
    classes: str = ""
    span: int = 1


@dataclass(frozen=True)
class Table:
    """A table as the template writes it."""

    title: str
    groups: tuple[Cell, ...]
    heads: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]


Special = Callable[[int, int, str], Cell | None]
"""Row, column and text of a cell to the cell, or None where it is like all others."""


def make_table(grid: Grid, special: Special = lambda row, column, text: None) -> Table:
    """Return the table of a grid; `special` makes the cells unlike the others.

    >>> make_table(Grid(("", "a"), (("IG", "**1**"),))).rows[0][1]
    Cell(text='', best='1', deviation='', interval='', link='', badge=None, classes='n', span=1)
    """
    right, starts = numeric_columns(grid), _group_starts(grid)
    rows = (
        tuple(
            replace(special(number, place, text) or _parse_cell(text), classes=_cell_classes(place, right, starts))
            for place, text in enumerate(row)
        )
        for number, row in enumerate(grid.rows)
    )
    heads = (
        Cell(_keep_on_one_line(head), classes=_cell_classes(place, right, starts))
        for place, head in enumerate(grid.heads)
    )
    return Table(grid.title or "Table", _group_heads(grid, starts), tuple(heads), tuple(rows))


def _group_starts(grid: Grid) -> set[int]:
    """Return the columns with which a group begins, except the first."""
    starts, place = set(), 0
    for _, columns in grid.groups:
        starts.add(place)
        place += columns
    return starts - {0}


def _group_heads(grid: Grid, starts: set[int]) -> tuple[Cell, ...]:
    cells, place = [], 0
    for name, columns in grid.groups:
        cells.append(Cell(_keep_on_one_line(name), classes="edge" if place in starts else "", span=columns))
        place += columns
    return tuple(cells)


def _cell_classes(place: int, right: Sequence[bool], starts: set[int]) -> str:
    return " ".join(["n"] * right[place] + ["edge"] * (place in starts))


def _parse_cell(text: str) -> Cell:
    """Return the number, its deviation and its interval; a text that is no number stays whole."""
    best, rest = best_and_rest(text)
    parts = NUMBER_PARTS.match(rest) if NUMBER.match(text) else None
    if parts is None:
        return Cell(ARROW.sub(NO_BREAK, rest), best)
    return Cell(parts["number"], best, parts["sd"] or "", parts["sure"] or "")


def _keep_on_one_line(text: str, short: int = SHORT_HEAD) -> str:
    """Return a text whose arrow stays with its word, and which is not broken at all if it is short."""
    return ARROW.sub(NO_BREAK, text.replace(" ", NO_BREAK) if len(text) <= short else text)


# ---- cells unlike the others


def link_to_chapters(anchors: Iterable[str]) -> Special:
    """Return what makes the first cell of each row a link to a chapter; an empty anchor leaves it as it is.

    >>> link_to_chapters(["table1"])(0, 0, "here").link
    'table1'
    """
    known = list(anchors)
    return lambda row, column, text: (
        Cell(_keep_on_one_line(text, SHORT_LINK), link=known[row]) if column == 0 and known[row] else None
    )


def badge_states(states: Iterable[State]) -> Special:
    """Return what makes a badge of a cell that names the row's state.

    >>> badge_states(["open"])(0, 3, "? open").badge
    Badge(state='open', text='? open', sign='', spoken='', hidden=False)
    """
    known = list(states)
    return lambda row, column, text: (
        Cell("", badge=Badge(known[row], text)) if column and text == state_words(known[row]) else None
    )


def badge_claims(lines: Sequence[ClaimLine]) -> Special:
    """Return what makes a badge of each verdict of page one, and links to chapters of its claims.

    >>> from samp_lab.report.page_one import gather_claims
    >>> badge_claims(gather_claims([], {}))(0, HEADS.index("verdict"), "– not measured").badge
    Badge(state='missing', text='– not measured', sign='', spoken='', hidden=False)
    """
    links = link_to_chapters(line.anchor for line in lines)

    def special(row: int, column: int, text: str) -> Cell | None:
        if HEADS[column] != "verdict":
            return links(row, column, text)
        return Cell("", badge=Badge(lines[row].overall or UNLIKE_COLOUR, text))

    return special


def count_badge(state: State, count: int) -> Badge:
    """Return a badge with a sign and a number, and the state in words for a screen reader.

    >>> count_badge("fails", 3)
    Badge(state='fails', text='3', sign='✗', spoken='fails', hidden=False)
    """
    return Badge(state, str(count), SIGNS[state], STATES[state])
