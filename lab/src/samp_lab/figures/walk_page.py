"""The page of Fig. verification, drawn with matplotlib (extra `viz`): points on the path, credit so far, the score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from samp.plots.page import EDGE, GAP, MARGIN, WIDTH, Panel, make_figure, rule_axes
from samp.plots.palette import WALKS
from samp.plots.reading import Array
from samp.plots.shades import Grey
from samp_lab.figures.pages import Row, Tile, layout_panels
from samp_lab.report.format import percent

CURVE, TICKS = 2.0, 0.5  # inches
WORDS = f"All maps of a walk have the scale of its last one: {Grey().rule()}."


@dataclass(frozen=True, eq=False)
class WalkPictures:
    """The walk of one image: its map, when each pixel arrives, the score at each percent, and the picture if shown."""

    credit: Array  # h w
    arrival: Array  # h w, the share of the steps; 0 for pixels that never had to move
    scores: Array  # 101
    photo: Array | None  # h w c of bytes
    black: Array  # c of bytes: the colour of the start

    def point(self, share: float) -> Array | None:
        """Return h w c: the picture where pixels have arrived, the start's colour elsewhere; None without a picture."""
        if self.photo is None:
            return None
        return np.where((self.arrival <= share + 1e-6)[..., None], self.photo, self.black).astype(np.uint8)

    def credit_at(self, share: float) -> Array:
        """Return h w: the credit of the pixels that have arrived."""
        return np.where((self.arrival <= share + 1e-6) & (share > 0), self.credit, 0.0)


def walk_page(walks: Sequence[WalkPictures], moments: Sequence[float]) -> Figure:
    """Return a page with a row of points, a row of maps and a score curve for each walk.

    >>> walk = WalkPictures(np.ones((4, 4)), np.full((4, 4), 0.5), np.linspace(0, 1, 101), None, np.zeros(1, np.uint8))
    >>> len(walk_page([walk], [0.0, 0.5, 1.0]).axes)  # three maps and the curve
    4
    """
    panels: list[Panel] = []
    top = 0.0
    for number, walk in enumerate(walks):
        heads = [percent(share) if not number else "" for share in moments]
        part = layout_panels(_rows(walk, moments, heads), WIDTH - 2 * MARGIN - CURVE - TICKS - EDGE)
        panels += [Panel(p.left, top + p.top, p.width, p.height, p.draw) for p in part]
        last = number == len(walks) - 1
        first, bottom = part[0].top, max(p.top + p.height for p in part)
        left = max(p.left + p.width for p in part) + TICKS
        panels.append(Panel(left, top + first, CURVE, bottom - first - 0.12 * (not last), _curve(walk, moments, last)))
        top += bottom + 2 * GAP
    return make_figure(panels, [WORDS], below=0.36, right=EDGE)


def _rows(walk: WalkPictures, moments: Sequence[float], heads: Sequence[str]) -> list[Row]:
    full = Grey().limits(walk.credit)[1]
    points = [walk.point(share) for share in moments]
    shown = [point for point in points if point is not None]
    above = [
        Tile(point, head, beside)
        for point, head, beside in zip(shown, heads, _first_head("point", moments), strict=False)
    ]
    under = [""] * len(heads) if shown else heads
    maps = [
        Tile(walk.credit_at(share), head, beside, full)
        for share, head, beside in zip(moments, under, _first_head("credit", moments), strict=True)
    ]
    return [above, maps] if above else [maps]


def _first_head(word: str, moments: Sequence[float]) -> list[str]:
    return [word, *[""] * (len(moments) - 1)]


def _curve(walk: WalkPictures, moments: Sequence[float], last: bool) -> Callable[[Axes], None]:
    def draw(axes: Axes) -> None:
        colour, share = WALKS["to_image"], np.linspace(0, 1, len(walk.scores))
        axes.plot(share, walk.scores, color=colour)
        axes.plot(moments, np.interp(moments, share, walk.scores), "o", color=colour, markersize=3.5)
        rule_axes(axes, "share of the steps" if last else "", "score")
        axes.set_xlim(-0.03, 1.03)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
        axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        axes.tick_params(labelbottom=last)

    return draw
