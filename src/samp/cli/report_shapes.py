"""A distribution as bars, in SVG."""

from __future__ import annotations

import math
from html import escape

from samp.cli.compare_curves import ticks
from samp.cli.report_facts import Bars, Quantity, bars
from samp.runs.columns import Array

WIDTH, HEIGHT = 440, 190
LEFT, RIGHT, TOP, BOTTOM = 44, 14, 8, 26  # margins
FULL = HEIGHT - TOP - BOTTOM


def chart(quantity: Quantity, values: Array) -> str:
    """The histogram of these values, or a sentence where there are none.

    >>> import numpy as np
    >>> chart(Quantity("score", "Score", "of the class"), np.empty(0))
    '<p class="quiet">No input has this.</p>'
    """
    found = bars(values, quantity.logarithmic)
    if found is None:
        return '<p class="quiet">No input has this.</p>'
    parts = [*_axes(found, quantity.logarithmic), *_bars(found, quantity.logarithmic)]
    label = escape(f"{quantity.heading} of {len(values)} inputs")
    return f'<svg class="bars" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def _across(found: Bars, value: float) -> float:
    low, high = found.edges[0], found.edges[-1]
    return LEFT + (value - low) / ((high - low) or 1.0) * (WIDTH - LEFT - RIGHT)


def _bars(found: Bars, logarithmic: bool) -> list[str]:
    tallest = max(found.heights)
    drawn = []
    for low, high, count in zip(found.edges, found.edges[1:], found.heights, strict=False):
        x, y = _across(found, low), HEIGHT - BOTTOM - count / tallest * FULL
        width = max(_across(found, high) - x - 1, 1)
        told = escape(f"{count} from {_value(low, logarithmic)} to {_value(high, logarithmic)}")
        drawn.append(
            f'<rect class="bar" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{HEIGHT - BOTTOM - y:.1f}">'
            f"<title>{told}</title></rect>"
        )
    return drawn


def _axes(found: Bars, logarithmic: bool) -> list[str]:
    tallest = max(found.heights)
    marks = [tick for tick in ticks(0, tallest) if tick == int(tick)]
    lines = [_line(HEIGHT - BOTTOM - tick / tallest * FULL, f"{tick:g}") for tick in marks]
    between = _ticks(found.edges[0], found.edges[-1], logarithmic)
    below = [
        f'<text x="{_across(found, tick):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">'
        f"{escape(_value(tick, logarithmic))}</text>"
        for tick in between
    ]
    return lines + below


def _ticks(low: float, high: float, logarithmic: bool) -> list[float]:
    """Round numbers; powers of ten where two of them lie between."""
    if low == high:
        return [low]
    powers = [float(power) for power in range(math.ceil(low), math.floor(high) + 1)]
    every = -(-len(powers) // 6)
    return powers[::every] if logarithmic and len(powers) > 1 else ticks(low, high)


def _line(y: float, words: str) -> str:
    return (
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text x="{LEFT - 7}" y="{y:.1f}" dy="0.35em" text-anchor="end">{words}</text>'
    )


def _value(value: float, logarithmic: bool) -> str:
    return f"{10**value if logarithmic else value:.2g}".replace("-", "−")
