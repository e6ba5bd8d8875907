"""Fig. confidence: maps of images that the net classifies with high and with low confidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from samp_lab.experiment import FigureContext
from samp_lab.figures.map_grid import predicted_classes
from samp_lab.figures.setup_figure import SetupFigure
from samp_lab.measurements.paper_figures import Confidence
from samp_lab.report.format import percent
from samp_lab.sections import Verdict
from samp_lab.setups import Setup
from samp_lab.statistics import compare_groups
from samp_lab.store import Results

if TYPE_CHECKING:
    from samp_lab.figures.pages import Row

SHOWN = 5  # images of each group
GROUPS = 4  # a quarter of the images is a group
CLAIMS = (
    ("gini", "credit is more concentrated (Gini) at high confidence", 1),
    ("scatter", "positive credit is less scattered over the image at high confidence", -1),
)


def draw(context: FigureContext, setup: Setup, name: str) -> None:
    """Draw the images of highest confidence above, those of lowest below."""
    from samp_lab.figures.pages import SCALE, Tile, tile_page

    maps, sure = (
        context.arrays(Confidence(setup))["map"].numpy(),
        context.results.numbers(Confidence(setup), "confidence"),
    )
    names, photos = predicted_classes(context, setup, None), context.pictures(setup, None)
    rows: list[Row] = []
    if len(sure) < 2:  # no two groups
        return
    for label, group in zip(("high confidence", "low confidence"), extremes(sure, SHOWN), strict=True):
        beside = [label, *[""] * len(group)]
        rows += [[Tile(photos[i]) for i in group]] if photos else []
        rows.append([Tile(maps[i], f"{names[i]}, {percent(sure[i])}", beside[n]) for n, i in enumerate(group)])
    context.save(tile_page(rows, [SCALE]), name)


def extremes(values: Sequence[float], count: int) -> tuple[list[int], list[int]]:
    """Return the indices of the largest and of the smallest values, the most extreme first, none in both.

    >>> extremes([0.5, 0.9, 0.1, 0.7], 2)
    ([1, 3], [2, 0])
    """
    order = sorted(range(len(values)), key=lambda place: (-values[place], place))
    count = min(count, len(values) // 2)
    return order[:count], order[::-1][:count]


def verdicts(results: Results, setup: Setup) -> list[Verdict]:
    """Return verdicts on the quarter of the images of highest confidence against that of lowest."""
    sure = results.numbers(Confidence(setup), "confidence")
    high, low = extremes(sure, len(sure) // GROUPS)
    found = []
    for column, claim, sign in CLAIMS:
        values = results.numbers(Confidence(setup), column)
        difference = compare_groups([values[i] for i in high], [values[i] for i in low])
        measured = f"{difference}; the {len(high)} most against the {len(low)} least certain"
        found.append(Verdict(claim, "“concentrated … scattered”", measured, difference.state(sign), setup.title))
    return found


CONFIDENCE = SetupFigure(
    name="confidence",
    title="Fig. confidence: maps at high and at low confidence",
    setups=("imagenet/resnet50", "imagenet/mobilenet_v2", "imagenet/efficientnet_lite0"),
    caption="SAMP++ at η = 0.02, with the class explained and its soft-max.",
    measurements_of=lambda setup: [Confidence(setup)],
    draw_on=draw,
    verdicts_of=verdicts,
)
