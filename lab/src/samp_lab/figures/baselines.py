"""Fig. baselines: maps under other baselines, and whether they differ less than those of other methods do."""

from __future__ import annotations

from samp.methods import SAMP, resolve_method
from samp_lab.claims_on_setups import SetupClaim, count_pairs
from samp_lab.experiment import FigureContext
from samp_lab.figures.map_grid import draw_grid
from samp_lab.figures.setup_figure import SetupFigure
from samp_lab.measurements.paper_figures import MapSimilarity
from samp_lab.readings import method_as_read
from samp_lab.sections import Verdict
from samp_lab.setups import Setup
from samp_lab.statistics import compare_paired, correct_family
from samp_lab.store import Results
from samp_lab.tables.table6 import PAIRS

COLUMNS = {name: SAMP(eta=1 / 50, baseline=pair) for name, pair in PAIRS.items()}
OTHERS = (*map(resolve_method, ("ig", "blurig", "guidedig", "smoothgrad")), COLUMNS["B+G"])
SHOWN, MEASURED = 4, 20  # images
QUOTE = "“not significant compared to different methods”"
CLAIMS = {
    "correlation": "maps are more alike under other baselines than by other methods (mean correlation of pairs)",
    "contours": "contours of maps are more alike under other baselines than by other methods (mean correlation)",
}


def measurements_of(setup: Setup) -> tuple[MapSimilarity, MapSimilarity]:
    """Return the measurement of maps under all baselines, and that of different methods."""
    baselines, methods = (
        tuple(resolve_method(method_as_read(method, setup)) for method in some) for some in (COLUMNS.values(), OTHERS)
    )
    return MapSimilarity(setup, baselines, MEASURED), MapSimilarity(setup, methods, MEASURED)


def draw(context: FigureContext, setup: Setup, name: str) -> None:
    """Draw the first images under all baselines."""
    if context.has(measurements_of(setup)[0]):
        maps = context.arrays(measurements_of(setup)[0])["maps"][:SHOWN].numpy()
        draw_grid(context, setup, name, dict(zip(COLUMNS, maps.swapaxes(0, 1), strict=True)), MEASURED)


def verdicts(results: Results, setup: Setup) -> list[Verdict]:
    """Return whether baselines matter less than methods."""
    if not all(results.has(measurement) for measurement in measurements_of(setup)):
        return []
    columns = [column for column in CLAIMS if _has(results, setup, column)]
    pairs = [[results.numbers(one, column) for one in measurements_of(setup)] for column in columns]
    tested = correct_family([compare_paired(*pair) for pair in pairs])
    return [
        SetupClaim(setup, "baselines", count_pairs(*pair)).verdict(CLAIMS[column], QUOTE, str(found), found.state(1))
        for column, pair, found in zip(columns, pairs, tested, strict=True)
    ]


def _has(results: Results, setup: Setup, column: str) -> bool:
    """Return whether both measurements have this number; results of older runs lack contours."""
    return all(column in results.entry(measurement)["numbers"] for measurement in measurements_of(setup))


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
