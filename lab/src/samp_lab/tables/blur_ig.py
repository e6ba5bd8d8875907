"""What Blur IG's Insertion is on the logit and on the soft-max, against SAMP++'s: where the readings disagree most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from samp_lab.sections import Block, Paragraph, State
from samp_lab.setups import Setup
from samp_lab.statistics import Difference, compare_paired
from samp_lab.store import Results
from samp_lab.tables.metric_cells import MetricCells, split_setups

ROWS = ("SAMP++", "Blur IG")
SCORES = {"text": "on the logit (text)", "authors": "on the soft-max probability (authors)"}
ENDINGS: Mapping[State, str] = {
    "holds": "SAMP++ is ahead",
    "fails": "Blur IG is ahead",
    "open": "neither is surely ahead",
}


def blur_ig_story(cells: MetricCells, results: Results, setups: Sequence[Setup]) -> list[Block]:
    """Return a paragraph on Insertion of Blur IG against SAMP++ on every data set, by reading; nothing without both.

    >>> from samp_lab.tables.table1 import TABLE1
    >>> blur_ig_story(TABLE1.cells, Results({}, {}), [])
    []
    """
    found: dict[str, list[str]] = {}
    ahead: dict[str, dict[str, list[str]]] = {}
    for setup in _full_setups(setups):
        present = cells.present(results, setup)
        if all(row in present for row in ROWS):
            difference = compare_paired(*(cells.numbers(results, row, setup, "insertion") for row in ROWS))
            found.setdefault(setup.data_title, []).append(_measured_words(cells, results, setup, difference))
            ending = ENDINGS.get(difference.state(+1), "too few images to judge")
            ahead.setdefault(setup.reading, {}).setdefault(ending, []).append(setup.data_title)
    if not found:
        return []
    measured = " ".join(f"{data}: {'; '.join(words)}." for data, words in found.items())
    return [Paragraph(f"Insertion of Blur IG against SAMP++. {measured} {' '.join(_conclusions(ahead))}")]


def _full_setups(setups: Sequence[Setup]) -> list[Setup]:
    """Return the setups that the table shows in full, of all data sets."""
    groups = {data: [one for one in setups if one.data == data] for data in (setup.data for setup in setups)}
    return [one for group in groups.values() for one in split_setups(group)[0]]


def _measured_words(cells: MetricCells, results: Results, setup: Setup, difference: Difference) -> str:
    champion, rival = (cells.mean(results, row, setup, "insertion") for row in ROWS)
    means = f"{rival:.3f} against {champion:.3f}".replace("-", "−")
    return f"{SCORES[setup.reading]} {means}, SAMP++ less Blur IG {difference}"


def _conclusions(ahead: Mapping[str, Mapping[str, Sequence[str]]]) -> Iterator[str]:
    for reading, endings in ahead.items():
        words = "; ".join(f"{ending} on {', '.join(data)}" for ending, data in endings.items())
        yield f"With gradients {SCORES[reading]}: {words}."
    if len(ahead) > 1:
        yield "The nets and inputs of the two readings differ as well, so that the soft-max need not be the only cause."
