"""A distribution as bars, in SVG."""

from __future__ import annotations

import math
from html import escape

from samp.batch.columns import Array
from samp.html.report_facts import Histogram, Quantity, histogram
from samp.html.svg import ticks

WIDTH, HEIGHT = 440, 190
LEFT, RIGHT, TOP, BOTTOM = 44, 14, 8, 26  # margins
FULL = HEIGHT - TOP - BOTTOM


def chart(quantity: Quantity, values: Array) -> str:
    """The histogram of these values, or a sentence where there are none.

    >>> import numpy as np
    >>> chart(Quantity("score", "Score", "of the class"), np.empty(0))
    '<p class="quiet">No input has this.</p>'
    """
    found = histogram(values, quantity.logarithmic)
    if found is None:
        return '<p class="quiet">No input has this.</p>'
    parts = [*_axes(found, quantity.logarithmic), *_bars(found, quantity.logarithmic)]
    label = escape(f"{quantity.heading} of {len(values)} inputs")
    return f'<svg class="bars" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def _x_of(found: Histogram, value: float) -> float:
    low, high = found.edges[0], found.edges[-1]
    return LEFT + (value - low) / ((high - low) or 1.0) * (WIDTH - LEFT - RIGHT)


def _bars(found: Histogram, logarithmic: bool) -> list[str]:
    tallest = max(found.heights)
    drawn = []
    for low, high, count in zip(found.edges, found.edges[1:], found.heights, strict=False):
        x, y = _x_of(found, low), HEIGHT - BOTTOM - count / tallest * FULL
        width = max(_x_of(found, high) - x - 1, 1)
        ends = (10**low, 10**high) if logarithmic else (low, high)
        told = escape("{} from {} to {}".format(count, *(_words(end, ends[1] - ends[0]) for end in ends)))
        drawn.append(
            f'<rect class="bar" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{HEIGHT - BOTTOM - y:.1f}">'
            f"<title>{told}</title></rect>"
        )
    return drawn


def _axes(found: Histogram, logarithmic: bool) -> list[str]:
    tallest = max(found.heights)
    marks = [tick for tick in ticks(0, tallest) if tick == int(tick)]
    lines = [_line(HEIGHT - BOTTOM - tick / tallest * FULL, f"{tick:g}") for tick in marks]
    below = [
        f'<text x="{_x_of(found, place):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{escape(words)}</text>'
        for place, words in marks_across(found.edges[0], found.edges[-1], logarithmic)
    ]
    return lines + below


def marks_across(low: float, high: float, logarithmic: bool = False) -> list[tuple[float, str]]:
    """Places of round numbers between the bounds, and these numbers; where logarithmic, bounds and places are log10.

    >>> marks_across(9.4, 12.1)
    [(9.5, '9.5'), (10.0, '10'), (10.5, '10.5'), (11.0, '11'), (11.5, '11.5'), (12.0, '12')]
    >>> marks_across(-6.2, -2.9, logarithmic=True)
    [(-6.0, '1e−06'), (-5.0, '1e−05'), (-4.0, '0.0001'), (-3.0, '0.001')]
    """
    if not logarithmic:
        return _round_marks(low, high)
    for factors in ((1,), (1, 2, 5)):
        powers = range(math.floor(low), math.ceil(high) + 1)
        places = [(power + math.log10(factor), factor * 10.0**power) for power in powers for factor in factors]
        within = [(place, _words(value, value)) for place, value in places if low <= place <= high]
        if len(within) > 1:
            return within[:: -(-len(within) // 6)]
    return [(math.log10(tick), words) for tick, words in _round_marks(10**low, 10**high)]


def _round_marks(low: float, high: float) -> list[tuple[float, str]]:
    """Some five round numbers, and their words."""
    unit = 10.0 ** math.floor(math.log10((high - low) or 1.0))  # `ticks` takes what is below 1e-12 for 0
    found = [tick * unit for tick in ticks(low / unit, high / unit)] if low < high else [low]
    step = found[1] - found[0] if len(found) > 1 else unit
    return [(tick, _words(tick, step)) for tick in found]


def _line(y: float, words: str) -> str:
    return (
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text x="{LEFT - 7}" y="{y:.1f}" dy="0.35em" text-anchor="end">{words}</text>'
    )


def _words(value: float, step: float) -> str:
    """A number with the digits that tell it from its neighbours, a step away.

    >>> _words(102.4, 2.0), _words(0.30000000000000004, 0.1), _words(-1.25e-7, 1e-8)
    ('102', '0.3', '−1.2e−07')
    """
    places = -math.floor(math.log10(step or 1.0) + 1e-9)  # 0.1 may have come out a little less
    return f"{round(value, places) + 0.0:.12g}".replace("-", "−")
