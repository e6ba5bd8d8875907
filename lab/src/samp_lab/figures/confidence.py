"""Fig. confidence: maps of images the net is sure of, and of images it is not."""

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


def draw(sheet: FigureContext, bed: Setup, name: str) -> None:
    """The most certain images above, the least certain below."""
    from samp_lab.figures.pages import SCALE, Tile, tile_page

    maps, sure = sheet.arrays(Confidence(bed))["map"].numpy(), sheet.results.numbers(Confidence(bed), "confidence")
    names, photos = predicted_classes(sheet, bed, None), sheet.pictures(bed, None)
    rows: list[Row] = []
    if len(sure) < 2:  # no two groups
        return
    for label, group in zip(("high confidence", "low confidence"), extremes(sure, SHOWN), strict=True):
        beside = [label, *[""] * len(group)]
        rows += [[Tile(photos[i]) for i in group]] if photos else []
        rows.append([Tile(maps[i], f"{names[i]}, {percent(sure[i])}", beside[n]) for n, i in enumerate(group)])
    sheet.save(tile_page(rows, [SCALE]), name)


def extremes(values: Sequence[float], count: int) -> tuple[list[int], list[int]]:
    """Places of the largest and of the smallest values, the most extreme first, none in both.

    >>> extremes([0.5, 0.9, 0.1, 0.7], 2)
    ([1, 3], [2, 0])
    """
    order = sorted(range(len(values)), key=lambda place: (-values[place], place))
    count = min(count, len(values) // 2)
    return order[:count], order[::-1][:count]


def verdicts(results: Results, bed: Setup) -> list[Verdict]:
    """The most certain quarter of the images against the least certain one."""
    sure = results.numbers(Confidence(bed), "confidence")
    high, low = extremes(sure, len(sure) // GROUPS)
    found = []
    for column, claim, sign in CLAIMS:
        values = results.numbers(Confidence(bed), column)
        difference = compare_groups([values[i] for i in high], [values[i] for i in low])
        said = f"{difference}; the {len(high)} most against the {len(low)} least certain"
        found.append(Verdict(claim, "“concentrated … scattered”", said, difference.state(sign), bed.title))
    return found


CONFIDENCE = SetupFigure(
    name="confidence",
    title="Fig. confidence: maps at high and at low confidence",
    setups=("imagenet/mobilenet_v2", "imagenet/efficientnet_lite0"),
    caption="SAMP++ at η = 0.02, with the class explained and its soft-max.",
    measurements_of=lambda bed: [Confidence(bed)],
    draw_on=draw,
    verdicts_of=verdicts,
)
