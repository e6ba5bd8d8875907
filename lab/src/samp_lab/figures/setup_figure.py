"""Figures with a picture for each test bed: what is measured, how it is drawn, and what it says, as three functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from samp_lab.experiment import FigureContext
from samp_lab.measurements.base import Measurement
from samp_lab.sections import Block, Paragraph, Picture, Section, Verdict, Verdicts
from samp_lab.setups import Setup
from samp_lab.store import Results

# whose pictures may be published
FREE = ("photos", "mnist", "digits", "counting", "counting-mixed", "mosaic", "digit-mosaic")


def no_tables(results: Results, bed: Setup) -> list[Block]:
    """No tables."""
    return []


def no_verdicts(results: Results, bed: Setup) -> list[Verdict]:
    """No claims."""
    return []


@dataclass(frozen=True)
class SetupFigure:
    """A figure for each setup: `measurements_of` says what it needs, `draw_on` draws it, `verdicts_of` judges it.

    The three are called with a bed; drawing and judging only where at least one of its cells was measured. Figures of
    data that must not be published show maps alone, and their caption says so.

    >>> from samp_lab.setups import parse_setup
    >>> from samp_lab.figures.mosaics import MOSAICS
    >>> [cell.kind for cell in MOSAICS.measurements([parse_setup("mosaic")])]
    ['quartered']
    """

    name: str
    title: str
    setups: tuple[str, ...]
    caption: str
    measurements_of: Callable[[Setup], Sequence[Measurement]]
    draw_on: Callable[[FigureContext, Setup, str], None]
    """Its last argument is the name to save under."""
    verdicts_of: Callable[[Results, Setup], Sequence[Verdict]] = no_verdicts
    tables_of: Callable[[Results, Setup], Sequence[Block]] = no_tables
    about: str = ""
    pictures: bool = True
    """Whether it shows pictures of the data, or maps of them."""

    def measurements(self, setups: Sequence[Setup]) -> list[Measurement]:
        """Those of all beds."""
        return [cell for bed in setups for cell in self.measurements_of(bed)]

    def draw(self, sheet: FigureContext) -> None:
        """A figure for each bed that has anything to show."""
        for bed in sheet.setups:
            if any(sheet.has(cell) for cell in self.measurements_of(bed)):
                self.draw_on(sheet, bed, figure_stem(self.name, bed))

    def section(self, results: Results, setups: Sequence[Setup], figures: Path) -> Section:
        """For each bed its figure and tables, then all verdicts."""
        blocks: list[Block] = [Paragraph(self.about)] if self.about else []
        verdicts: list[Verdict] = []
        for bed in setups:
            without = hidden_pictures_note(bed) if self.pictures else ""
            blocks += picture_block(figures, figure_stem(self.name, bed), f"{bed.title}: {self.caption}{without}")
            if any(results.has(cell) for cell in self.measurements_of(bed)):
                blocks += self.tables_of(results, bed)
                verdicts += self.verdicts_of(results, bed)
        return Section(self.name, self.title, (*blocks, *([Verdicts(tuple(verdicts))] if verdicts else [])))


def figure_stem(name: str, bed: Setup) -> str:
    """The name of a bed's figure, without its ending.

    >>> from samp_lab.setups import parse_setup
    >>> figure_stem("gallery", parse_setup("photos/mobilenet_v2"))
    'gallery-photos-mobilenet_v2'
    """
    return f"{name}-{bed.name.replace('/', '-').replace(':', '-')}"


def picture_block(figures: Path, name: str, caption: str) -> list[Block]:
    """The picture of this name, if it was drawn.

    >>> picture_block(Path("nowhere"), "gallery", "Maps.")
    []
    """
    return [Picture(f"{name}.png", caption)] if (figures / f"{name}.png").is_file() else []


def hidden_pictures_note(bed: Setup) -> str:
    """What a caption says of pictures that are not shown.

    >>> from samp_lab.setups import parse_setup
    >>> hidden_pictures_note(parse_setup("mnist")), hidden_pictures_note(parse_setup("imagenet"))
    ('', ' Maps alone, as these pictures must not be published (`--show` draws them too).')
    """
    free = bed.data.partition(":")[0] in FREE  # of which a half is mnist:even
    return "" if free else " Maps alone, as these pictures must not be published (`--show` draws them too)."
