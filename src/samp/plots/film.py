"""The path itself as a film strip: points on it, the credit so far and the score (the paper's Fig. verification)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil, log10

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from samp.attribution import Attribution, Direction, Tape
from samp.lookup import look_up
from samp.plots.curves import WALK_LABELS
from samp.plots.page import EDGE, GAP, MARGIN, SIZE, WIDTH, Panel, fit_height, frame_axes, make_figure
from samp.plots.reading import (
    Array,
    as_float_array,
    check_finite,
    credit_of,
    describe_result,
    format_number,
    photo_of,
    stretch_to_unit,
    which_walk_words,
)
from samp.plots.shades import GREY, Grey
from samp.plots.walks import draw_walk, scored_directions, scores_of, share_of_walk

Scale = float | Sequence[float] | None
HEAD, LABEL, TICKS, CURVE = 0.34, 0.2, 0.5, 1.75  # inches
NARROWEST = 0.6  # of a frame; with more of them the figure grows wider than a page
LOWEST = 0.75  # of a row, for its label


@dataclass(frozen=True, eq=False)
class Frame:
    """One moment of a walk."""

    step: int
    pixels: Array  # h w 3
    credit: Array  # h w, so far


def film_strip(
    result: Attribution,
    *,
    direction: Direction | None = None,
    frames: int = 5,
    sample: int = 0,
    mean: Scale = None,
    std: Scale = None,
    title: str = "",
) -> Figure:
    """The path of a result made with `keep_points=True`: points on it, credit so far and the score (Fig. verification).

    `direction` defaults to "to_image" where that was walked. `mean` and `std` are the model's normalisation, as in
    `samp.models.Classifier`; without them the points are stretched from their own range, and the caption says so.

    A tape holds no credit. The credit so far is the map times the share of its change that each pixel has made: exact
    for pixels that have arrived or not yet moved, in proportion for those between. Where both directions were walked,
    the map is that of both.

    >>> import samp, torch
    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 2)).eval()
    >>> result = samp.explain(net, torch.rand(1, 1, 8, 8), keep_points=True)
    >>> len(film_strip(result, frames=4).axes)  # two rows of four, and the curve
    9
    """
    chosen = _choose_direction(result, direction)
    scores = scores_of(result, chosen, sample)
    points, steps = _sample_points(result.tapes[chosen][sample], frames)
    credit = credit_of(result, sample)
    pixels, words = _pixels(points, mean, std)
    strip = [Frame(*moment) for moment in zip(steps, pixels, credit * _progress_share(points), strict=True)]
    panels = _panels(strip, scores, credit)
    last = panels[-1]
    tall = max(last.top + last.height - HEAD, 1.3)
    curve = partial(_draw_curve, direction=chosen, scores=scores, strip=strip)
    panels.append(Panel(last.left + last.width + TICKS, HEAD, CURVE, tall, curve))
    made = [describe_result(result, sample), _walk_words(result, chosen), which_walk_words(result)]
    caption = [*made, Grey().words(credit), words]
    return make_figure(panels, caption, title, below=0.36, right=EDGE)


def _panels(strip: list[Frame], scores: Array, credit: Array) -> list[Panel]:
    """Two rows: points above, credit so far below."""
    strip_width = WIDTH - 2 * MARGIN - LABEL - TICKS - CURVE - EDGE
    width = max((strip_width + GAP) / len(strip) - GAP, NARROWEST)
    height = max(fit_height(width, credit.shape), LOWEST)
    panels = []
    for number, moment in enumerate(strip):
        left, label = LABEL + number * (width + GAP), not number
        panels += [
            Panel(left, HEAD, width, height, partial(_draw_point, moment=moment, scores=scores, label=label)),
            Panel(
                left,
                HEAD + height + GAP,
                width,
                height,
                partial(_draw_credit, moment=moment, whole=credit, label=label),
            ),
        ]
    return panels


def _draw_point(axes: Axes, moment: Frame, scores: Array, label: bool) -> None:
    axes.imshow(moment.pixels, vmin=0, vmax=1)
    frame_axes(axes, f"{share_of_walk(moment.step, scores):.0%}\nscore {_format_score(scores[moment.step], scores)}")
    axes.set_ylabel("point" * label, size=SIZE, labelpad=3)


def _draw_credit(axes: Axes, moment: Frame, whole: Array, label: bool) -> None:
    low, high = Grey().limits(whole)  # one scale for all frames
    axes.imshow(moment.credit, cmap=GREY, vmin=low, vmax=high)
    frame_axes(axes)
    axes.set_ylabel("credit so far" * label, size=SIZE, labelpad=3)


def _draw_curve(axes: Axes, direction: Direction, scores: Array, strip: list[Frame]) -> None:
    draw_walk(axes, direction, scores, [moment.step for moment in strip])


def _format_score(score: float, scores: Array) -> str:
    """The score with three digits of the range of the walk's scores, which tells them apart."""
    span = float(np.ptp(scores))
    return format_number(score) if not span else f"{score:z.{max(3 - ceil(log10(span)), 0)}f}".replace("-", "−")


def _walk_words(result: Attribution, direction: Direction) -> str:
    both = " (of both walks together)" if len(result.scores) > 1 else ""
    credit = f"the map{both} times the share of its way that each pixel has gone"
    return f"The walk {WALK_LABELS[direction]}. Credit so far: {credit}."


def _choose_direction(result: Attribution, direction: Direction | None) -> Direction:
    """Return the given direction, else "to_image" where it was walked; raise ValueError if no points were kept."""
    walked = scored_directions(result)
    if not result.tapes:
        raise ValueError("the result has no tape of its path: explain again with keep_points=True.")
    if direction:
        return look_up(direction, {one: one for one in walked}, "direction of this result")
    return "to_image" if "to_image" in walked else walked[0]


def _sample_points(tape: Tape, frames: int) -> tuple[Array, list[int]]:
    """The points (k c h w) nearest to evenly spaced steps, the first and last among them, and their steps."""
    if not isinstance(tape.points, Tensor) or tape.points.ndim != 4:
        raise ValueError("a film strip shows the path of one b c h w image input, and this result is of other inputs.")
    if frames < 2:
        raise ValueError(f"a film strip has at least 2 frames, its start and its end, not {frames}.")
    wanted = np.linspace(0, int(tape.steps[-1]), frames)
    chosen = sorted({int(abs(tape.steps.numpy() - step).argmin()) for step in wanted})
    return check_finite(as_float_array(tape.points[chosen]), "the tape"), tape.steps[chosen].tolist()


def _progress_share(points: Array) -> Array:
    """k h w: the share of its change from first to last point that each pixel has made; 0 for pixels that stay."""
    moved, whole = (abs(x - points[0]).sum(1) for x in (points, points[-1:]))
    share: Array = np.divide(moved, whole, out=np.zeros_like(moved), where=whole > 0).clip(0, 1)
    return share


def _pixels(points: Array, mean: Scale, std: Scale) -> tuple[Array, str]:
    """k h w 3 in [0, 1], and how the points were scaled, in words."""
    if mean is None and std is None:
        unit, words = stretch_to_unit(points)
    else:
        shift, scale = (np.reshape(default if v is None else v, (-1, 1, 1)) for v, default in ((mean, 0.0), (std, 1.0)))
        unit, words = (points * scale + shift).clip(0, 1), ""
    pixels = np.stack([photo_of(np.moveaxis(point, 0, -1)).pixels for point in unit])
    return pixels, words and f"Points {words}."
