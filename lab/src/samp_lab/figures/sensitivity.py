"""Fig. Sensitivity-N: correlation and ratio of Σa and Δy against β; IC lets no step be longer than 1/β."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from samp.attribution import DIRECTIONS, Direction
from samp.methods import SAMP, SAMPPlusPlus
from samp.metrics.correlations import spearman
from samp.metrics.sensitivity_n import BETAS
from samp_lab.claims_on_setups import SetupClaim
from samp_lab.experiment import FigureContext
from samp_lab.figures.credit_ratio import completeness_verdict, credit_ratio, texts_of
from samp_lab.figures.setup_figure import SetupFigure
from samp_lab.measurements.base import Measurement
from samp_lab.measurements.paper_tables import CreditSums
from samp_lab.readings import method_as_read
from samp_lab.sections import Block, Grid, Verdict
from samp_lab.setups import Setup
from samp_lab.statistics import Estimate, Statistic, bootstrap_estimate, correlation
from samp_lab.store import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINES: Mapping[str, SAMP] = {"SAMP + IC": SAMP(), "SAMP++": SAMPPlusPlus()}
STROKES = {"SAMP + IC": "-", "SAMP++": "--"}
BANDED = "SAMP + IC"
TALL = 2.2  # inches, of each of two panels
WORDS: Mapping[Direction, str] = {"to_baseline": "to the baseline", "to_image": "to the image"}
Series = dict[int, Estimate]
"""The correlation, or the ratio, at each β."""
Lines = dict[tuple[str, Direction], Series]
"""By method and direction."""
ABOUT = (
    "β = ‖x‖₁/η: no step of a walk is longer than 1/β of it. The figure is titled “for IC”, so SAMP with IC and "
    "without momentum is its line; SAMP++, which credits with the momentum gradient, is added. The correlation is "
    "Pearson's over images, of the sum of a direction's credit and f(image) − f(baseline). The paper has its values "
    "in a picture only; there the line of MNIST no longer rises at the end, and that of CIFAR-10 is flat at the "
    "start. A credit that is twenty times too large on every image correlates perfectly and is not complete: the ratio "
    "of the two sums says whether it is, as the median over images with its interval."
)


def measurements_of(setup: Setup, betas: Sequence[int] = BETAS) -> list[Measurement]:
    """Return a measurement for every line at every β.

    >>> from samp_lab.setups import parse_setup
    >>> len(measurements_of(parse_setup("mnist"))) == len(BETAS) * len(LINES)
    True
    """
    return [_measurement(setup, line, beta) for line in LINES for beta in betas]


def lines_of(results: Results, setup: Setup) -> Lines:
    """Return, by method and direction, the correlation at every β that was measured."""
    return {(line, d): series for line in LINES for d in DIRECTIONS if (series := _series(results, setup, line, d))}


def ratios_against_beta(results: Results, setup: Setup) -> Lines:
    """Return, by method and direction, the median of Σa/Δy at every β that was measured."""
    return {
        (line, d): {beta: credit_ratio(results, _measurement(setup, line, beta), d) for beta in betas}
        for line in LINES
        for d in DIRECTIONS
        if (betas := _known_betas(results, setup, line))
    }


def _draw_on(context: FigureContext, setup: Setup, name: str) -> None:
    lines, ratios = lines_of(context.results, setup), ratios_against_beta(context.results, setup)
    context.save(figure(lines, ratios, setup.title), name)


def _tables(results: Results, setup: Setup) -> list[Block]:
    lines, ratios = lines_of(results, setup), ratios_against_beta(results, setup)
    betas = sorted({beta for series in lines.values() for beta in series})
    heads = ("", *(f"β = {beta}" for beta in betas))
    rows = tuple(
        (f"{line}, {WORDS[direction]}", *(series[beta].format(".2f") if beta in series else "–" for beta in betas))
        for (line, direction), series in lines.items()
    )
    sums = tuple((f"{line}, {WORDS[d]}", *texts_of(series, betas)) for (line, d), series in ratios.items())
    return [
        Grid(heads, rows, f"{setup.title}: correlation of Σa and Δy"),
        Grid(heads, sums, f"{setup.title}: median of Σa/Δy, which is 1 for a complete credit"),
    ]


def _verdicts(results: Results, setup: Setup) -> list[Verdict]:
    found: list[Verdict] = []
    for (line, direction), series in lines_of(results, setup).items():
        if len(series) > 1:
            found.append(_rise(results, setup, line, direction, series))
        largest = max(series)
        words = f"{line}, {WORDS[direction]}, β = {largest}"
        found.append(
            completeness_verdict(results, _measurement(setup, line, largest), direction, setup, words),
        )
    return found


SENSITIVITY = SetupFigure(
    pictures=False,
    name="sensitivity",
    title="Fig. Sensitivity-N: completeness against β",
    setups=("mnist", "mnist@authors", "cifar10", "cifar10@authors"),
    caption="correlation and ratio of Σa and Δy against β",
    measurements_of=measurements_of,
    draw_on=_draw_on,
    verdicts_of=_verdicts,
    tables_of=_tables,
    about=ABOUT,
)


def _measurement(setup: Setup, line: str, beta: int) -> CreditSums:
    return CreditSums(setup, method_as_read(replace(LINES[line], eta=1 / beta), setup))


def _known_betas(results: Results, setup: Setup, line: str) -> list[int]:
    return [beta for beta in BETAS if results.has(_measurement(setup, line, beta))]


def _series(results: Results, setup: Setup, line: str, direction: Direction) -> Series:
    return {
        beta: bootstrap_estimate(*_statistic(results, _measurement(setup, line, beta), direction))
        for beta in _known_betas(results, setup, line)
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
    claim = f"correlation rises with β: {line}, {WORDS[direction]}"
    return SetupClaim(setup, "completeness", images).verdict(claim, "rises", ours.replace("-", "−"), rise.state(1))


# ---- the figure ----


def figure(lines: Lines, ratios: Lines, title: str) -> Figure:
    """Return a figure of correlation and ratio against log β: a colour for each direction, a stroke for each method.

    >>> import pytest
    >>> _ = pytest.importorskip("matplotlib")
    >>> series = {1: Estimate(0.5, 0.4, 0.6), 10: Estimate(0.9, 0.8, 1.0)}
    >>> one = {("SAMP++", "to_image"): series}
    >>> [len(axes.lines) for axes in figure(one, one, "MNIST").axes]  # the second with a line at 1
    [1, 2]
    """
    from samp.plots.page import EDGE, Panel, make_figure

    caption = (
        "Above, Pearson's correlation over images of Σa and f(image) − f(baseline); below, the median over images of "
        f"their ratio. The bands are 95 % bootstrap intervals over images, of {BANDED} alone."
    )
    panels = [
        Panel(0.5, 0.4, 4.3, TALL, lambda axes: _draw_correlations(axes, lines)),
        Panel(0.5, 0.4 + TALL + 0.6, 4.3, TALL, lambda axes: _draw_ratios(axes, ratios)),
    ]
    return make_figure(panels, [caption], title, below=0.36, right=EDGE)


def _draw_correlations(axes: Axes, lines: Lines) -> None:
    _draw_lines(axes, lines, "correlation")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2, ncols=2, handlelength=1.8)


def _draw_ratios(axes: Axes, ratios: Lines) -> None:
    _draw_lines(axes, ratios, "Σa / Δy")
    axes.axhline(1.0, color="black", linewidth=1.0, linestyle=":")
    axes.set_yscale("symlog", linthresh=1.0)  # ratios range over decades, and may be negative
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")  # matplotlib's own is in TeX


def _draw_lines(axes: Axes, lines: Lines, label: str) -> None:
    from samp.plots.page import rule_axes
    from samp.plots.palette import WALKS

    for (line, direction), series in lines.items():
        colour, name = WALKS[direction], f"{line}, {WORDS[direction]}"
        values = [one.value for one in series.values()]
        axes.plot(list(series), values, STROKES[line], color=colour, label=name, marker="o", markersize=3)
        if line == BANDED:  # four overlapping bands could not be distinguished
            low, high = ([getattr(one, end) for one in series.values()] for end in ("low", "high"))
            axes.fill_between(list(series), low, high, color=colour, alpha=0.08, linewidth=0)
    rule_axes(axes, "β", label)
    axes.set_xscale("log")
    marked = sorted({beta for series in lines.values() for beta in series})
    axes.set_xticks(marked, [str(beta) for beta in marked])
    axes.minorticks_off()
