"""The score along the walks of a result, as curves."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from samp.attribution import Attribution, Direction
from samp.plots.curves import WALK_LABELS
from samp.plots.page import EDGE, Panel, make_figure, rule_axes
from samp.plots.palette import WALKS
from samp.plots.reading import Array, as_float_array, check_finite, describe_result, which_walk_words


def score_curves(result: Attribution, *, sample: int = 0, title: str = "") -> Figure:
    """Draw the score at each point of the walks, one line per direction, against the share of its steps.

    >>> import samp, torch
    >>> result = samp.explain(torch.nn.Linear(4, 2).eval(), torch.rand(1, 4))
    >>> len(score_curves(result).axes[0].get_legend().get_texts())
    2
    """
    walks = {direction: scores_of(result, direction, sample) for direction in scored_directions(result)}

    def curves(axes: Axes) -> None:
        for direction, scores in walks.items():
            draw_walk(axes, direction, scores, [0], label=f"{WALK_LABELS[direction]}, {len(scores) - 1} steps")
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2, ncols=2, handlelength=1.5)

    starts = "Dots mark the starts: the image and the baseline." if len(walks) > 1 else "The dot marks the start."
    caption = [describe_result(result, sample), which_walk_words(result), starts]
    return make_figure([Panel(0.5, 0.2, 4.3, 2.4, curves)], caption, title, below=0.36, right=EDGE)


def scored_directions(result: Attribution) -> list[Direction]:
    """Return the directions that have a score curve; raise ValueError if there are none."""
    if not isinstance(result, Attribution):
        raise TypeError(f"curves are drawn of what samp.explain returns, not of {type(result).__name__}.")
    if not result.scores:
        raise ValueError(f"{result.method} walks no path and so has no score curve: use a path method, as consensus.")
    return list(result.scores)


def scores_of(result: Attribution, direction: Direction, sample: int) -> Array:
    """The scores of one walk, from its start to its last step."""
    scores = result.scores[direction]
    if not -len(scores) <= sample < len(scores):
        raise IndexError(f"there is no sample {sample}: the result has {len(scores)}, counted from 0.")
    return check_finite(as_float_array(scores[sample, : int(result.steps[direction][sample]) + 1]), "the score curve")


def share_of_walk(step: int, scores: Array) -> float:
    """The share of the walk's steps that are done at this one."""
    return step / max(len(scores) - 1, 1)


def draw_walk(axes: Axes, direction: Direction, scores: Array, marked: list[int], label: str = "") -> None:
    """Draw one walk's line, with dots at the marked steps, and style the axes for it."""
    colour = WALKS[direction]
    line = [share_of_walk(step, scores) for step in range(len(scores))]
    axes.plot(line, scores, color=colour, label=label, solid_capstyle="round")
    axes.plot([line[step] for step in marked], scores[marked], "o", color=colour, markersize=4)
    rule_axes(axes, "share of the walk's steps", "score")
    axes.set_xlim(-0.02, 1.02)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
    axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
