"""Charts of the pages as SVG: curves on shared axes, histograms, stacked bars.

Colours and strokes come from the style sheet by class. Every attribute and text goes through `element`, which escapes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from samp.plots.axes import round_ticks
from samp.plots.palette import SERIES

DASHES = 4  # in the style sheet: further methods repeat the colours in other dashes


def element(tag: str, attributes: Mapping[str, object], *children: str) -> Markup:
    """Return an SVG element; attributes and text are escaped, children made by this function are not escaped again.

    >>> element("text", {"x": 1}, "a < b")
    Markup('<text x="1">a &lt; b</text>')
    >>> element("g", {"class": '"'}, element("path", {"d": "M0 0"}))
    Markup('<g class="&#34;"><path d="M0 0"/></g>')
    """
    head = Markup("").join(Markup(' {}="{}"').format(name, value) for name, value in attributes.items())
    if not children:
        return Markup("<{}{}/>").format(tag, head)
    return Markup("<{}{}>{}</{}>").format(tag, head, Markup("").join(children), tag)


@dataclass(frozen=True)
class Frame:
    """The area of a chart: its size, and the margins around the axes."""

    width: int
    height: int
    top: int
    bottom: int
    left: int = 44
    right: int = 14

    def x_of(self, share: float) -> float:
        """Return where this share of the horizontal axis lies."""
        return self.left + share * (self.width - self.left - self.right)

    def y_of(self, share: float) -> float:
        """Return where this share of the vertical axis lies, counted from below."""
        return self.height - self.bottom - share * (self.height - self.top - self.bottom)

    def draw(self, parts: Iterable[Markup], label: str, classes: str = "") -> Markup:
        """Return the chart of these parts; `label` is for those who cannot see it."""
        look = {"class": classes} if classes else {}
        box = {"viewBox": f"0 0 {self.width} {self.height}", "role": "img", "aria-label": label}
        return element("svg", {**look, **box}, *parts)

    def grid_line(self, share: float, label: str) -> Markup:
        """Return a horizontal line at this share of the vertical axis, with its number to the left."""
        y = f"{self.y_of(share):.1f}"
        line = element("line", {"class": "grid", "x1": self.left, "x2": self.width - self.right, "y1": y, "y2": y})
        place = {"x": self.left - 7, "y": y, "dy": "0.35em", "text-anchor": "end"}
        return line + element("text", place, label.replace("-", "−"))

    def mark_below(self, x: str, text: str) -> Markup:
        """Return a text below the horizontal axis."""
        return element("text", {"x": x, "y": self.height - self.bottom + 18, "text-anchor": "middle"}, text)


CURVES = Frame(440, 300, top=12, bottom=40)
BARS = Frame(440, 190, top=8, bottom=26)


# ---- curves


def css_classes(number: int) -> str:
    """Return the classes of the method with this number: its colour and its dashes.

    >>> css_classes(0), css_classes(8)
    ('c0 d0', 'c1 d1')
    """
    return f"c{number % len(SERIES)} d{number // len(SERIES) % DASHES}"


def curve_chart(
    curves: Mapping[str, Sequence[float]],
    shares: Sequence[float],
    limits: tuple[float, float],
    action: str,
    height: str,
) -> Markup:
    """Return curves by name against the share of pixels; those that are not finite are left out.

    - `limits`: of the vertical axis; `height` is what it measures.
    - `action`: what happens to the pixels, "deleted" or "inserted".
    """
    low, high = limits

    def height_of(score: float) -> float:
        return (score - low) / (high - low)

    parts = [CURVES.grid_line(height_of(tick), f"{tick:g}") for tick in round_ticks(low, high)]
    parts += [CURVES.mark_below(f"{CURVES.x_of(share):.0f}", f"{share:.0%}") for share in (0, 0.25, 0.5, 0.75, 1)]
    middle = {"x": f"{CURVES.x_of(0.5):.0f}", "y": CURVES.height - 5, "text-anchor": "middle"}
    parts.append(element("text", middle, f"share of pixels {action}"))
    for number, (name, curve) in enumerate(curves.items()):
        if all(map(math.isfinite, curve)):
            points = [(CURVES.x_of(x), CURVES.y_of(height_of(score))) for x, score in zip(shares, curve, strict=True)]
            parts.append(_curve(number, name, points))
    return CURVES.draw(parts, f"{height}, against the share of pixels {action}")


def _curve(number: int, name: str, points: Sequence[tuple[float, float]]) -> Markup:
    """Return a line and the same line broad and invisible, which is easier to point at."""
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return element(
        "g",
        {"class": f"curve {css_classes(number)}", "data-method": number},
        element("title", {}, name),
        element("path", {"class": "near", "d": path}),
        element("path", {"class": "line", "d": path}),
    )


# ---- histograms


@dataclass(frozen=True)
class Histogram:
    """Edges (one more than heights) and how many values lie between them."""

    edges: tuple[float, ...]
    heights: tuple[int, ...]
    outside: int
    """Values that are not finite."""


def histogram_chart(bars: Histogram, label: str, logarithmic: bool = False) -> Markup:
    """Return a histogram; a logarithmic one has log10 of the values for its edges."""
    tallest = max(bars.heights)
    low, high = bars.edges[0], bars.edges[-1]

    def x_of(value: float) -> float:
        return BARS.x_of((value - low) / ((high - low) or 1.0))

    counts = [tick for tick in round_ticks(0, tallest) if tick == int(tick)]
    parts = [BARS.grid_line(count / tallest, f"{count:g}") for count in counts]
    parts += [BARS.mark_below(f"{x_of(place):.1f}", text) for place, text in marks_across(low, high, logarithmic)]
    for left, right, count in zip(bars.edges, bars.edges[1:], bars.heights, strict=False):
        ends = (10**left, 10**right) if logarithmic else (left, right)
        title = "{} from {} to {}".format(count, *(_format_tick(end, ends[1] - ends[0]) for end in ends))
        x, y, bottom = x_of(left), BARS.y_of(count / tallest), BARS.y_of(0)
        box = {"x": x, "y": y, "width": max(x_of(right) - x - 1, 1), "height": bottom - y}
        look = {"class": "bar", **{name: f"{value:.1f}" for name, value in box.items()}}
        parts.append(element("rect", look, element("title", {}, title)))
    return BARS.draw(parts, label, "bars")


# ---- stacked bars


def stacked_bar(counts: Mapping[str, int]) -> Markup:
    """Return one bar, a piece for each count, whose class is its name.

    >>> '<rect class="fails" x="2" width="1" height="1"/>' in stacked_bar({"holds": 2, "open": 0, "fails": 1})
    True
    """
    pieces, start = [], 0
    for name, count in counts.items():
        if count:
            pieces.append(element("rect", {"class": name, "x": start, "width": count, "height": 1}))
        start += count
    look = {"class": "bar", "viewBox": f"0 0 {max(start, 1)} 1", "preserveAspectRatio": "none", "aria-hidden": "true"}
    return element("svg", look, *pieces)


# ---- axes


def marks_across(low: float, high: float, logarithmic: bool = False) -> list[tuple[float, str]]:
    """Return places of round numbers between the bounds with these numbers; if logarithmic, both are log10.

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
        within = [(place, _format_tick(value, value)) for place, value in places if low <= place <= high]
        if len(within) > 1:
            return within[:: -(-len(within) // 6)]
    return [(math.log10(tick), text) for tick, text in _round_marks(10**low, 10**high)]


def _round_marks(low: float, high: float) -> list[tuple[float, str]]:
    """Return about five round numbers and their texts."""
    unit = 10.0 ** math.floor(math.log10((high - low) or 1.0))  # `round_ticks` rounds what is below 1e-12 to 0
    found = [tick * unit for tick in round_ticks(low / unit, high / unit)] if low < high else [low]
    step = found[1] - found[0] if len(found) > 1 else unit
    return [(tick, _format_tick(tick, step)) for tick in found]


def _format_tick(value: float, step: float) -> str:
    """Return a number with the digits that distinguish it from its neighbours, a step away.

    >>> _format_tick(102.4, 2.0), _format_tick(0.30000000000000004, 0.1), _format_tick(-1.25e-7, 1e-8)
    ('102', '0.3', '−1.2e−07')
    """
    places = -math.floor(math.log10(step or 1.0) + 1e-9)  # 0.1 may have come out a little less
    return f"{round(value, places) + 0.0:.12g}".replace("-", "−")
