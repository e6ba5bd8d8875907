"""Fig. verification: points on SAMP's path from black to the image, the credit so far, and the score along it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from samp.metrics.statistics import Summary, summarise
from samp_lab.claims_on_setups import SetupClaim
from samp_lab.experiment import FigureContext
from samp_lab.figures.setup_figure import SetupFigure
from samp_lab.measurements.paper_figures import FROM_BLACK, WalkScores
from samp_lab.readings import method_as_read
from samp_lab.report.format import percent
from samp_lab.sections import State, Verdict
from samp_lab.setups import Setup
from samp_lab.statistics import bootstrap_estimate, claim_state, median_of
from samp_lab.store import Results

MOMENTS = (0.0, 0.25, 0.5, 0.75, 1.0)
STRAIGHT = 0.25  # of the rise: what an even walk reaches in a quarter of its steps
SMALL = 0.25  # of the rise: below this we call a drop small; the paper gives no number
NOTHING = 0.1  # of a mean step: below this we call the last one about 0; the paper gives no number
SHOWN = 3  # images


def walk_of(setup: Setup) -> WalkScores:
    """Return the measurement of SAMP's walk from black, as the setup's reading has it."""
    return WalkScores(setup, method_as_read(FROM_BLACK, setup))


def draw(context: FigureContext, setup: Setup, name: str) -> None:
    """Draw the first images, each with its path."""
    from samp_lab.figures.walk_page import WalkPictures, walk_page

    arrays = {name: array.numpy() for name, array in context.arrays(walk_of(setup)).items()}
    credit, arrival, scores = (arrays[name] for name in ("map", "arrival", "scores"))
    photos, black = context.pictures(setup, None), _black(context, setup)
    walks = [
        WalkPictures(credit[i], arrival[i], scores[i], photos[i] if photos else None, black)
        for i in range(min(SHOWN, len(credit)))
    ]
    context.save(walk_page(walks, MOMENTS), name)


def verdicts(results: Results, setup: Setup) -> list[Verdict]:
    """Return verdicts on what the paper reads off the score curve."""
    early, drop = (summarise(results.numbers(walk_of(setup), column)) for column in ("early", "drop"))
    rise, fall = _format_share(early, "by 25 % of the steps"), _format_share(drop, "lost by the end")
    return [
        SetupClaim(setup, "early-rise", early.count).verdict(
            "rapid rise at the start", "more than 25 % of the rise", rise, claim_state(early, least=STRAIGHT)
        ),
        SetupClaim(setup, "small-drop", drop.count).verdict(
            "small drop at the end", "small (we say: below 25 %)", fall, small_drop_state(drop)
        ),
        *_last_credit(results, setup),
    ]


def _last_credit(results: Results, setup: Setup) -> list[Verdict]:
    """Return the verdict on the last step's change of the score; none for results that lack it."""
    if "last" not in results.entry(walk_of(setup))["numbers"]:
        return []
    known = [value for value in results.numbers(walk_of(setup), "last") if not math.isnan(value)]
    found = bootstrap_estimate(median_of(known), len(known))
    ours = f"|a_d| is {found.format('.2f')} of the mean |a| of a step, the median of {len(known)} images"
    claim, paper = "the last allocated credit is about 0", "“approximately zero” (we say: below 0.1 of a mean step)"
    return [SetupClaim(setup, "last-credit", len(known)).verdict(claim, paper, ours, claim_state(found, most=NOTHING))]


def small_drop_state(drop: Summary) -> State:
    """Return the state of the claim that there is a drop and that it is below a quarter of the rise.

    >>> [small_drop_state(summarise(drops)) for drops in ([0.1, 0.12] * 10, [0.5, 0.6] * 10, [0.1, 0.4] * 10)]
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
    setups=("photos/mobilenet_v2", "mnist", "mnist@authors", "imagenet/resnet50", "imagenet/mobilenet_v2"),
    caption=(
        "SAMP from black (zero as the net is fed) to the image. Points on the path, the credit of the pixels that have "
        "arrived, and the score against the share of the steps."
    ),
    measurements_of=lambda setup: [walk_of(setup)],
    draw_on=draw,
    verdicts_of=verdicts,
)
