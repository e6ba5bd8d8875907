"""A figure from panels placed in inches, with a title above and a caption wrapped below."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from samp.plots.palette import FRAME, INK, PAPER, QUIET, RULE

WIDTH = 8.0  # of the wide figures: at 800 pixels, letters of 8 points are 11 pixels high
MARGIN, GAP, LINE = 0.12, 0.08, 0.13
EDGE = 0.16  # right of curves, for the half of the last tick's label
HINTING = 1.06  # hinted letters on a screen are up to this much wider than their outlines
DPI = 150
SIZE, SMALL, LARGE = 8.0, 7.0, 10.0
# Everything that a user's dark style or TeX would break is set here; fonts stay the user's.
# Any, as the type of its keys differs between versions of matplotlib.
LOOK: Any = {
    "text.usetex": False,
    "text.parse_math": False,
    "text.color": INK,
    "font.size": SIZE,
    "axes.edgecolor": INK,
    "axes.facecolor": PAPER,
    "axes.labelcolor": INK,
    "axes.labelsize": SIZE,
    "axes.titlesize": SIZE,
    "axes.grid": False,
    "axes.linewidth": 0.6,
    "axes.unicode_minus": True,
    "figure.facecolor": PAPER,
    "image.origin": "upper",
    "image.interpolation": "antialiased",
    "legend.frameon": False,
    "legend.fontsize": SIZE,
    "legend.labelcolor": INK,
    "lines.linewidth": 1.4,
}


class NotebookFigure(Figure):
    """A figure that a notebook shows as a picture; matplotlib's own needs pyplot and its inline backend for that."""

    def _repr_png_(self) -> bytes:
        self.savefig(buffer := io.BytesIO(), format="png")
        return buffer.getvalue()


@dataclass(frozen=True)
class Panel:
    """Axes at a place in inches from the upper left corner of the figure's body, and a function that draws in them."""

    left: float
    top: float
    width: float
    height: float
    draw: Callable[[Axes], object]


def make_figure(
    panels: Sequence[Panel], caption: Sequence[str], title: str = "", *, below: float = 0.0, right: float = 0.0
) -> Figure:
    """Return the figure; `below` and `right` are inches for labels of the outermost panels. Empty captions are skipped.

    >>> figure = make_figure([Panel(0, 0, 3, 2, lambda axes: axes.plot([1, 2]))], ["Two points."], "A title")
    >>> len(figure.axes), [text.get_text() for text in figure.texts]
    (1, ['A title', 'Two points.'])
    """
    with matplotlib.rc_context(LOOK):
        width = max(p.left + p.width for p in panels) + right + 2 * MARGIN
        lines = [line for part in caption if part for line in wrap_text(part, width - 2 * MARGIN, SMALL)]
        head = MARGIN + (0.28 if title else 0.0)
        foot = below + bool(lines) * GAP + LINE * len(lines) + MARGIN
        height = head + max(p.top + p.height for p in panels) + foot
        figure = NotebookFigure(figsize=(width, height), dpi=DPI)
        if title:
            figure.text(MARGIN / width, 1 - MARGIN / height, title, size=LARGE, va="top", color=INK)
        for panel in panels:
            bottom = height - head - panel.top - panel.height
            box = ((MARGIN + panel.left) / width, bottom / height, panel.width / width, panel.height / height)
            panel.draw(figure.add_axes(box))
        if lines:
            place = (MARGIN / width, MARGIN / height)
            figure.text(*place, "\n".join(lines), size=SMALL, va="bottom", color=QUIET, linespacing=1.3)
    return figure


def wrap_text(text: str, width: float, size: float) -> list[str]:
    """The text in lines of at most `width` inches, broken between words; a word of over 60 letters is cut.

    >>> wrap_text("one two", 0.3, 8.0)
    ['one', 'two']
    """
    face, lines, most = FontProperties(size=size), [""], 72 * width / HINTING  # points
    for word in (piece for whole in text.split() for piece in textwrap.wrap(whole, 60, break_on_hyphens=False)):
        longer = f"{lines[-1]} {word}".strip()
        if not lines[-1] or text_to_path.get_text_width_height_descent(longer, face, ismath=False)[0] <= most:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def frame_axes(axes: Axes, heading: str = "") -> None:
    """Style axes for a picture: no ticks, a hairline around it, which white pictures need, and a heading above."""
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set(color=FRAME, linewidth=0.5)
    if heading:
        axes.set_title(heading, size=SIZE, pad=3, color=INK)


def rule_axes(axes: Axes, x: str, y: str) -> None:
    """Style axes for curves: two spines, light horizontal lines, small ticks, labels."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=RULE, linewidth=0.6)
    axes.set_axisbelow(True)
    # set explicitly: ticks are made when the figure is drawn, under whatever rcParams hold by then
    axes.tick_params(colors=INK, labelsize=SMALL, length=2.5, width=0.6, direction="out")
    axes.set_xlabel(x, size=SIZE, labelpad=2)
    axes.set_ylabel(y, size=SIZE, labelpad=3)


def fit_height(width: float, shape: Sequence[int]) -> float:
    """The height at which an image of this shape (h w …) fills the width, limited for very wide and very high ones."""
    return min(max(width * shape[0] / shape[1], 0.15 * width), 2.5 * width)
