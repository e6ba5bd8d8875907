"""Deletion and insertion curves of several methods on shared axes, with their areas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from torch import Tensor

from samp.plots.page import EDGE, MARGIN, QUIET, SMALL, WIDTH, Panel, page, rgb, rule
from samp.plots.reading import Array, finite, numbers

# Okabe and Ito's colours that are seen on white; further lines repeat them in other dashes.
COLOURS = ((0, 114, 178), (213, 94, 0), (0, 158, 115), (204, 121, 167), (86, 180, 233), (230, 159, 0), (30, 30, 30))
DASHES = ("-", "--", ":", "-.")
TALL, TICKS, BETWEEN = 2.4, 0.5, 0.35  # inches: of the axes, left of them, between them
LEGEND, ENTRY = 0.42, 0.155  # from the axes down to the legend, and of each of its lines
Style = tuple[tuple[float, float, float], str]  # colour and dashes
Curves = Mapping[str, Sequence[float] | Tensor | Array]


@dataclass(frozen=True, eq=False)
class Half:
    """The curves of deletion or of insertion, and how to draw them."""

    done: str  # to the pixels: deleted or inserted
    curves: Mapping[str, Array]

    def draw(self, axes: Axes, styles: Mapping[str, Style], score: str) -> None:
        for label, area in self.ranked():
            scores, (colour, dash) = self.curves[label], styles[label]
            # the number first: matplotlib hides labels that begin with _
            words = f"{area:.3f}  {label}"
            axes.plot(np.linspace(0, 1, len(scores)), scores, color=colour, linestyle=dash, label=words)
        rule(axes, f"share of pixels {self.done}", score)
        axes.set_xlim(0, 1)
        axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        legend = axes.legend(
            title="AUC, best first",
            ncols=self.columns,
            loc="upper left",
            bbox_to_anchor=(0, -LEGEND / TALL),
            borderaxespad=0,
            borderpad=0,
            labelspacing=0.35,
        )
        legend.get_title().set(size=SMALL, color=QUIET)
        legend.set_alignment("left")

    def ranked(self) -> list[tuple[str, float]]:
        """Labels with the area under their curves, the best first."""
        areas = {label: area(scores) for label, scores in self.curves.items()}
        return sorted(areas.items(), key=lambda entry: entry[1], reverse=self.done == "inserted")

    @property
    def columns(self) -> int:
        """Of the legend."""
        return 1 if len(self.curves) <= 8 else 2

    @property
    def rows(self) -> int:
        return ceil(len(self.curves) / self.columns) + 1  # its title


def metric_curves(deletion: Curves, insertion: Curves, *, score: str = "score", title: str = "") -> Figure:
    """The score as pixels are deleted or inserted in the order of each method's credit, with the areas under it.

    Both are {label: scores}, from no pixel to all of them in even parts. A label has the same colour in both, and
    either may be empty.

    >>> figure = metric_curves({"samp": [1.0, 0.0, 0.0]}, {"samp": [0.0, 1.0, 1.0]})
    >>> [axes.get_legend().get_texts()[0].get_text() for axes in figure.axes]
    ['0.250  samp', '0.750  samp']
    """
    halves = [Half("deleted", _read(deletion, "deletion")), Half("inserted", _read(insertion, "insertion"))]
    halves = [half for half in halves if half.curves]
    if not halves:
        raise ValueError("there is no curve to draw: give {label: scores} for deletion, insertion or both.")
    styles, limits = _styles(dict.fromkeys([*deletion, *insertion])), _limits(halves)
    width = (WIDTH - 2 * MARGIN - TICKS - EDGE - (len(halves) - 1) * BETWEEN) / len(halves)

    def panel(place: int, half: Half) -> Panel:
        def draw(axes: Axes) -> None:
            half.draw(axes, styles, "" if place else score)
            axes.set_ylim(limits)
            axes.tick_params(labelleft=not place)

        return Panel(TICKS + place * (width + BETWEEN), 0.05, width, TALL, draw)

    below = LEGEND + 0.05 + ENTRY * max(half.rows for half in halves)
    return page([panel(i, half) for i, half in enumerate(halves)], [_words(halves)], title, below=below, right=EDGE)


def area(scores: Array) -> float:
    """The area under scores in even parts of [0, 1], by the trapezoid rule; a single score is its own.

    >>> area(np.array([0.0, 1.0, 1.0]))
    0.75
    """
    return float((scores[1:] + scores[:-1]).mean() / 2) if len(scores) > 1 else float(scores[0])


def _words(halves: Sequence[Half]) -> str:
    better = {"deleted": "low is good under deletion", "inserted": "high is good under insertion"}
    said = ", ".join(better[half.done] for half in halves)
    return f"AUC: area under the curve over the share of pixels, by the trapezoid rule; {said}."


def _read(curves: Curves, what: str) -> dict[str, Array]:
    read = {}
    for label, scores in curves.items():
        line = finite(numbers(scores), f"the {what} curve of {label!r}")
        if line.ndim != 1 or not line.size:
            raise ValueError(
                f"the {what} curve of {label!r} has shape {line.shape}: give one score per part, k of them."
            )
        read[str(label)] = line
    return read


def _styles(labels: Iterable[str]) -> dict[str, Style]:
    return {
        label: (rgb(COLOURS[i % len(COLOURS)]), DASHES[i // len(COLOURS) % len(DASHES)])
        for i, label in enumerate(labels)
    }


def _limits(halves: Sequence[Half]) -> tuple[float, float]:
    """The same for both, with some air."""
    scores = np.concatenate([line for half in halves for line in half.curves.values()])
    low, high = float(scores.min()), float(scores.max())
    air = 0.04 * (high - low) or 0.5
    return low - air, high + air
