"""Fig. multi-label: 2×2 mosaics of MNIST digits, a map for each class that is there (docs/paper.md#mosaics)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samp.metrics.statistics import summarise
from samp_lab.claims_on_setups import SetupClaim, count_pairs
from samp_lab.experiment import FigureContext
from samp_lab.figures.setup_figure import SetupFigure
from samp_lab.measurements.class_maps import MosaicShares
from samp_lab.report.format import percent
from samp_lab.sections import Verdict
from samp_lab.setups import Setup
from samp_lab.statistics import compare_paired
from samp_lab.store import Results

if TYPE_CHECKING:
    from samp_lab.figures.pages import Row, Tile

SHOWN = 4  # images


def draw(context: FigureContext, setup: Setup, name: str) -> None:
    """Draw each mosaic with a map for each of its classes."""
    from samp.plots.shades import Grey
    from samp_lab.figures.pages import Tile, tile_page

    arrays = {name: array[:SHOWN].numpy() for name, array in context.arrays(MosaicShares(setup)).items()}
    photos, label = context.pictures(setup, None), context.workspace.net(setup.net).label
    rows: list[Row] = []
    for image, (maps, present) in enumerate(zip(arrays["maps"], arrays["classes"].tolist(), strict=True)):
        full = max(Grey().limits(credit)[1] for credit in maps)
        firsts = [place for place, one in enumerate(present) if one not in present[:place]]
        tiles: list[Tile | None] = [Tile(photos[image], "image")] if photos else []
        tiles += [Tile(maps[place], f"credit for {label(present[place])}", full=full) for place in firsts]
        rows.append([*tiles, *[None] * (4 - len(firsts))])
    words = f"The maps of an image share a scale: {Grey().rule()}, of the brightest."
    context.save(tile_page(rows, [words], width=6.5), name)


def verdicts(results: Results, setup: Setup) -> list[Verdict]:
    """Return whether credit for a digit lies on it."""
    inside, ink = (results.numbers(MosaicShares(setup), column) for column in ("inside", "ink"))
    found, mean, chance = compare_paired(inside, ink), summarise(inside), summarise(ink)
    ours = (
        f"{percent(mean.mean)} [{percent(mean.low)}, {percent(mean.high)}] of the positive credit lies in the digit's "
        f"own quarters, which hold {percent(chance.mean)} of the ink; {found}"
    )
    claim = "credit for a class lies on its own digits, more than brightness alone would put there"
    judged = SetupClaim(setup, "multi-label", count_pairs(inside, ink))
    return [judged.verdict(claim, "“only attributes to the 0 digit”", ours, found.state(1))]


MOSAICS = SetupFigure(
    name="mosaics",
    title="Fig. multi-label: mosaics of digits",
    setups=("mosaic",),
    caption="SAMP++ at η = 0.02, one map for each class that is there.",
    measurements_of=lambda setup: [MosaicShares(setup)],
    draw_on=draw,
    verdicts_of=verdicts,
)
