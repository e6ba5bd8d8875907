"""Fig. counting: who gets credit for a count of blue pixels (docs/paper.md#counting)."""

from __future__ import annotations

from samp.methods import SAMP, Method, SAMPPlusPlus
from samp.metrics.statistics import summarise
from samp_lab.experiment import FigureContext
from samp_lab.figures.map_grid import draw_grid, format_with_deviation
from samp_lab.figures.setup_figure import SetupFigure
from samp_lab.measurements.paper_figures import CountingCredit
from samp_lab.readings import method_as_read
from samp_lab.report.format import percent
from samp_lab.sections import Block, Grid, State, Verdict
from samp_lab.setups import Setup
from samp_lab.store import Results

COLUMNS: dict[str, str | Method] = {
    "IG": "ig",
    "SAMP, B+B": SAMP(baseline="black"),
    "SAMP++, B+B": SAMPPlusPlus(eta=0.02, baseline="black"),
    "SAMP++, B+B, exact credit": SAMPPlusPlus(eta=0.02, baseline="black", credit="shared"),
    "SAMP, B+G": "samp",
    "SAMP++, B+G": SAMPPlusPlus(eta=0.02),
}
CLAIMED = ("SAMP, B+B", "SAMP++, B+B", "SAMP, B+G", "SAMP++, B+G")
CONSISTENT = 0.05  # of the mean credit, and of all credit: below this we call it equal, and none
SHOWN = 4  # images
ABOUT = (
    "The score is a soft count: each pixel adds b·(1 − r)·(1 − g). Equally blue pixels should get equal credit, others "
    "none. B+B walks from and to black alone; B+G, the paper's usual choice, starts insertion at the blurred image, "
    "where a pixel in the middle of a blue area is blue already. The mixed colours, such as white and cyan, count as "
    "nothing but have blue in them: from black, a first step towards them looks like one towards blue."
)


def measurements_by_column(setup: Setup) -> dict[str, CountingCredit]:
    """Return the measurement of each column."""
    return {column: CountingCredit(setup, method_as_read(method, setup)) for column, method in COLUMNS.items()}


def draw(context: FigureContext, setup: Setup, name: str) -> None:
    """Draw the first images by all methods."""
    there = {
        column: measurement for column, measurement in measurements_by_column(setup).items() if context.has(measurement)
    }
    maps = {column: context.arrays(measurement)["map"][:SHOWN].numpy() for column, measurement in there.items()}
    draw_grid(context, setup, name, maps, None)


def table(results: Results, setup: Setup) -> list[Block]:
    """Return a table of how unequal credit is, and how much of it lies elsewhere."""
    rows = []
    for column, measurement in measurements_by_column(setup).items():
        if results.has(measurement):
            found = (summarise(results.numbers(measurement, name)) for name in ("spread", "elsewhere"))
            rows.append((column, *(format_with_deviation(summary) for summary in found)))
    heads = ("", "(largest − smallest) / mean credit of blue pixels", "share of |credit| on other pixels")
    return [Grid(heads, tuple(rows), setup.title)]


def verdicts(results: Results, setup: Setup) -> list[Verdict]:
    """Return whether credit is consistent on every image; the mixed colours are our addition and not in the paper."""
    found = []
    for column in CLAIMED if setup.data == "counting" else ():
        if results.has(measurement := measurements_by_column(setup)[column]):
            spread, elsewhere = (max(results.numbers(measurement, name)) for name in ("spread", "elsewhere"))
            ours = f"spread up to {percent(spread, 1)}, elsewhere up to {percent(elsewhere, 1)}"
            state = consistency_state(spread, elsewhere)
            claim, paper = f"{column}: consistent credit", "“consistent attributions”"
            found.append(Verdict(claim, paper, ours, state, setup.title, "counting", setup.reading))
    return found


def consistency_state(spread: float, elsewhere: float) -> State:
    """Return the state of "equally blue pixels get equal credit and others none, on every image".

    >>> consistency_state(0.01, 0.0), consistency_state(0.3, 0.0)
    ('holds', 'fails')
    """
    return "holds" if spread <= CONSISTENT and elsewhere <= CONSISTENT else "fails"


COUNTING = SetupFigure(
    name="counting",
    title="Fig. counting: a model that counts blue pixels",
    setups=("counting", "counting-mixed"),
    caption="credit for the soft count of blue pixels.",
    measurements_of=lambda setup: list(measurements_by_column(setup).values()),
    draw_on=draw,
    verdicts_of=verdicts,
    tables_of=table,
    about=ABOUT,
)
