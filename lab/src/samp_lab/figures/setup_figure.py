"""Figures with a picture for each test bed: what is measured, how it is drawn, and what it says, as three functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from samp_lab.experiment import Sheet
from samp_lab.measurements.base import Cell
from samp_lab.sections import Block, Picture, Section, Verdict, Verdicts, Words
from samp_lab.setups import Bed
from samp_lab.store import Results

# whose pictures may be published
FREE = ("photos", "mnist", "digits", "counting", "counting-mixed", "mosaic", "digit-mosaic")


def nothing(results: Results, bed: Bed) -> list[Block]:
    """No tables."""
    return []


def unclaimed(results: Results, bed: Bed) -> list[Verdict]:
    """No claims."""
    return []


@dataclass(frozen=True)
class BedFigure:
    """A figure for each bed: `cells_of` says what it needs, `draw_on` draws it, `verdicts_of` judges what it claims.

    The three are called with a bed; drawing and judging only where at least one of its cells was measured. Figures of
    data that must not be published show maps alone, and their caption says so.

    >>> from samp_lab.setups import bed
    >>> from samp_lab.figures.mosaics import MOSAICS
    >>> [cell.kind for cell in MOSAICS.cells([bed("mosaic")])]
    ['quartered']
    """

    name: str
    title: str
    beds: tuple[str, ...]
    caption: str
    cells_of: Callable[[Bed], Sequence[Cell]]
    draw_on: Callable[[Sheet, Bed, str], None]
    """Its last argument is the name to save under."""
    verdicts_of: Callable[[Results, Bed], Sequence[Verdict]] = unclaimed
    tables_of: Callable[[Results, Bed], Sequence[Block]] = nothing
    about: str = ""
    pictures: bool = True
    """Whether it shows pictures of the data, or maps of them."""

    def cells(self, beds: Sequence[Bed]) -> list[Cell]:
        """Those of all beds."""
        return [cell for bed in beds for cell in self.cells_of(bed)]

    def draw(self, sheet: Sheet) -> None:
        """A figure for each bed that has anything to show."""
        for bed in sheet.beds:
            if any(sheet.has(cell) for cell in self.cells_of(bed)):
                self.draw_on(sheet, bed, stem(self.name, bed))

    def section(self, results: Results, beds: Sequence[Bed], figures: Path) -> Section:
        """For each bed its figure and tables, then all verdicts."""
        blocks: list[Block] = [Words(self.about)] if self.about else []
        verdicts: list[Verdict] = []
        for bed in beds:
            without = alone(bed) if self.pictures else ""
            blocks += picture(figures, stem(self.name, bed), f"{bed.title}: {self.caption}{without}")
            if any(results.has(cell) for cell in self.cells_of(bed)):
                blocks += self.tables_of(results, bed)
                verdicts += self.verdicts_of(results, bed)
        return Section(self.name, self.title, (*blocks, *([Verdicts(tuple(verdicts))] if verdicts else [])))


def stem(name: str, bed: Bed) -> str:
    """The name of a bed's figure, without its ending.

    >>> from samp_lab.setups import bed
    >>> stem("gallery", bed("photos/mobilenet_v2"))
    'gallery-photos-mobilenet_v2'
    """
    return f"{name}-{bed.name.replace('/', '-').replace(':', '-')}"


def picture(figures: Path, name: str, caption: str) -> list[Block]:
    """The picture of this name, if it was drawn.

    >>> picture(Path("nowhere"), "gallery", "Maps.")
    []
    """
    return [Picture(f"{name}.png", caption)] if (figures / f"{name}.png").is_file() else []


def alone(bed: Bed) -> str:
    """What a caption says of pictures that are not shown.

    >>> from samp_lab.setups import bed
    >>> alone(bed("mnist")), alone(bed("imagenet"))
    ('', ' Maps alone, as these pictures must not be published (`--show` draws them too).')
    """
    free = bed.data.partition(":")[0] in FREE  # of which a half is mnist:even
    return "" if free else " Maps alone, as these pictures must not be published (`--show` draws them too)."
