"""Pages with a panel of lines for each setup, drawn with matplotlib (extra `viz`).

Imported inside `draw` functions only, so that measuring and reporting need no matplotlib.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from samp.plots.page import EDGE, MARGIN, WIDTH, Panel, make_figure, rule_axes
from samp.plots.palette import SERIES
from samp_lab.figures.pages import SweepLine

IN_A_ROW = 2
TALL, TICKS, BELOW, ABOVE = 2.0, 0.5, 0.42, 0.3  # inches: of the axes, left of, below and above them
LEGEND = 3  # entries side by side above one panel


@dataclass(frozen=True, eq=False)
class PanelStyle:
    """Labels of the axes, ticks of a logarithmic x axis, and a line to compare with.

    >>> PanelStyle("gradients", "insertion − deletion", marked=(7, 14)).marked
    (7, 14)
    """

    x: str
    y: str
    marked: tuple[float, ...] = ()
    """Ticks of a logarithmic axis; without any the axis is linear."""
    against: tuple[tuple[float, float], tuple[float, float]] | None = None
    """The two ends of a dotted line."""


def panel_page(setups: Mapping[str, Sequence[SweepLine]], look: PanelStyle, caption: Sequence[str]) -> Figure:
    """Return a page of lines by the title of their setup, two panels in a row, with the legend above the first.

    >>> line = SweepLine("SAMP", [7.0, 14.0], [1.0, 2.0], [0.9, 1.9], [1.1, 2.1])
    >>> len(panel_page({"MNIST": [line], "CIFAR-10": [line]}, PanelStyle("gradients", "score", (7, 14)), []).axes)
    2
    """
    width = (WIDTH - 2 * MARGIN - EDGE) / IN_A_ROW - TICKS
    panels = []
    for number, (title, lines) in enumerate(setups.items()):
        row, column = divmod(number, IN_A_ROW)
        top = 2 * ABOVE + 0.1 + row * (TALL + BELOW + ABOVE)
        drawing = _Drawing(title, lines, look, legend=LEGEND * min(len(setups), IN_A_ROW) * (number == 0))
        panels.append(Panel(TICKS + column * (width + TICKS), top, width, TALL, drawing))
    return make_figure(panels, caption, below=0.36, right=EDGE)


@dataclass(frozen=True, eq=False)
class _Drawing:
    title: str
    lines: Sequence[SweepLine]
    look: PanelStyle
    legend: int
    """Entries side by side; 0 for none."""

    def __call__(self, axes: Axes) -> None:
        for number, line in enumerate(self.lines):
            colour = SERIES[number % len(SERIES)]
            axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.1, linewidth=0)
            axes.plot(line.x, line.mean, "o-", color=colour, markersize=3, label=line.label)
        if self.look.against:
            axes.plot(*zip(*self.look.against, strict=True), ":", color="black", linewidth=1.0)
        rule_axes(axes, self.look.x, self.look.y)
        axes.set_title(self.title, size="medium", loc="left", pad=4)
        if self.look.marked:
            axes.set_xscale("log")
            axes.set_xticks(self.look.marked, [f"{place:g}" for place in self.look.marked])
            axes.minorticks_off()
        if self.legend:
            axes.legend(
                loc="lower left", bbox_to_anchor=(0, 1.13), borderaxespad=0, ncols=self.legend, handlelength=1.8
            )
