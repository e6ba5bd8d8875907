"""Fig. intro: mean deletion and insertion curves of each method, with the measurements of Table 1."""

from __future__ import annotations

from samp_lab.experiment import FigureContext
from samp_lab.figures.setup_figure import SetupFigure
from samp_lab.measurements.method_maps import MethodCurves
from samp_lab.setups import Setup
from samp_lab.tables.table1 import ROWS, TABLE1

SHOWN = ("SAMP++", "SAMP", "IG", "Guided IG", "Blur IG", "Grad-CAM")


def measurements_by_row(setup: Setup) -> dict[str, MethodCurves]:
    """Return the measurements of Table 1, so that nothing is measured twice."""
    return {row: MethodCurves(setup, ROWS[row]) for row in SHOWN}


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


CURVES = SetupFigure(
    pictures=False,
    name="curves",
    title="Fig. intro: deletion and insertion curves",
    setups=TABLE1.setups,
    caption="mean score as pixels are deleted or inserted; bands are 95 % intervals of the mean.",
    measurements_of=lambda setup: list(measurements_by_row(setup).values()),
    draw_on=draw,
)
