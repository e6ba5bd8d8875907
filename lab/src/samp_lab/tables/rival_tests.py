"""The claim that a method is better than all others by Deletion and Insertion: every test of it, and one verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from samp_lab.effects import ARROWS, BETTER, Column
from samp_lab.report.format import p_value
from samp_lab.sections import Grid, State, Verdict
from samp_lab.setups import Setup
from samp_lab.statistics import Difference, compare_paired, correct_family, state_of_all, too_few_images
from samp_lab.store import Results
from samp_lab.tables.agreement import COLUMNS
from samp_lab.tables.metric_cells import MetricCells

PART = "outperforms-all"
RivalTest = tuple[str, str, Column]
"""The champion, the rival, and the column that they are compared in."""
RivalTests = Mapping[RivalTest, Difference]
"""Champion − rival of each test."""


def rivals_of(cells: MetricCells, data: str, champions: Sequence[str]) -> list[str]:
    """Return the rows that the paper compares the champions with: all others that it has a value of.

    >>> from samp_lab.tables.table1 import TABLE1
    >>> len(rivals_of(TABLE1.cells, "mnist", ("SAMP", "SAMP++")))
    11
    """
    return [row for row in cells.rows if row in cells.values.get(data, {}) and row not in champions]


def compare_with_rivals(
    cells: MetricCells, results: Results, setup: Setup, champions: Sequence[str]
) -> dict[RivalTest, Difference]:
    """Return champion − rival for all that were measured, image by image, with Holm's p over all of them."""
    present = cells.present(results, setup)
    tests: list[RivalTest] = [
        (champion, rival, column)
        for champion in champions
        for rival in rivals_of(cells, setup.data, champions)
        for column in COLUMNS
        if champion in present and rival in present
    ]
    found = [
        compare_paired(*(cells.numbers(results, row, setup, column) for row in (champion, rival)))
        for champion, rival, column in tests
    ]
    return dict(zip(tests, correct_family(found), strict=True))


def rival_state(test: RivalTest, found: Difference) -> State:
    """Return the state of "the champion is better than this rival in this column"."""
    return found.state(-1 if BETTER[test[2]] == "lower" else 1)


def rival_verdicts(cells: MetricCells, setup: Setup, champions: Sequence[str], tests: RivalTests) -> list[Verdict]:
    """Return a verdict for each champion: better than all rivals by both metrics, which fails if one test does."""
    rivals = rivals_of(cells, setup.data, champions)
    verdicts = []
    for champion in champions:
        own = {test: found for test, found in tests.items() if test[0] == champion}
        if own:
            absent = [rival for rival in rivals if (champion, rival, "deletion") not in own]
            states = [rival_state(test, found) for test, found in own.items()]
            unmeasured: list[State] = ["open"] if absent else []  # what was not measured may be better still
            state = state_of_all([*states, *unmeasured])
            claim = f"{champion} better than all {len(rivals)} others by deletion and insertion"
            paper = _paper_words(cells, setup.data, champion, rivals)
            ours = _measured_words(own, absent)
            verdicts.append(Verdict(claim, paper, ours, state, setup.title, PART, setup.reading))
    return verdicts


def rival_grid(setup: Setup, tests: RivalTests) -> Grid:
    """Return every single test on a setup, a row for each rival and two columns for each champion."""
    present, rivals = (list(dict.fromkeys(test[place] for test in tests)) for place in (0, 1))
    rows = tuple(
        (rival, *(_test_words(tests[champion, rival, column]) for champion in present for column in COLUMNS))
        for rival in rivals
    )
    heads = ("", *[ARROWS[column] for column in COLUMNS] * len(present))
    groups = (("", 1), *((f"{champion} less the rival", len(COLUMNS)) for champion in present))
    return Grid(heads, rows, f"{setup.title}: every test, with Holm's p", groups)


def _test_words(found: Difference) -> str:
    return too_few_images(found) or f"{found.format('+.2f')}, {p_value(found.p)}"


def _paper_words(cells: MetricCells, data: str, champion: str, rivals: Sequence[str]) -> str:
    """Return how many of the comparisons the paper's means win."""
    won = 0
    for rival in rivals:
        for column in COLUMNS:
            own, other = (cells.paper(row, data, column) for row in (champion, rival))
            won += own is not None and other is not None and _is_better(own[0], other[0], column)
    return f"{won} of {len(rivals) * len(COLUMNS)} by printed means"


def _is_better(own: float, other: float, column: Column) -> bool:
    return own < other if BETTER[column] == "lower" else own > other


def _measured_words(tests: RivalTests, absent: Sequence[str]) -> str:
    few = next((words for found in tests.values() if (words := too_few_images(found))), "")
    if few:
        return few
    states = {test: rival_state(test, found) for test, found in tests.items()}
    parts = [f"holds: {list(states.values()).count('holds')} of {len(tests)}"]
    for state in ("fails", "open"):
        named = [
            f"{column} against {rival} ({tests[champion, rival, column]})"
            for (champion, rival, column), one in states.items()
            if one == state
        ]
        parts += [f"{state}: {', '.join(named)}"] if named else []
    parts += [f"not measured: {', '.join(absent)}"] if absent else []
    return "; ".join(parts)
