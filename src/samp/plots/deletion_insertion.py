"""Deletion and insertion curves of several methods on shared axes, with their areas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from torch import Tensor

from samp.metrics.deletion_insertion import Curves as MeasuredCurves
from samp.plots.page import EDGE, MARGIN, SMALL, WIDTH, Panel, make_figure, rule_axes
from samp.plots.palette import QUIET, SERIES
from samp.plots.reading import Array, as_float_array, check_finite

DASHES = ("-", "--", ":", "-.")
TALL, TICKS, BETWEEN = 2.4, 0.5, 0.35  # inches: of the axes, left of them, between them
LEGEND, ENTRY = 0.42, 0.155  # from the axes down to the legend, and of each of its lines
Style = tuple[str, str]  # colour and dashes
CurveScores = Mapping[str, Sequence[float] | Tensor | Array]


@dataclass(frozen=True, eq=False)
class Line:
    """One curve: scores at shares of the pixels, and the area under it."""

    shares: Array
    scores: Array
    area: float

    @classmethod
    def even(cls, scores: Array) -> Line:
        """Return the curve of evenly spaced scores, from no pixel to all, with its area by the trapezoid rule."""
        return cls(np.linspace(0, 1, len(scores)), scores, area(scores))


@dataclass(frozen=True, eq=False)
class CurvePanel:
    """The curves of deletion or of insertion in one set of axes."""

    done: str  # what is done to the pixels: "deleted" or "inserted"
    curves: Mapping[str, Line]

    def draw(self, axes: Axes, styles: Mapping[str, Style], score: str) -> None:
        for label, area in self.rank_by_area():
            line, (colour, dash) = self.curves[label], styles[label]
            # the number first: matplotlib hides labels that begin with _
            axes.plot(line.shares, line.scores, color=colour, linestyle=dash, label=f"{area:.3f}  {label}")
        rule_axes(axes, f"share of pixels {self.done}", score)
        axes.set_xlim(0, 1)
        axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        legend = axes.legend(
            title="AUC, best first",
            ncols=self.columns,
            loc="upper left",
            bbox_to_anchor=(0, -LEGEND / TALL),
            borderaxespad=0,
            borderpad=0,
            labelspacing=0.35,
        )
        legend.get_title().set(size=SMALL, color=QUIET)
        legend.set_alignment("left")

    def rank_by_area(self) -> list[tuple[str, float]]:
        """Labels with the area under their curves, the best first."""
        areas = {label: line.area for label, line in self.curves.items()}
        return sorted(areas.items(), key=lambda entry: entry[1], reverse=self.done == "inserted")

    @property
    def columns(self) -> int:
        """The columns of the legend."""
        return 1 if len(self.curves) <= 8 else 2

    @property
    def rows(self) -> int:
        """The rows of the legend, with its title."""
        return ceil(len(self.curves) / self.columns) + 1


def metric_curves(deletion: CurveScores, insertion: CurveScores, *, score: str = "score", title: str = "") -> Figure:
    """Draw the score as pixels are deleted or inserted in the order of each method's credit, with the areas under it.

    Both are {label: scores}, evenly spaced from no pixel to all of them. A label has the same colour in both, and
    either may be empty.

    >>> figure = metric_curves({"samp": [1.0, 0.0, 0.0]}, {"samp": [0.0, 1.0, 1.0]})
    >>> [axes.get_legend().get_texts()[0].get_text() for axes in figure.axes]
    ['0.250  samp', '0.750  samp']
    """
    halves = [
        CurvePanel("deleted", _read_curves(deletion, "deletion")),
        CurvePanel("inserted", _read_curves(insertion, "insertion")),
    ]
    halves = [half for half in halves if half.curves]
    if not halves:
        raise ValueError("there is no curve to draw: give {label: scores} for deletion, insertion or both.")
    return _figure(halves, "area under the curve over the share of pixels, by the trapezoid rule", score, title)


def measured_curves(measured: Mapping[str, MeasuredCurves], *, sample: int | None = None, title: str = "") -> Figure:
    """Draw curves of `samp.metrics.deletion_insertion`, {label: curves}, with the areas of their own protocol.

    The curves are those of one `sample`, or the mean over all samples that could be normalised.

    >>> import samp, torch
    >>> net, x = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 5)).eval(), torch.rand(2, 3, 4, 4)
    >>> maps = {name: samp.explain(net, x, method=name) for name in ("samp++", "ig")}
    >>> figure = measured_curves({name: samp.metrics.deletion_insertion(net, x, m) for name, m in maps.items()})
    >>> len(figure.axes[1].get_legend().get_texts())
    2
    """
    if not measured:
        raise ValueError("there is no curve to draw: give {label: samp.metrics.deletion_insertion(…)}.")
    protocol = next(iter(measured.values())).protocol
    if any(curves.protocol != protocol for curves in measured.values()):
        raise ValueError("the curves are of different protocols and do not belong on the same axes.")
    halves = [
        CurvePanel("deleted", {str(k): _line(c.deletion_curve, c.deletion, c, sample) for k, c in measured.items()}),
        CurvePanel("inserted", {str(k): _line(c.insertion_curve, c.insertion, c, sample) for k, c in measured.items()}),
    ]
    rule = protocol.auc if isinstance(protocol.auc, str) else "its own rule"
    whose = "mean over the samples" if sample is None else f"sample {sample}"
    scale = {"image": ", over the image's score", "change": ", from 0 to 1", None: ""}[protocol.normalise]
    score = protocol.score if isinstance(protocol.score, str) else "score"
    return _figure(halves, f"area by the protocol {protocol.label} ({rule}), {whose}", score + scale, title)


def _figure(halves: Sequence[CurvePanel], areas: str, score: str, title: str) -> Figure:
    """The halves side by side on one scale; `areas` says how the areas were measured."""
    styles, limits = _styles(dict.fromkeys(label for half in halves for label in half.curves)), _limits(halves)
    width = (WIDTH - 2 * MARGIN - TICKS - EDGE - (len(halves) - 1) * BETWEEN) / len(halves)

    def panel(place: int, half: CurvePanel) -> Panel:
        def draw(axes: Axes) -> None:
            half.draw(axes, styles, "" if place else score)
            axes.set_ylim(limits)
            axes.tick_params(labelleft=not place)

        return Panel(TICKS + place * (width + BETWEEN), 0.05, width, TALL, draw)

    below = LEGEND + 0.05 + ENTRY * max(half.rows for half in halves)
    return make_figure(
        [panel(i, h) for i, h in enumerate(halves)], [_words(halves, areas)], title, below=below, right=EDGE
    )


def area(scores: Array) -> float:
    """The area under evenly spaced scores over [0, 1], by the trapezoid rule; of a single score, that score.

    >>> area(np.array([0.0, 1.0, 1.0]))
    0.75
    """
    return float((scores[1:] + scores[:-1]).mean() / 2) if len(scores) > 1 else float(scores[0])


def _words(halves: Sequence[CurvePanel], areas: str) -> str:
    better = {"deleted": "low is good under deletion", "inserted": "high is good under insertion"}
    return f"AUC: {areas}; {', '.join(better[half.done] for half in halves)}."


def _line(curve: Tensor, areas: Tensor, curves: MeasuredCurves, sample: int | None) -> Line:
    """One sample's curve and area, or the mean over those that have one."""
    chosen = ~areas.isnan() if sample is None else torch.arange(len(areas), device=areas.device) == sample
    if not chosen.any():
        raise ValueError("no sample could be normalised, so there is no curve: measure with normalise=None.")
    scores, mean_area = curve[chosen].double().mean(0), areas[chosen].double().mean()
    return Line(as_float_array(curves.shares), check_finite(as_float_array(scores), "a curve"), float(mean_area))


def _read_curves(curves: CurveScores, what: str) -> dict[str, Line]:
    lines = {}
    for label, scores in curves.items():
        line = check_finite(as_float_array(scores), f"the {what} curve of {label!r}")
        if line.ndim != 1 or not line.size:
            raise ValueError(
                f"the {what} curve of {label!r} has shape {line.shape}: give one score per part, k of them."
            )
        lines[str(label)] = Line.even(line)
    return lines


def _styles(labels: Iterable[str]) -> dict[str, Style]:
    return {label: (SERIES[i % len(SERIES)], DASHES[i // len(SERIES) % len(DASHES)]) for i, label in enumerate(labels)}


def _limits(halves: Sequence[CurvePanel]) -> tuple[float, float]:
    """The limits of the y axis of both halves, with a margin."""
    scores = np.concatenate([line.scores for half in halves for line in half.curves.values()])
    low, high = float(scores.min()), float(scores.max())
    margin = 0.04 * (high - low) or 0.5
    return low - margin, high + margin
