"""Fig. verification: points on SAMP's path from black to the image, the credit so far, and the score along it."""

from __future__ import annotations

from typing import Any

import numpy as np

from samp.metrics.statistics import Summary, summarise
from samp_lab.experiment import FigureContext
from samp_lab.figures.setup_figure import SetupFigure
from samp_lab.measurements.paper_figures import WalkScores
from samp_lab.report.format import percent
from samp_lab.sections import State, Verdict
from samp_lab.setups import Setup
from samp_lab.statistics import claim_state
from samp_lab.store import Results

MOMENTS = (0.0, 0.25, 0.5, 0.75, 1.0)
STRAIGHT = 0.25  # of the rise: what an even walk reaches in a quarter of its steps
SMALL = 0.25  # of the rise: below this we call a drop small; the paper gives no number
SHOWN = 3  # images


def draw(context: FigureContext, setup: Setup, name: str) -> None:
    """Draw the first images, each with its path."""
    from samp_lab.figures.walk_page import WalkPictures, walk_page

    arrays = {name: array.numpy() for name, array in context.arrays(WalkScores(setup)).items()}
    credit, arrival, scores = (arrays[name] for name in ("map", "arrival", "scores"))
    photos, black = context.pictures(setup, None), _black(context, setup)
    walks = [
        WalkPictures(credit[i], arrival[i], scores[i], photos[i] if photos else None, black)
        for i in range(min(SHOWN, len(credit)))
    ]
    context.save(walk_page(walks, MOMENTS), name)


def verdicts(results: Results, setup: Setup) -> list[Verdict]:
    """Return verdicts on what the paper reads off the score curve."""
    early, drop = (summarise(results.numbers(WalkScores(setup), column)) for column in ("early", "drop"))
    rise, fall = _format_share(early, "by 25 % of the steps"), _format_share(drop, "lost by the end")
    return [
        Verdict(
            "rapid rise at the start",
            "more than 25 % of the rise",
            rise,
            claim_state(early, least=STRAIGHT),
            setup.title,
        ),
        Verdict("small drop at the end", "small (we say: below 25 %)", fall, small_drop_state(drop), setup.title),
    ]


def small_drop_state(drop: Summary) -> State:
    """Return the state of the claim that there is a drop and that it is below a quarter of the rise.

    >>> [small_drop_state(summarise(drops)) for drops in ([0.1, 0.12, 0.11], [0.5, 0.6, 0.7], [0.1, 0.4])]
    ['holds', 'fails', 'open']
    """
    return claim_state(drop, least=0.0, most=SMALL)


def _format_share(summary: Summary, when: str) -> str:
    mean, low, high = map(percent, (summary.mean, summary.low, summary.high))
    return f"{mean} [{low}, {high}] of the rise {when}, {summary.count} images"


def _black(context: FigureContext, setup: Setup) -> np.ndarray[Any, Any]:
    """Return the colour of an input of zeros, in bytes."""
    return np.round(255 * np.atleast_1d(np.asarray(context.workspace.net(setup.net).mean, float))).astype(np.uint8)


VERIFICATION = SetupFigure(
    name="verification",
    title="Fig. verification: the path of SAMP",
    setups=("photos/resnet50", "mnist", "imagenet/resnet50"),
    caption=(
        "SAMP from black (zero as the net is fed) to the image. Points on the path, the credit of the pixels that have "
        "arrived, and the score against the share of the steps."
    ),
    measurements_of=lambda setup: [WalkScores(setup)],
    draw_on=draw,
    verdicts_of=verdicts,
)
