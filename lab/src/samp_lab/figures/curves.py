"""Fig. intro: mean deletion and insertion curves of the methods, measured for Table 1, and how straight they are.

The paper takes nearly straight curves of IG, XRAI and Grad-CAM as a sign that its Prop. 1 holds.
"""

from __future__ import annotations

import math

from samp_lab.claims_on_setups import SetupClaim
from samp_lab.effects import BETTER
from samp_lab.experiment import FigureContext
from samp_lab.figures.setup_figure import SetupFigure
from samp_lab.measurements.method_maps import MethodCurves
from samp_lab.readings import method_as_read
from samp_lab.sections import Block, Grid, Verdict
from samp_lab.setups import Setup
from samp_lab.statistics import Estimate, bootstrap_estimate, claim_state, median_of
from samp_lab.store import Results
from samp_lab.tables.table1 import ROWS, TABLE1

SHOWN = ("SAMP++", "SAMP", "IG", "Guided IG", "Blur IG", "Grad-CAM", "XRAI")
CALLED_STRAIGHT = ("IG", "XRAI", "Grad-CAM")
STRAIGHT = 0.9  # R² of the line between the ends above which we call a curve nearly straight; the paper gives no number
ABOUT = (
    "How straight a curve is: R² of the straight line between its ends, and its largest distance from that line as a "
    "share of the change from end to end; both of each image's curve, and the median over images. The paper gives no "
    f"number for “nearly straight”; we say R² above {STRAIGHT}."
)


def measurements_by_row(setup: Setup) -> dict[str, MethodCurves]:
    """Return the measurements of Table 1, so that nothing is measured twice."""
    return {row: MethodCurves(setup, method_as_read(ROWS[row], setup)) for row in SHOWN}


def draw(context: FigureContext, setup: Setup, name: str) -> None:
    """Draw the curves of all methods that have normalised scores."""
    from samp_lab.figures.pages import curve_page

    curves = {
        row: context.arrays(measurement)
        for row, measurement in measurements_by_row(setup).items()
        if context.has(measurement)
    }
    known = {row: given for row, given in curves.items() if not given["deletion"].isnan().any(1).all()}
    if known:
        context.save(curve_page(known, setup.protocol), name)


def table(results: Results, setup: Setup) -> list[Block]:
    """Return a table of how straight the curves of each method are, where that was measured."""
    there = {
        row: measurement for row, measurement in measurements_by_row(setup).items() if _has_lines(results, measurement)
    }
    if not there:
        return []
    columns = [f"line {what} {curve}" for curve in BETTER for what in ("fit", "gap")]
    rows = tuple(
        (row, *(_median(results, measurement, column)[0].format(".2f") for column in columns))
        for row, measurement in there.items()
    )
    heads = ("", *("R² of the line", "largest distance") * len(BETTER))
    groups = (("", 1), *((f"{curve} curve", 2) for curve in BETTER))
    return [Grid(heads, rows, f"{setup.title}: how straight the curves are", groups)]


def verdicts(results: Results, setup: Setup) -> list[Verdict]:
    """Return whether the curves that the paper calls nearly straight are."""
    found = []
    for row in CALLED_STRAIGHT:
        measurement = measurements_by_row(setup)[row]
        for curve in BETTER if _has_lines(results, measurement) else ():
            estimate, images = _median(results, measurement, f"line fit {curve}")
            claim = f"{row}: the {curve} curve is nearly straight"
            paper, ours = f"“nearly straight” (we say: R² above {STRAIGHT})", f"median R² {estimate.format('.2f')}"
            state = claim_state(estimate, least=STRAIGHT)
            found.append(SetupClaim(setup, "curve-shapes", images).verdict(claim, paper, ours, state))
    return found


def _has_lines(results: Results, measurement: MethodCurves) -> bool:
    """Return whether straightness was measured; results of older runs lack it."""
    return results.has(measurement) and "line fit deletion" in results.entry(measurement)["numbers"]


def _median(results: Results, measurement: MethodCurves, column: str) -> tuple[Estimate, int]:
    """Return the median over images whose curve is known, and how many those are."""
    known = [value for value in results.numbers(measurement, column) if not math.isnan(value)]
    return bootstrap_estimate(median_of(known), len(known)), len(known)


CURVES = SetupFigure(
    pictures=False,
    name="curves",
    title="Fig. intro: deletion and insertion curves",
    setups=TABLE1.setups,
    caption="mean score as pixels are deleted or inserted; bands are 95 % intervals of the mean.",
    measurements_of=lambda setup: list(measurements_by_row(setup).values()),
    draw_on=draw,
    verdicts_of=verdicts,
    tables_of=table,
    about=ABOUT,
)
