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
from samp_lab.experiment import FigureContext
from samp_lab.figures.setup_figure import SetupFigure
from samp_lab.measurements.base import Measurement
from samp_lab.measurements.paper_tables import CreditSums
from samp_lab.sections import Block, Grid, Verdict
from samp_lab.setups import Setup
from samp_lab.statistics import Estimate, Statistic, bootstrap_estimate, correlation, too_few_images
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


def measurements_of(setup: Setup, betas: Sequence[int] = BETAS) -> list[Measurement]:
    """Return a measurement for every line at every β.

    >>> from samp_lab.setups import parse_setup
    >>> len(measurements_of(parse_setup("mnist"))) == len(BETAS) * len(LINES)
    True
    """
    return [_measurement(setup, line, beta) for line in LINES for beta in betas]


def lines_of(results: Results, setup: Setup) -> dict[tuple[str, Direction], Series]:
    """Return, by method and direction, the correlation at every β that was measured."""
    return {(line, d): series for line in LINES for d in DIRECTIONS if (series := _series(results, setup, line, d))}


def _draw_on(context: FigureContext, setup: Setup, name: str) -> None:
    context.save(figure(lines_of(context.results, setup), setup.title), name)


def _tables(results: Results, setup: Setup) -> list[Block]:
    lines = lines_of(results, setup)
    betas = sorted({beta for series in lines.values() for beta in series})
    rows = tuple(
        (f"{line}, {WORDS[direction]}", *(series[beta].format(".2f") if beta in series else "–" for beta in betas))
        for (line, direction), series in lines.items()
    )
    return [Grid(("", *(f"β = {beta}" for beta in betas)), rows, f"{setup.title}: correlation of Σa and Δy")]


def _verdicts(results: Results, setup: Setup) -> list[Verdict]:
    lines = lines_of(results, setup)
    return [
        _rise(results, setup, line, direction, series) for (line, direction), series in lines.items() if len(series) > 1
    ]


SENSITIVITY = SetupFigure(
    pictures=False,
    name="sensitivity",
    title="Fig. Sensitivity-N: completeness against β",
    setups=("mnist", "cifar10"),
    caption="correlation of Σa and Δy against β",
    measurements_of=measurements_of,
    draw_on=_draw_on,
    verdicts_of=_verdicts,
    tables_of=_tables,
    about=ABOUT,
)


def _measurement(setup: Setup, line: str, beta: int) -> CreditSums:
    return CreditSums(setup, replace(LINES[line], eta=1 / beta))


def _series(results: Results, setup: Setup, line: str, direction: Direction) -> Series:
    measured = [beta for beta in BETAS if results.has(_measurement(setup, line, beta))]
    return {
        beta: bootstrap_estimate(*_statistic(results, _measurement(setup, line, beta), direction)) for beta in measured
    }


def _statistic(results: Results, measurement: CreditSums, direction: Direction) -> tuple[Statistic, int]:
    """Return the correlation over images as a statistic, and the number of images."""
    sums = [results.numbers(measurement, f"{name} {direction}") for name in ("credit", "change")]
    return correlation(*sums), len(sums[0])


def _rise(results: Results, setup: Setup, line: str, direction: Direction, series: Series) -> Verdict:
    """Return the verdict on the rise from the smallest β to the largest, over the same resamples of images."""
    betas = list(series)
    (low, images), (high, _) = (
        _statistic(results, _measurement(setup, line, beta), direction) for beta in (betas[0], betas[-1])
    )
    rise = bootstrap_estimate(lambda weights: high(weights) - low(weights), images)
    steadily = spearman(
        torch.tensor(betas, dtype=torch.float64), torch.tensor([one.value for one in series.values()]).double()
    )
    ours = f"r(β={betas[-1]}) − r(β={betas[0]}) = {rise.format('+.2f')}; Spearman of β and r {float(steadily):+.2f}"
    ours = too_few_images(rise) or ours
    claim = f"correlation rises with β: {line}, {WORDS[direction]}"
    return Verdict(claim, "rises", ours.replace("-", "−"), rise.state(1), setup.title)


# ---- the figure ----


def figure(lines: Mapping[tuple[str, Direction], Series], title: str) -> Figure:
    """Return a figure of correlation against log β: a colour for each direction, a stroke for each method.

    >>> import pytest
    >>> _ = pytest.importorskip("matplotlib")
    >>> series = {1: Estimate(0.5, 0.4, 0.6), 10: Estimate(0.9, 0.8, 1.0)}
    >>> len(figure({("SAMP++", "to_image"): series}, "MNIST").axes[0].lines)
    1
    """
    from samp.plots.page import EDGE, Panel, make_figure

    caption = (
        "Pearson's correlation over images of Σa and f(image) − f(baseline). The bands are 95 % bootstrap intervals "
        f"over images, of {BANDED} alone."
    )
    panel = Panel(0.5, 0.4, 4.3, 2.4, lambda axes: _draw(axes, lines))
    return make_figure([panel], [caption], title, below=0.36, right=EDGE)


def _draw(axes: Axes, lines: Mapping[tuple[str, Direction], Series]) -> None:
    from samp.plots.page import rule_axes
    from samp.plots.palette import WALKS

    for (line, direction), series in lines.items():
        colour, label = WALKS[direction], f"{line}, {WORDS[direction]}"
        values = [one.value for one in series.values()]
        axes.plot(list(series), values, STROKES[line], color=colour, label=label, marker="o", markersize=3)
        if line == BANDED:  # four overlapping bands could not be distinguished
            low, high = ([getattr(one, end) for one in series.values()] for end in ("low", "high"))
            axes.fill_between(list(series), low, high, color=colour, alpha=0.08, linewidth=0)
    rule_axes(axes, "β", "correlation")
    axes.set_xscale("log")
    marked = sorted({beta for series in lines.values() for beta in series})
    axes.set_xticks(marked, [str(beta) for beta in marked])
    axes.minorticks_off()
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2, ncols=2, handlelength=1.8)
