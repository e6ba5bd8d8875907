"""Fig. intro: mean deletion and insertion curves of each method, with the cells of Table 1."""

from __future__ import annotations

from samp_lab.experiment import FigureContext
from samp_lab.figures.setup_figure import SetupFigure
from samp_lab.measurements.base import MethodCurves
from samp_lab.setups import Setup
from samp_lab.tables.table1 import ROWS, TABLE1

SHOWN = ("SAMP++", "SAMP", "IG", "Guided IG", "Blur IG", "Grad-CAM")


def cells(bed: Setup) -> dict[str, MethodCurves]:
    """Those of Table 1, so that nothing is measured twice."""
    return {row: MethodCurves(bed, ROWS[row]) for row in SHOWN}


def draw(sheet: FigureContext, bed: Setup, name: str) -> None:
    """The curves of all methods whose images could be normalised."""
    from samp_lab.figures.pages import curve_page

    curves = {row: sheet.arrays(cell) for row, cell in cells(bed).items() if sheet.has(cell)}
    known = {row: given for row, given in curves.items() if not given["deletion"].isnan().any(1).all()}
    if known:
        sheet.save(curve_page(known, bed.protocol), name)


CURVES = SetupFigure(
    pictures=False,
    name="curves",
    title="Fig. intro: deletion and insertion curves",
    setups=TABLE1.setups,
    caption="mean score as pixels are deleted or inserted; bands are 95 % intervals of the mean.",
    measurements_of=lambda bed: list(cells(bed).values()),
    draw_on=draw,
)
