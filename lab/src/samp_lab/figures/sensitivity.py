"""Fig. Sensitivity-N: the correlation over images of Σa and Δy against β; IC lets no step be longer than 1/β."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from samp.attribution import DIRECTIONS, Direction
from samp.methods import SAMP, SAMPPlusPlus
from samp.metrics.correlations import spearman
from samp.metrics.sensitivity_n import BETAS
from samp_lab.experiment import Sheet
from samp_lab.figures.setup_figure import BedFigure
from samp_lab.measurements.base import Cell
from samp_lab.measurements.paper_tables import Summed
from samp_lab.sections import Block, Grid, Verdict
from samp_lab.setups import Bed
from samp_lab.statistics import Estimate, Statistic, bootstrapped, correlation
from samp_lab.store import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINES: Mapping[str, SAMP] = {"SAMP + IC": SAMP(), "SAMP++": SAMPPlusPlus()}
STROKES = {"SAMP + IC": "-", "SAMP++": "--"}
BANDED = "SAMP + IC"
WORDS: Mapping[Direction, str] = {"to_baseline": "to the baseline", "to_image": "to the image"}
Series = dict[int, Estimate]
"""The correlation at each β."""
ABOUT = (
    "β = ‖x‖₁/η: no step of a walk is longer than 1/β of it. The figure is titled “for IC”, so SAMP with IC and "
    "without momentum is its line; SAMP++, which credits with the momentum gradient, is added. The correlation is "
    "Pearson's over images, of the sum of a direction's credit and f(image) − f(baseline). The paper has its values "
    "in a picture only; there the line of MNIST no longer rises at the end, and that of CIFAR-10 is flat at the "
    "start."
)


def cells_of(bed: Bed, betas: Sequence[int] = BETAS) -> list[Cell]:
    """Every line at every β.

    >>> from samp_lab.setups import bed
    >>> len(cells_of(bed("mnist"))) == len(BETAS) * len(LINES)
    True
    """
    return [_cell(bed, line, beta) for line in LINES for beta in betas]


def lines_of(results: Results, bed: Bed) -> dict[tuple[str, Direction], Series]:
    """By method and direction, the correlation at those β that were measured."""
    return {(line, d): series for line in LINES for d in DIRECTIONS if (series := _series(results, bed, line, d))}


def _draw_on(sheet: Sheet, bed: Bed, name: str) -> None:
    sheet.save(figure(lines_of(sheet.results, bed), bed.title), name)


def _tables(results: Results, bed: Bed) -> list[Block]:
    lines = lines_of(results, bed)
    betas = sorted({beta for series in lines.values() for beta in series})
    rows = tuple(
        (f"{line}, {WORDS[direction]}", *(series[beta].shown(".2f") if beta in series else "–" for beta in betas))
        for (line, direction), series in lines.items()
    )
    return [Grid(("", *(f"β = {beta}" for beta in betas)), rows, f"{bed.title}: correlation of Σa and Δy")]


def _verdicts(results: Results, bed: Bed) -> list[Verdict]:
    lines = lines_of(results, bed)
    return [
        _rise(results, bed, line, direction, series) for (line, direction), series in lines.items() if len(series) > 1
    ]


SENSITIVITY = BedFigure(
    pictures=False,
    name="sensitivity",
    title="Fig. Sensitivity-N: completeness against β",
    beds=("mnist", "cifar10"),
    caption="correlation of Σa and Δy against β",
    cells_of=cells_of,
    draw_on=_draw_on,
    verdicts_of=_verdicts,
    tables_of=_tables,
    about=ABOUT,
)


def _cell(bed: Bed, line: str, beta: int) -> Summed:
    return Summed(bed, replace(LINES[line], eta=1 / beta))


def _series(results: Results, bed: Bed, line: str, direction: Direction) -> Series:
    measured = [beta for beta in BETAS if results.has(_cell(bed, line, beta))]
    return {beta: bootstrapped(*_statistic(results, _cell(bed, line, beta), direction)) for beta in measured}


def _statistic(results: Results, cell: Summed, direction: Direction) -> tuple[Statistic, int]:
    """The correlation over images, and how many there are."""
    sums = [results.numbers(cell, f"{name} {direction}") for name in ("credit", "change")]
    return correlation(*sums), len(sums[0])


def _rise(results: Results, bed: Bed, line: str, direction: Direction, series: Series) -> Verdict:
    """From the smallest β to the largest, over the same resamples of images; and how steadily."""
    betas = list(series)
    (low, images), (high, _) = (
        _statistic(results, _cell(bed, line, beta), direction) for beta in (betas[0], betas[-1])
    )
    rise = bootstrapped(lambda weights: high(weights) - low(weights), images)
    steadily = spearman(
        torch.tensor(betas, dtype=torch.float64), torch.tensor([one.value for one in series.values()]).double()
    )
    ours = f"r(β={betas[-1]}) − r(β={betas[0]}) = {rise.shown('+.2f')}; Spearman of β and r {float(steadily):+.2f}"
    claim = f"correlation rises with β: {line}, {WORDS[direction]}"
    return Verdict(claim, "rises", ours.replace("-", "−"), rise.state(1), bed.title)


# ---- the figure ----


def figure(lines: Mapping[tuple[str, Direction], Series], title: str) -> Figure:
    """Correlation against β on a logarithmic scale: a colour for each direction, a stroke for each method.

    >>> import pytest
    >>> _ = pytest.importorskip("matplotlib")
    >>> series = {1: Estimate(0.5, 0.4, 0.6), 10: Estimate(0.9, 0.8, 1.0)}
    >>> len(figure({("SAMP++", "to_image"): series}, "MNIST").axes[0].lines)
    1
    """
    from samp.plots.page import EDGE, Panel, page

    caption = (
        "Pearson's correlation over images of Σa and f(image) − f(baseline). The bands are 95 % bootstrap intervals "
        f"over images, of {BANDED} alone."
    )
    panel = Panel(0.5, 0.4, 4.3, 2.4, lambda axes: _draw(axes, lines))
    return page([panel], [caption], title, below=0.36, right=EDGE)


def _draw(axes: Axes, lines: Mapping[tuple[str, Direction], Series]) -> None:
    from samp.plots.page import rgb, rule
    from samp.plots.sheet import CURVES

    for (line, direction), series in lines.items():
        colour, label = rgb(CURVES[direction][0]), f"{line}, {WORDS[direction]}"
        values = [one.value for one in series.values()]
        axes.plot(list(series), values, STROKES[line], color=colour, label=label, marker="o", markersize=3)
        if line == BANDED:  # four bands over each other could not be told apart
            low, high = ([getattr(one, end) for one in series.values()] for end in ("low", "high"))
            axes.fill_between(list(series), low, high, color=colour, alpha=0.08, linewidth=0)
    rule(axes, "β", "correlation")
    axes.set_xscale("log")
    marked = sorted({beta for series in lines.values() for beta in series})
    axes.set_xticks(marked, [str(beta) for beta in marked])
    axes.minorticks_off()
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2, ncols=2, handlelength=1.8)
