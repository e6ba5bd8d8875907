"""Fig. baselines: maps under other baselines, and whether they differ less than those of other methods do."""

from __future__ import annotations

from samp.methods import SAMP, resolve_method
from samp_lab.experiment import FigureContext
from samp_lab.figures.map_grid import draw_grid
from samp_lab.figures.setup_figure import SetupFigure
from samp_lab.measurements.paper_figures import MapSimilarity
from samp_lab.sections import Verdict
from samp_lab.setups import Setup
from samp_lab.statistics import compare_paired
from samp_lab.store import Results
from samp_lab.tables.table6 import PAIRS

COLUMNS = {name: SAMP(eta=1 / 50, baseline=pair) for name, pair in PAIRS.items()}
OTHERS = (*map(resolve_method, ("ig", "blurig", "guidedig", "smoothgrad")), COLUMNS["B+G"])
SHOWN, MEASURED = 4, 20  # images


def measurements_of(setup: Setup) -> tuple[MapSimilarity, MapSimilarity]:
    """Return the measurement of maps under all baselines, and that of different methods."""
    return MapSimilarity(setup, tuple(COLUMNS.values()), MEASURED), MapSimilarity(setup, OTHERS, MEASURED)


def draw(context: FigureContext, setup: Setup, name: str) -> None:
    """Draw the first images under all baselines."""
    if context.has(measurements_of(setup)[0]):
        maps = context.arrays(measurements_of(setup)[0])["maps"][:SHOWN].numpy()
        draw_grid(context, setup, name, dict(zip(COLUMNS, maps.swapaxes(0, 1), strict=True)), MEASURED)


def verdicts(results: Results, setup: Setup) -> list[Verdict]:
    """Return whether baselines matter less than methods."""
    if not all(results.has(measurement) for measurement in measurements_of(setup)):
        return []
    found = compare_paired(*(results.numbers(measurement, "correlation") for measurement in measurements_of(setup)))
    claim = "maps are more alike under other baselines than by other methods (mean correlation of pairs)"
    return [Verdict(claim, "“not significant compared to different methods”", str(found), found.state(1), setup.title)]


BASELINES = SetupFigure(
    name="baselines",
    title="Fig. baselines: maps under other baselines",
    setups=("photos/resnet50", "imagenet/resnet50"),
    caption=(
        "SAMP with IC at η = 1/50. Black (B), white (W), uniform noise (U), blurred image (G): the first for deletion, "
        "the second for insertion."
    ),
    measurements_of=measurements_of,
    draw_on=draw,
    verdicts_of=verdicts,
)
