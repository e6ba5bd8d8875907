"""Methods side by side as one figure (extra `viz`): maps, curves on shared axes, and a table that is their legend."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from math import ceil
from typing import Any

from matplotlib import rc_context, rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, fontManager
from matplotlib.ticker import PercentFormatter

from samp.compare import Compared
from samp.compare_columns import COLUMNS
from samp.metrics.protocol_text import describe_protocol, describe_score
from samp.models.prediction import ClassifiedPhoto
from samp.models.question import name_class
from samp.models.zero_colour import zero_colour
from samp.plots import Grey, Outline
from samp.plots.axes import pad_limits
from samp.plots.deletion_insertion import DASHES, Style
from samp.plots.fonts import fonts_for, make_legible, warn_of_missing
from samp.plots.grid import GridCell
from samp.plots.page import (
    EDGE,
    GAP,
    LINE,
    MARGIN,
    SIZE,
    SMALL,
    WIDTH,
    Panel,
    fit_height,
    make_figure,
    rule_axes,
)
from samp.plots.palette import BEST, QUIET, SERIES
from samp.plots.reading import credit_of, photo_of
from samp.region import region_of

ACROSS = 5  # pictures in a row, at most
TALL, TICKS, BETWEEN, HEADING, BELOW = 2.1, 0.5, 0.35, 0.2, 0.42  # inches: of curves and what is around them
ROW, NAMES = 0.17, 1.3  # inches: a line of the table, its first column
HEAD = 2  # lines of its headings


def draw(classified: ClassifiedPhoto, compared: Compared, record: Mapping[str, Any]) -> Figure:
    """Return the figure of one photo; each method has the colour that it has in the page."""
    maps, top = _maps(classified, compared)
    curves, top = _curves(compared, top, describe_score(compared.protocol, record["score_is"]))
    body = WIDTH - 2 * MARGIN
    table = Panel(0, top, body, ROW * (len(compared.rows) + HEAD), _table(compared))
    score = f"{record['score']:.3f}".replace("-", "−")
    title = f"Why {name_class(record)}? {record['score_is']} {score} ({record['model']})"
    fonts = fonts_for(title)
    warn_of_missing(title, fonts)
    with rc_context({"font.family": [*rcParams["font.family"], *_families(fonts)]}):
        return make_figure([*maps, *curves, table], _caption(classified, compared, record), make_legible(title, fonts))


def _families(fonts: Sequence[str]) -> list[str]:
    """Register these fonts with matplotlib and return their names there."""
    for file in filter(None, fonts):
        fontManager.addfont(file)
    return [FontProperties(fname=file).get_name() for file in filter(None, fonts)]


def styles(count: int) -> list[Style]:
    """Colour and dashes of each method.

    >>> styles(8)[7][1]
    '--'
    """
    return [(SERIES[i % len(SERIES)], DASHES[i // len(SERIES) % len(DASHES)]) for i in range(count)]


def _maps(classified: ClassifiedPhoto, compared: Compared) -> tuple[list[Panel], float]:
    """The panels of the photo and the maps, each above its region, in rows, and where they end (inches)."""
    photo = photo_of(classified.crop).pixels
    pictures = 1 + len(compared.rows)
    across = ceil(pictures / ceil(pictures / ACROSS))
    width = (WIDTH - 2 * MARGIN - (across - 1) * GAP) / across
    height = fit_height(width, photo.shape)
    step = 2 * height + LINE + 0.06 + 2 * GAP

    def place(number: int, below: int, cell: GridCell) -> Panel:
        top = LINE + 0.06 + (number // across) * step + below * (height + GAP / 2)
        return Panel((number % across) * (width + GAP), top, width, height, cell)

    panels = [place(0, 0, GridCell(photo, None, Grey(), "photo", ""))]
    for number, row in enumerate(compared.rows, 1):
        credit, sigma = credit_of(row.attribution), region_of(row.attribution).sigma
        panels += [
            place(number, 0, GridCell(photo, credit, Grey(), row.name, "")),
            place(number, 1, GridCell(photo, credit, Outline(sigma=sigma), "", "")),
        ]
    return panels, step * ceil(pictures / across)


def _curves(compared: Compared, top: float, height: str) -> tuple[list[Panel], float]:
    """The panels of deletion and insertion, with `height` on their y axis, and where they end (inches)."""
    lines = {
        done: [getattr(row.curves, f"{kind}_curve")[0].tolist() for row in compared.rows]
        for kind, done in (("deletion", "deleted"), ("insertion", "inserted"))
    }
    limits = pad_limits([value for half in lines.values() for line in half for value in line], 0.04, include_zero=True)
    width = (WIDTH - 2 * MARGIN - TICKS - EDGE - BETWEEN) / 2
    shares = compared.rows[0].curves.shares.tolist()

    def half(place: int, done: str) -> Callable[[Axes], None]:
        def draw_half(axes: Axes) -> None:
            for line, (colour, dash) in zip(lines[done], styles(len(compared.rows)), strict=True):
                axes.plot(shares, line, color=colour, linestyle=dash)
            rule_axes(axes, f"share of pixels {done}", "" if place else height)
            axes.set_title("insertion: higher is better" if place else "deletion: lower is better", size=SIZE)
            axes.set(xlim=(0, 1), ylim=limits)
            axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
            axes.tick_params(labelleft=not place)

        return draw_half

    panels = [
        Panel(TICKS + place * (width + BETWEEN), top + HEADING, width, TALL, half(place, done))
        for place, done in enumerate(lines)
    ]
    return panels, top + HEADING + TALL + BELOW


def _table(compared: Compared) -> Callable[[Axes], None]:
    """A function that writes a line for each method, with a piece of its curve; the best of a column is framed."""
    body = WIDTH - 2 * MARGIN

    def write(axes: Axes) -> None:
        axes.set(xlim=(0, body), ylim=(len(compared.rows) + HEAD, 0))
        axes.axis("off")
        _line(axes, HEAD / 2, ["method", *("\n".join(column.heading_lines) for column in COLUMNS)], ())
        axes.plot([0, body], [HEAD] * 2, color=QUIET, linewidth=0.5)
        for number, (row, (colour, dash)) in enumerate(zip(compared.rows, styles(len(compared.rows)), strict=True)):
            numbers, middle = row.numbers(0), HEAD + number + 0.5
            best = [i for i, column in enumerate(COLUMNS, 1) if row.name in compared.best(column, 0)]
            axes.plot([0, 0.22], [middle] * 2, color=colour, linestyle=dash)
            _line(axes, middle, [row.name, *(column.format_value(numbers[column.key]) for column in COLUMNS)], best)

    return write


def _edges() -> list[float]:
    """Where the columns end, in inches: each is as wide as its heading, in letters, and a margin."""
    letters = [3 + max(map(len, column.heading_lines)) for column in COLUMNS]
    width = WIDTH - 2 * MARGIN - NAMES - 0.05
    return [NAMES + width * end / sum(letters) for end in accumulate(letters)]


def _line(axes: Axes, middle: float, cells: Sequence[str], best: Sequence[int]) -> None:
    """Write one line of the table: its first cell flush left, the others flush right in their columns."""
    edges = _edges()
    frame = {"boxstyle": "round,pad=0.25", "facecolor": "none", "edgecolor": BEST, "linewidth": 0.6}
    for i, cell in enumerate(cells):
        place, side = (edges[i - 1], "right") if i else (0.3, "left")
        look: dict[str, Any] = {"color": BEST, "bbox": frame} if i in best else {}
        axes.text(place, middle, cell, size=SMALL, ha=side, va="center_baseline", linespacing=1.1, **look)


def _caption(classified: ClassifiedPhoto, compared: Compared, record: Mapping[str, Any]) -> list[str]:
    versions = ", ".join(f"{package} {version}" for package, version in record["versions"].items())
    zero = zero_colour(classified.classifier)
    measured = describe_protocol(compared.protocol, len(record["shares"]), zero, record["score_is"])
    return [
        f"Each map has a scale of its own: {Grey().rule()}. Below it, {Outline().rule()}. "
        "Arrows point to what is better; the best is framed, but "
        "never a map made without asking the model. One photo is no statistics.",
        f"Deletion and insertion by {measured}",
        *(f"{row.name}: {row.attribution.method}" for row in compared.rows),
        f"{versions}; {record['device']}, {record['dtype']}, seed {record['seed']}.",
    ]
