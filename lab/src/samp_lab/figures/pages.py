"""Pages of the paper's figures, drawn with matplotlib (extra `viz`): rows of tiles, and curves with bands.

Imported inside `draw` functions only, so that measuring and reporting need no matplotlib.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from samp.metrics.deletion_insertion import Curves
from samp.metrics.intervals import Bootstrap
from samp.metrics.protocols import PROTOCOLS
from samp.plots import measured_curves
from samp.plots.page import (
    EDGE,
    GAP,
    LINE,
    MARGIN,
    SIZE,
    WIDTH,
    Panel,
    fit_height,
    frame_axes,
    make_figure,
    rule_axes,
    wrap_text,
)
from samp.plots.palette import SERIES
from samp.plots.reading import Array, photo_of
from samp.plots.shades import GREY, Grey

SCALE = f"Each map has a scale of its own: {Grey().rule()}."
WIDEST = 1.2  # inches of a tile
EVEN = Bootstrap(resamples=2000)


@dataclass(frozen=True, eq=False)
class Tile:
    """A photo (h w c in bytes) or a map (h w) in grey, with text above and beside it, and an optional coloured edge."""

    pixels: Array
    above: str = ""
    beside: str = ""
    full: float | None = None
    """The credit that is white, for maps that share a scale."""
    edge: str | None = None

    def __call__(self, axes: Axes) -> None:
        if self.pixels.ndim == 3:
            axes.imshow(photo_of(self.pixels).pixels)
        else:
            axes.imshow(self.pixels, cmap=GREY, vmin=0, vmax=self.full or Grey().limits(self.pixels)[1])
        frame_axes(axes, self.above)
        axes.set_ylabel(self.beside, size=SIZE, labelpad=3)
        for spine in axes.spines.values() if self.edge else ():
            spine.set(color=self.edge, linewidth=2)


Row = Sequence[Tile | None]
"""Tiles from left to right, None for an empty place; an empty row is a gap."""


def tile_page(rows: Sequence[Row], caption: Sequence[str], title: str = "", width: float = WIDTH) -> Figure:
    """Return a page of tiles of one size, in rows.

    >>> figure = tile_page([[Tile(np.ones((4, 4)), "a map"), None], [Tile(np.ones((4, 4))), Tile(np.ones((4, 4)))]], [])
    >>> len(figure.axes)
    3
    """
    return make_figure(layout_panels(rows, width - 2 * MARGIN), caption, title)


def layout_panels(rows: Sequence[Row], room: float) -> list[Panel]:
    """Return the panels of these rows within `room` inches of width."""
    beside = [tile.beside for row in rows for tile in row if tile]
    aside = (LINE * max(_lines(text) for text in beside) + 0.06) * any(beside)
    columns = max(len(row) for row in rows)
    width = min((room - aside + GAP) / columns - GAP, WIDEST)
    panels, top = [], 0.0
    for row in rows:
        if not row:
            top += 2 * GAP
            continue
        words = max((_lines(_wrap(tile.above, width)) for tile in row if tile), default=0)
        top += words * LINE + 0.06 * bool(words)
        height = max(fit_height(width, tile.pixels.shape) for tile in row if tile)
        for column, tile in enumerate(row):
            if tile:
                left = aside + column * (width + GAP)
                panels.append(Panel(left, top, width, height, replace(tile, above=_wrap(tile.above, width))))
        top += height + GAP
    return panels


def curve_page(curves: Mapping[str, Mapping[str, Tensor]], protocol: str, title: str = "") -> Figure:
    """Return a page of mean deletion and insertion curves by label, each with the interval of its mean as a band.

    `curves` holds `deletion`, `insertion` and `shares` of each label, b k each; rows with NaN are left out.
    """
    figure = measured_curves({label: _curves(given, protocol) for label, given in curves.items()}, title=title)
    bounds = [figure.axes[0].get_ylim()]
    for axes, column in zip(figure.axes, ("deletion", "insertion"), strict=True):
        for line in axes.get_lines():
            low, high = mean_band(curves[str(line.get_label()).split("  ", 1)[1]][column])
            axes.fill_between(line.get_xdata(), low, high, color=line.get_color(), alpha=0.13, linewidth=0)
            bounds.append((low.min(), high.max()))
    for axes in figure.axes:
        axes.set_ylim(min(low for low, _ in bounds), max(high for _, high in bounds))
    return figure


def mean_band(curves: Tensor, bootstrap: Bootstrap = EVEN) -> tuple[Array, Array]:
    """Return the bootstrap interval of the mean at each point of curves (b k); rows with NaN are left out.

    >>> import torch
    >>> low, high = mean_band(torch.tensor([[0.0, 1.0], [1.0, 1.0]]))
    >>> low.tolist(), high.tolist()
    ([0.0, 1.0], [1.0, 1.0])
    """
    known = curves[~curves.isnan().any(1)].double().numpy()
    drawn = np.random.default_rng(bootstrap.seed).integers(0, len(known), (bootstrap.resamples, len(known)))
    weights = np.stack([np.bincount(row, minlength=len(known)) for row in drawn]) / len(known)
    tail = (1 - bootstrap.confidence) / 2
    low, high = np.quantile(weights @ known, [tail, 1 - tail], axis=0)
    return low, high


@dataclass(frozen=True, eq=False)
class SweepLine:
    """A line of means against a setting, with the interval of each mean."""

    label: str
    x: Sequence[float]
    mean: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


def sweep_page(halves: Mapping[str, Sequence[SweepLine]], x: str, caption: Sequence[str], title: str = "") -> Figure:
    """Return a page of axes side by side, one for each entry of `halves`, with a shared legend.

    >>> line = SweepLine("net", [0.0, 0.5], [1.0, 2.0], [0.9, 1.9], [1.1, 2.1])
    >>> len(sweep_page({"deletion": [line], "insertion": [line]}, "λ", []).axes)
    2
    """
    width = (WIDTH - 2 * MARGIN - EDGE) / len(halves) - 0.5
    panels = [
        Panel(0.5 + place * (width + 0.5), 0.25, width, 2.2, _sweep(lines, x, y, first=not place))
        for place, (y, lines) in enumerate(halves.items())
    ]
    return make_figure(panels, caption, title, below=0.36, right=EDGE)


def _sweep(lines: Sequence[SweepLine], x: str, y: str, *, first: bool) -> Callable[[Axes], None]:
    def draw(axes: Axes) -> None:
        for number, line in enumerate(lines):
            colour = SERIES[number % len(SERIES)]
            axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.13, linewidth=0)
            axes.plot(line.x, line.mean, "o-", color=colour, markersize=3, label=line.label)
        rule_axes(axes, x, y)
        if first:  # one legend for all, above them
            axes.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2, ncols=len(lines), handlelength=1.5)

    return draw


def _curves(given: Mapping[str, Tensor], protocol: str) -> Curves:
    deletion, insertion = given["deletion"].double(), given["insertion"].double()
    chosen = PROTOCOLS[protocol]
    without = int(deletion.isnan().any(1).sum())
    areas = (chosen.area(deletion), chosen.area(insertion))
    return Curves(*areas, deletion, insertion, given["shares"][0].double(), without, chosen)


def _wrap(text: str, width: float) -> str:
    return "\n".join(wrap_text(text, width, SIZE)) if text else ""


def _lines(text: str) -> int:
    return text.count("\n") + bool(text)
