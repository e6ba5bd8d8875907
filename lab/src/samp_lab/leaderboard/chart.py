"""The chart of mean rank against gradients: what a better rank costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from samp.html.svg import Frame, element, marks_across
from samp.metrics import MeanRank
from samp.plots.axes import round_ticks

FRAME = Frame(640, 420, top=20, bottom=46, left=34, right=14)
LETTER = 6.7  # pixels of an average letter of a label, 13 pixels high
NO_GRADIENT = 0.5  # where methods that take none stand on the logarithmic axis
AIR = 0.12  # of a power of ten, at both sides


@dataclass(frozen=True)
class Point:
    """A method on the chart."""

    name: str
    gradients: float
    rank: MeanRank
    ours: bool


@dataclass(frozen=True)
class Box:
    """A rectangle that is taken: left, top, right, bottom."""

    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: Box) -> float:
        """Return the area that both cover.

        >>> Box(0, 0, 2, 2).overlap(Box(1, 1, 3, 3)), Box(0, 0, 1, 1).overlap(Box(2, 0, 3, 1))
        (1, 0.0)
        """
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.bottom, other.bottom) - max(self.top, other.top)
        return wide * high if wide > 0 and high > 0 else 0.0


def rank_chart(points: Sequence[Point], label: str) -> Markup | None:
    """Return the chart, the best rank at the top; None without a method whose rank and gradients are known.

    A stepped line joins those that no cheaper method beats.
    """
    known = [one for one in points if math.isfinite(one.rank.mean) and math.isfinite(one.gradients)]
    if not known:
        return None
    x_of, y_of, parts = _axes(known)
    places = {one.name: (x_of(one.gradients), y_of(one.rank.mean)) for one in known}
    parts.append(_frontier(known, places))
    parts += [_whisker(one, places[one.name][0], y_of) for one in known if not math.isnan(one.rank.low)]
    spots = _label_places(known, places, y_of)
    parts += [
        _mark(one, *places[one.name], spots[one.name]) for one in sorted(known, key=lambda one: one.ours)
    ]  # ours on top
    return FRAME.draw(parts, label, "ranks")


def find_frontier(points: Sequence[Point]) -> list[Point]:
    """Return the methods that no other of as few gradients beats, by gradients.

    >>> ranks = {"a": (1, 5.0), "b": (30, 6.0), "c": (30, 2.0), "d": (100, 1.5)}
    >>> points = [Point(name, g, MeanRank(r, r, r, 0.95), False) for name, (g, r) in ranks.items()]
    >>> [point.name for point in find_frontier(points)]
    ['a', 'c', 'd']
    """
    found: list[Point] = []
    for one in sorted(points, key=lambda point: (point.gradients, point.rank.mean)):
        if not found or one.rank.mean < found[-1].rank.mean:
            found.append(one)
    return found


Scale = Callable[[float], float]


def _axes(points: Sequence[Point]) -> tuple[Scale, Scale, list[Markup]]:
    """Return where gradients and ranks lie, and the drawn axes."""
    logs = [_log(one.gradients) for one in points]
    left, right = min(logs) - AIR, max(logs) + AIR
    ends = [value for one in points for value in (one.rank.mean, one.rank.low, one.rank.high) if math.isfinite(value)]
    best, worst = min(ends) - 0.3, max(ends) + 0.3

    def x_of(gradients: float) -> float:
        return FRAME.x_of((_log(gradients) - left) / (right - left))

    def y_of(rank: float) -> float:
        return FRAME.y_of((worst - rank) / (worst - best))

    ticks = [tick for tick in round_ticks(best, worst) if tick >= 1]
    parts = [FRAME.grid_line((worst - tick) / (worst - best), f"{tick:g}") for tick in ticks]
    marks = marks_across(max(left, 0.0), right, True) if right > 0 else []  # below 1 there is 0 alone
    parts += [FRAME.mark_below(f"{x_of(10**place):.1f}", text) for place, text in marks]
    if min(one.gradients for one in points) <= NO_GRADIENT:
        parts.append(FRAME.mark_below(f"{x_of(0):.1f}", "0"))
    middle = {"x": f"{FRAME.x_of(0.5):.0f}", "y": FRAME.height - 6, "text-anchor": "middle"}
    parts.append(element("text", middle, "gradients of an image"))
    parts.append(element("text", {"x": FRAME.left - 26, "y": 11}, "mean rank: the best at the top"))
    return x_of, y_of, parts


def _log(gradients: float) -> float:
    return math.log10(max(gradients, NO_GRADIENT))


def _frontier(points: Sequence[Point], places: Mapping[str, tuple[float, float]]) -> Markup:
    corners = [places[one.name] for one in find_frontier(points)]
    path = f"M{corners[0][0]:.1f} {corners[0][1]:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in corners[1:])
    return element("path", {"class": "frontier", "d": f"{path}H{FRAME.width - FRAME.right}"})


def _whisker(one: Point, x: float, y_of: Scale) -> Markup:
    ends = {"y1": f"{y_of(one.rank.low):.1f}", "y2": f"{y_of(one.rank.high):.1f}"}
    return element("line", {"class": f"whisker {_class(one)}", "x1": f"{x:.1f}", "x2": f"{x:.1f}", **ends})


def _mark(one: Point, x: float, y: float, spot: tuple[float, float, str]) -> Markup:
    left, base, anchor = spot
    return element(
        "g",
        {"class": f"method {_class(one)}"},
        element("title", {}, f"{one.name}: mean rank {one.rank}, {one.gradients:,.0f} gradients"),
        element("circle", {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": 5}),
        element("text", {"x": f"{left:.1f}", "y": f"{base:.1f}", "text-anchor": anchor}, one.name),
    )


def _class(one: Point) -> str:
    return "ours" if one.ours else "rival"


def _label_places(
    points: Sequence[Point], places: Mapping[str, tuple[float, float]], y_of: Scale
) -> dict[str, tuple[float, float, str]]:
    """Return x, y and anchor of each label: beside, above or below its point, where least is covered."""
    taken = [Box(x - 7, y - 7, x + 7, y + 7) for x, y in places.values()]
    for one in points:
        x = places[one.name][0]
        if not math.isnan(one.rank.low):
            taken.append(Box(x - 2, y_of(one.rank.low), x + 2, y_of(one.rank.high)))
    found = {}
    for one in sorted(points, key=lambda point: not point.ours):  # ours choose first
        x, y = places[one.name]
        spots = [
            (x + side * 10, y + 4.5 + up, "start" if side > 0 else "end")
            for up in (0, -11, 11, -20, 20)
            for side in (1, -1)
        ]
        spots += [(x, y + up, "middle") for up in (-12, 20)]
        costs = [_cost(_label_box(one.name, spot), taken) for spot in spots]
        found[one.name] = spots[costs.index(min(costs))]
        taken.append(_label_box(one.name, found[one.name]))
    return found


def _label_box(name: str, spot: tuple[float, float, str]) -> Box:
    x, base, anchor = spot
    wide = LETTER * len(name)
    left = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * wide
    return Box(left, base - 11, left + wide, base + 3)


def _cost(box: Box, taken: Sequence[Box]) -> float:
    outside = max(FRAME.left - box.left, 0) + max(box.right - FRAME.width + FRAME.right, 0)
    outside += max(FRAME.top - box.top, 0) + max(box.bottom - FRAME.height + FRAME.bottom, 0)
    return sum(box.overlap(other) for other in taken) + 20 * outside
