"""Fig. CUB: five birds of different species, each explained for the species of all five."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samp.metrics.statistics import summarise
from samp.plots.palette import NEGATIVE, POSITIVE
from samp_lab.claims_on_setups import SetupClaim, count_pairs
from samp_lab.experiment import FigureContext
from samp_lab.figures.setup_figure import SetupFigure
from samp_lab.measurements.class_maps import BLOCK, ClassBlocks
from samp_lab.sections import Verdict
from samp_lab.setups import Setup
from samp_lab.statistics import compare_paired
from samp_lab.store import Results

if TYPE_CHECKING:
    from samp_lab.figures.pages import Row


def draw(context: FigureContext, setup: Setup, name: str) -> None:
    """Draw the first block of five images: own classes framed in green, others in red."""
    from samp.plots.shades import Grey
    from samp_lab.figures.pages import Tile, tile_page

    arrays = {name: array[:BLOCK].numpy() for name, array in context.arrays(ClassBlocks(setup)).items()}
    photos, label = context.pictures(setup, ClassBlocks(setup).most), context.workspace.net(setup.net).label
    columns = [one for one in arrays["classes"][0].tolist() if one >= 0]
    heads = [f"for {_species(label(one))}" for one in columns]
    rows: list[Row] = []
    for image, (maps, own) in enumerate(zip(arrays["maps"], arrays["labels"].tolist(), strict=True)):
        full = max(Grey().limits(credit)[1] for credit in maps[: len(columns)])
        row = [Tile(photos[image], "image" * (not image))] if photos else []
        for credit, one, head in zip(maps, columns, heads, strict=False):
            row.append(Tile(credit, head * (not image), full=full, edge=POSITIVE if one == own else NEGATIVE))
        rows.append(row)
    words = f"The maps of an image (a row) share a scale: {Grey().rule()}, of the brightest. Green: its own class."
    context.save(tile_page(rows, [words], width=7.0), name)


def verdicts(results: Results, setup: Setup) -> list[Verdict]:
    """Return whether an image's own class gets more credit than others."""
    found = []
    for ending, what in (("", "positive credit"), ("_net", "credit for less credit against")):
        own, other = (results.numbers(ClassBlocks(setup), f"{column}{ending}") for column in ("own", "other"))
        difference, means = compare_paired(own, other), [summarise(values).mean for values in (own, other)]
        ours = f"{means[0]:.4g} against {means[1]:.4g} for other classes; difference {difference}"
        claim = f"the own class is more prominent than others, by {what}"
        judged = SetupClaim(setup, "fine-grained", count_pairs(own, other))
        found.append(judged.verdict(claim, "“significantly more prominent”", ours, difference.state(1)))
    return found


def _species(name: str) -> str:
    """Return the species without its number: 001.Black_footed_Albatross."""
    return name.rpartition(".")[2].replace("_", " ")


FINE_GRAINED = SetupFigure(
    name="fine-grained",
    title="Fig. CUB: image × class of five birds",
    setups=("cub",),
    caption="SAMP++ at η = 0.02; rows are images, columns the classes explained.",
    measurements_of=lambda setup: [ClassBlocks(setup)],
    draw_on=draw,
    verdicts_of=verdicts,
)
