"""Curves in a notebook as SVG: colours are attributes, and text and lines have the colour of the page's text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from samp.html.svg import element
from samp.plots.axes import pad_limits, round_ticks
from samp.plots.palette import NOTEBOOK_SERIES

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 360, 220, 44, 20, 22, 34
DASHES = ("none", "6 3", "2 2", "8 3 2 3")


def line_colour(number: int) -> str:
    """Return the colour of the curve with this number, which shows on light and on dark pages."""
    return NOTEBOOK_SERIES[number % len(NOTEBOOK_SERIES)]


def line_dashes(number: int) -> str:
    """Return the dashes of the curve with this number: further curves repeat the colours in other dashes."""
    return DASHES[number // len(NOTEBOOK_SERIES) % len(DASHES)]


def draw_chart(title: str, axis: str, shares: Sequence[float], curves: Mapping[str, Sequence[float]]) -> Markup:
    """Return a chart of curves by name against these shares; values that are not finite are left out.

    >>> draw_chart("deletion", "share of features", [0.0, 1.0], {"<ig>": [1.0, 0.0]}).count("&lt;ig&gt;")
    1
    """
    finite = [value for curve in curves.values() for value in curve if math.isfinite(value)]
    low, high = pad_limits(finite or [0.0, 1.0], 0.04, include_zero=True)
    wide, tall = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def place(share: float, value: float) -> tuple[float, float]:
        return LEFT + share * wide, TOP + (high - value) / (high - low) * tall

    parts = [_text(LEFT, TOP - 9, title, "start")]
    for tick in round_ticks(low, high):
        y = place(0, tick)[1]
        parts.append(element("line", _line(LEFT, y, LEFT + wide, y)))
        parts.append(_text(LEFT - 5, y + 4, f"{tick:g}".replace("-", "−"), "end"))
    parts += [_text(place(share, low)[0], HEIGHT - 20, f"{share:.0%}", "middle") for share in (0, 0.5, 1)]
    parts.append(_text(LEFT + wide / 2, HEIGHT - 5, axis, "middle"))
    for number, (name, curve) in enumerate(curves.items()):
        points = [place(share, value) for share, value in zip(shares, curve, strict=True) if math.isfinite(value)]
        look = {"fill": "none", "stroke": line_colour(number), "stroke-width": 2}
        path = {"points": " ".join(f"{x:.1f},{y:.1f}" for x, y in points), "stroke-dasharray": line_dashes(number)}
        parts.append(element("polyline", {**look, **path}, element("title", {}, name)))
    box = {"width": WIDTH, "height": HEIGHT, "viewBox": f"0 0 {WIDTH} {HEIGHT}", "role": "img", "aria-label": title}
    return element("svg", {**box, "fill": "currentColor", "font-size": 11}, *parts)


def _line(x1: float, y1: float, x2: float, y2: float) -> dict[str, object]:
    ends = {"x1": f"{x1:.1f}", "y1": f"{y1:.1f}", "x2": f"{x2:.1f}", "y2": f"{y2:.1f}"}
    return {**ends, "stroke": "currentColor", "stroke-opacity": 0.2}


def _text(x: float, y: float, text: str, anchor: str) -> Markup:
    return element("text", {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor}, text)
