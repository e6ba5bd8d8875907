"""Deletion and insertion curves of several methods as SVG, on shared axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from torch import Tensor

from samp.compare import Compared
from samp.plots.scales import bounds

WIDTH, HEIGHT = 440, 300
LEFT, RIGHT, TOP, BOTTOM = 44, 14, 12, 40  # margins
COLOURS, DASHES = 7, 4  # of the style sheet: further methods repeat the colours in other dashes


def charts(compared: Compared, height: str) -> tuple[str, str]:
    """The SVG of the deletion curves and that of the insertion curves; `height` says what their height is."""
    pairs = [(row.curves.deletion_curve[0], row.curves.insertion_curve[0]) for row in compared.rows]
    low, high = bounds([value for pair in pairs for curve in pair for value in curve.tolist()])
    shares = compared.rows[0].curves.shares
    words = ("deleted", "inserted")
    deletion, insertion = (
        _chart([pair[i] for pair in pairs], compared.names, shares, (low, high), (words[i], height)) for i in (0, 1)
    )
    return deletion, insertion


def css_classes(number: int) -> str:
    """The classes of the method with this number: its colour and its dashes.

    >>> css_classes(0), css_classes(8)
    ('c0 d0', 'c1 d1')
    """
    return f"c{number % COLOURS} d{number // COLOURS % DASHES}"


def ticks(low: float, high: float) -> list[float]:
    """Some five round numbers between the bounds.

    >>> ticks(-0.04, 1.04)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    rough = (high - low) / 5
    unit = 10.0 ** math.floor(math.log10(rough))
    step = min((factor * unit for factor in (1, 2, 5, 10)), key=lambda step: abs(step - rough))
    return [round(i * step, 12) + 0.0 for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _chart(
    curves: Sequence[Tensor],
    names: Sequence[str],
    shares: Tensor,
    limits: tuple[float, float],
    words: tuple[str, str],
) -> str:
    done, height = words
    low, high = limits

    def x_of(share: float) -> float:
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y_of(score: float) -> float:
        return TOP + (high - score) / (high - low) * (HEIGHT - TOP - BOTTOM)

    axes = [_tick(LEFT, y_of(tick), f"{tick:g}") for tick in ticks(low, high)]
    axes += [
        f'<text x="{x_of(share):.0f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{share:.0%}</text>'
        for share in (0, 0.25, 0.5, 0.75, 1)
    ]
    axes.append(_label(f"share of pixels {done}"))
    lines = [
        _curve(number, name, [(x_of(s), y_of(v)) for s, v in zip(shares.tolist(), curve.tolist(), strict=True)])
        for number, (name, curve) in enumerate(zip(names, curves, strict=True))
        if bool(curve.isfinite().all())
    ]
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(height)}, against the share of pixels {done}">{"".join(axes + lines)}</svg>'
    )


def _tick(left: float, y: float, words: str) -> str:
    minus = words.replace("-", "−")
    return (
        f'<line class="grid" x1="{left}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text x="{left - 7}" y="{y:.1f}" dy="0.35em" text-anchor="end">{minus}</text>'
    )


def _label(words: str) -> str:
    return f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 5}" text-anchor="middle">{words}</text>'


def _curve(number: int, name: str, points: Sequence[tuple[float, float]]) -> str:
    """A line, and the same line broad and unseen, which is easier to point at."""
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return (
        f'<g class="curve {css_classes(number)}" data-method="{number}"><title>{escape(name)}</title>'
        f'<path class="near" d="{path}"/><path class="line" d="{path}"/></g>'
    )
