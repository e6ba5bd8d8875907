"""Tables that both formats of the report show."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from samp_lab.report.chapter import Chapter
from samp_lab.report.texts import SIGNS, STATES
from samp_lab.sections import Grid, Picture, State, Verdict

BEST = re.compile(r"^\*\*(?P<best>[^*\s](?:[^*]*[^*\s])?)\*\*(?P<rest>.*)$", re.DOTALL)
NUMBER = re.compile(r"^(\*\*)?(× )?[+−-]?[\d.]")
NONE = ("", "–")


def best_and_rest(cell: str) -> tuple[str, str]:
    """Return the part of a cell that is marked as best, and the rest.

    >>> best_and_rest("**0.1** ± 0.2"), best_and_rest("0.1")
    (('0.1', ' ± 0.2'), ('', '0.1'))
    """
    found = BEST.match(cell)
    return (found["best"], found["rest"]) if found else ("", cell)


def numeric_columns(grid: Grid) -> list[bool]:
    """Return which columns hold numbers; the first holds names.

    >>> numeric_columns(Grid(("", "a", "b"), (("1", "0.5", "c"), ("2", "–", "1"))))
    [False, True, False]
    """
    columns = [[row[place] for row in grid.rows] for place in range(len(grid.heads))]
    return [place > 0 and _are_numbers(column) for place, column in enumerate(columns)]


def _are_numbers(column: Sequence[str]) -> bool:
    known = [cell for cell in column if cell not in NONE]
    return bool(known) and all(NUMBER.match(cell) for cell in known)


def state_words(state: State) -> str:
    """Return a state as a sign and a word.

    >>> state_words("holds")
    '✓ holds'
    """
    return f"{SIGNS[state]} {STATES[state]}"


def tally_sentence(counts: Counter[State], whose: str) -> str:
    """Return a sentence on how many comparisons hold.

    >>> tally_sentence(Counter(holds=3, open=1), "of the paper")
    'Of 4 comparisons of the paper that were tested here, 3 hold, 1 is open and 0 fail.'
    """
    holds, unsure, fails = counts["holds"], counts["open"], counts["fails"]
    tested, missing = holds + unsure + fails, counts["missing"]
    if not tested + missing:
        return f"No comparison {whose} was tested here yet."
    sentence = f"Of {_count_text(tested, 'comparison')} {whose} that {_were(tested)} tested here, "
    sentence += f"{_verb(holds, 'hold')}, {unsure} {'is' if unsure == 1 else 'are'} open and {_verb(fails, 'fail')}."
    return sentence + (f" {missing} more {_were(missing)} not measured, or on too few images." if missing else "")


def tally_table(chapters: Sequence[Chapter]) -> Grid:
    """Return a table with the number of comparisons of each chapter in each state.

    >>> tally_table([]).heads
    ('section', 'comparisons', '✗ fails', '? open', '✓ holds')
    """
    missing = any(chapter.counts()["missing"] for chapter in chapters)
    states = [state for state in SIGNS if state != "missing" or missing]
    rows = []
    for chapter in chapters:
        counts = chapter.counts()
        rows.append((chapter.section.title, f"{counts.total()}", *(f"{counts[state]}" for state in states)))
    return Grid(("section", "comparisons", *map(state_words, states)), tuple(rows), "Comparisons by section")


def summary_table(claims: Sequence[tuple[Chapter, Verdict]], title: str) -> Grid:
    """Return a table of comparisons of several chapters, each row with its chapter first.

    >>> summary_table([], "What fails").heads
    ('section', 'comparison', "the paper's", 'ours')
    """
    own = claim_table([verdict for _, verdict in claims])
    rows = tuple((chapter.short, *row) for (chapter, _), row in zip(claims, own.rows, strict=True))
    return Grid(("section", *own.heads), rows, title)


def claim_table(verdicts: Sequence[Verdict], title: str = "", *, states: bool = False) -> Grid:
    """Return a table with a row for each comparison; setups have a column if any comparison has one, and readings one
    if they are not all of the paper's text.

    >>> claim_table([Verdict("a beats b", "+1", "+2", "holds")], states=True).rows
    (('a beats b', '✓ holds', '+1', '+2'),)
    """
    setups = any(row.setup for row in verdicts)
    readings = any(row.reading != "text" for row in verdicts)
    where = (*(["test bed"] if setups else []), *(["reading"] if readings else []))
    heads = ("comparison", *(["verdict"] if states else []), *where, "the paper's", "ours")
    rows = tuple(
        (
            row.claim,
            *([state_words(row.state)] if states else []),
            *([row.setup] if setups else []),
            *([row.reading] if readings else []),
            row.paper,
            row.ours,
        )
        for row in verdicts
    )
    return Grid(heads, rows, title)


def picture_path(picture: Picture, figures: Path) -> Path | None:
    """Return the file of a picture; None if it is not in the figures folder itself.

    >>> picture_path(Picture("../elsewhere.png", ""), Path("figures"))
    """
    path = figures / picture.file
    return path if path.parent == figures and path.is_file() else None


def _count_text(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _verb(count: int, verb: str) -> str:
    return f"{count} {verb}s" if count == 1 else f"{count} {verb}"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"
