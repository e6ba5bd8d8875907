"""Tables of the page: names to the left, numbers to the right, intervals in a line of their own below the number."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape

from samp_lab.report.shared_tables import NUMBER, best_and_rest, numeric_columns, state_words
from samp_lab.report.texts import PLURALS, SIGNS, STATES
from samp_lab.sections import Grid, State, Verdict

Special = Callable[[int, int, str], str | None]
"""Row, column and text of a cell to its HTML, or None where the cell is like all others."""
SHORT_HEAD, SHORT_LINK = 12, 20  # letters that need not be broken
NO_BREAK = "\N{NO-BREAK SPACE}"
ARROW = re.compile(r" (?=[↓↑])")
NUMBER_PARTS = re.compile(r"^(?P<number>.*?)(?P<sd> ± [^\[]*?)?(?P<sure> \[.*)?$", re.DOTALL)


def table(grid: Grid, special: Special = lambda row, column, text: None) -> str:
    """A table in a box that it scrolls in where it is wider than the page.

    >>> '<th scope="row">IG</th><td class="n"><strong>1</strong>' in table(Grid(("", "a"), (("IG", "**1**"),)))
    True
    """
    right = numeric_columns(grid)
    starts = _starts(grid)
    body = "".join(_row(number, row, right, starts, special) for number, row in enumerate(grid.rows))
    title = grid.title or "Table"
    return (
        f'<div class="card scroll" role="region" aria-label="{escape(title)}" tabindex="0"><table>'
        f'<caption class="unseen">{escape(title)}</caption>'
        f"<thead>{_groups(grid, starts)}{_heads(grid, right, starts)}</thead><tbody>{body}</tbody></table></div>"
    )


def _starts(grid: Grid) -> set[int]:
    """The columns that a group begins with."""
    found, place = set(), 0
    for _, columns in grid.groups:
        found.add(place)
        place += columns
    return found - {0}


def _groups(grid: Grid, starts: set[int]) -> str:
    cells, place = [], 0
    for name, columns in grid.groups:
        edge = ' class="edge"' if place in starts else ""
        span = f' colspan="{columns}"'
        cells.append(
            f'<th scope="colgroup"{span}{edge}>{escape(_keep_on_one_line(name))}</th>'
            if name
            else f"<td{span}{edge}></td>"
        )
        place += columns
    return f'<tr class="groups">{"".join(cells)}</tr>' if cells else ""


def _heads(grid: Grid, right: Sequence[bool], starts: set[int]) -> str:
    cells = []
    for place, head in enumerate(grid.heads):
        look = _cell_classes(place, right, starts)
        cells.append(f'<th scope="col"{look}>{escape(_keep_on_one_line(head))}</th>' if head else f"<td{look}></td>")
    return f"<tr>{''.join(cells)}</tr>"


def _row(number: int, row: Sequence[str], right: Sequence[bool], starts: set[int], special: Special) -> str:
    cells = []
    for place, text in enumerate(row):
        inner = special(number, place, text) or _cell(text)
        look = _cell_classes(place, right, starts)
        cells.append(f'<th scope="row"{look}>{inner}</th>' if place == 0 else f"<td{look}>{inner}</td>")
    return f"<tr>{''.join(cells)}</tr>"


def _cell_classes(place: int, right: Sequence[bool], starts: set[int]) -> str:
    classes = " ".join(["n"] * right[place] + ["edge"] * (place in starts))
    return f' class="{classes}"' if classes else ""


def _cell(text: str) -> str:
    """The number, its deviation and, below it, how sure it is."""
    best, rest = best_and_rest(text)
    shown = f'<strong>{escape(best)}</strong><span class="unseen"> best</span>' if best else ""
    parts = NUMBER_PARTS.match(rest) if NUMBER.match(text) else None
    if parts is None:
        return shown + escape(ARROW.sub(NO_BREAK, rest))
    shown += escape(parts["number"])
    shown += f'<span class="{"sd" if parts["sure"] else "sure"}">{escape(parts["sd"])}</span>' if parts["sd"] else ""
    return shown + (f'<span class="sure">{escape(parts["sure"])}</span>' if parts["sure"] else "")


def _keep_on_one_line(text: str, short: int = SHORT_HEAD) -> str:
    """A short text, or an arrow and its word, on one line."""
    return ARROW.sub(NO_BREAK, text.replace(" ", NO_BREAK) if len(text) <= short else text)


# ---- cells unlike the others


def link_to_chapters(anchors: Iterable[str]) -> Special:
    """The first cell of each row leads to a chapter.

    >>> link_to_chapters(["table1"])(0, 0, "here")
    '<a href="#table1">here</a>'
    """
    known = list(anchors)
    return lambda row, column, text: (
        f'<a href="#{known[row]}">{escape(_keep_on_one_line(text, SHORT_LINK))}</a>' if column == 0 else None
    )


def badge_states(states: Iterable[State]) -> Special:
    """A cell that names the row's state shows it as a badge.

    >>> badge_states(["open"])(0, 3, "? open")
    '<span class="state open">? open</span>'
    """
    known = list(states)
    return lambda row, column, text: (
        state_badge(known[row], text) if column and text == state_words(known[row]) else None
    )


def state_badge(state: State, text: str, *, spoken: bool = True) -> str:
    """A state in its colour; a bare number gets the sign before it and the word for those who only hear the page.

    >>> state_badge("fails", "✗ fails")
    '<span class="state fails">✗ fails</span>'
    """
    if not text.isdigit():
        return f'<span class="state {state}"{"" if spoken else " aria-hidden=true"}>{escape(text)}</span>'
    sign = f'<span aria-hidden="true">{SIGNS[state]}</span>'
    return f'<span class="state {state}">{sign} {text}<span class="unseen"> {STATES[state]}, </span></span>'


# ---- how many claims are in which state


def labelled_bar(counts: Counter[State]) -> str:
    """The bar of all claims, with a number for each state below it; nothing where there is no claim.

    >>> labelled_bar(Counter())
    ''
    """
    if not counts:
        return ""
    items = (
        f'<li><b>{counts[state]}</b> <span class="state {state}">{SIGNS[state]} {PLURALS[state]}</span></li>'
        for state in ("holds", "open", "fails", "missing")
        if counts[state] or state != "missing"
    )
    return f'{_bar(counts)}<ul class="legend">{"".join(items)}</ul>'


def bar(verdicts: Sequence[Verdict]) -> str:
    """The bar of some claims.

    >>> '<rect class="holds" x="0" width="1" height="1"/>' in bar([Verdict("a", "b", "c", "holds")])
    True
    """
    return _bar(Counter(verdict.state for verdict in verdicts))


def _bar(counts: Counter[State]) -> str:
    total = max(counts.total(), 1)
    pieces = "".join(_pieces(counts))
    return f'<svg class="bar" viewBox="0 0 {total} 1" preserveAspectRatio="none" aria-hidden="true">{pieces}</svg>'


def _pieces(counts: Counter[State]) -> Iterator[str]:
    place = 0
    for state in ("holds", "open", "fails", "missing"):
        if counts[state]:
            yield f'<rect class="{state}" x="{place}" width="{counts[state]}" height="1"/>'
        place += counts[state]
