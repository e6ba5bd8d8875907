"""Figures with a picture for each setup, put together from functions that measure, draw and judge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from samp_lab.experiment import FigureContext
from samp_lab.measurements.base import Measurement
from samp_lab.sections import Block, Paragraph, Picture, Section, Verdict, Verdicts
from samp_lab.setups import Setup
from samp_lab.store import Results

# data sets whose pictures may be published
FREE = ("photos", "mnist", "digits", "counting", "counting-mixed", "mosaic", "digit-mosaic")


def no_tables(results: Results, setup: Setup) -> list[Block]:
    """Return no tables."""
    return []


def no_verdicts(results: Results, setup: Setup) -> list[Verdict]:
    """Return no verdicts."""
    return []


@dataclass(frozen=True)
class SetupFigure:
    """An experiment with a figure for each setup.

    `measurements_of` returns what a setup needs; `draw_on` draws its figure, `tables_of` and `verdicts_of` make its
    part of the report, all three only if at least one of its measurements is there. Figures of data that must not be
    published show maps alone, and their caption says so.

    >>> from samp_lab.setups import parse_setup
    >>> from samp_lab.figures.mosaics import MOSAICS
    >>> [measurement.kind for measurement in MOSAICS.measurements([parse_setup("mosaic")])]
    ['quartered']
    """

    name: str
    title: str
    setups: tuple[str, ...]
    caption: str
    measurements_of: Callable[[Setup], Sequence[Measurement]]
    draw_on: Callable[[FigureContext, Setup, str], None]
    """Called with the context, the setup and the name to save under."""
    verdicts_of: Callable[[Results, Setup], Sequence[Verdict]] = no_verdicts
    tables_of: Callable[[Results, Setup], Sequence[Block]] = no_tables
    about: str = ""
    pictures: bool = True
    """Whether the figure shows pictures of the data, or maps of them."""

    def measurements(self, setups: Sequence[Setup]) -> list[Measurement]:
        """Return the measurements of all setups."""
        return [measurement for setup in setups for measurement in self.measurements_of(setup)]

    def draw(self, context: FigureContext) -> None:
        """Draw a figure for each setup that has results."""
        for setup in context.setups:
            if any(context.has(measurement) for measurement in self.measurements_of(setup)):
                self.draw_on(context, setup, figure_stem(self.name, setup))

    def section(self, results: Results, setups: Sequence[Setup], figures: Path) -> Section:
        """Return the figure and tables of each setup, then all verdicts."""
        blocks: list[Block] = [Paragraph(self.about)] if self.about else []
        verdicts: list[Verdict] = []
        for setup in setups:
            without = hidden_pictures_note(setup) if self.pictures else ""
            blocks += picture_block(figures, figure_stem(self.name, setup), f"{setup.title}: {self.caption}{without}")
            if any(results.has(measurement) for measurement in self.measurements_of(setup)):
                blocks += self.tables_of(results, setup)
                verdicts += self.verdicts_of(results, setup)
        return Section(self.name, self.title, (*blocks, *([Verdicts(tuple(verdicts))] if verdicts else [])))


def figure_stem(name: str, setup: Setup) -> str:
    """Return the file name of a setup's figure, without its suffix.

    >>> from samp_lab.setups import parse_setup
    >>> figure_stem("gallery", parse_setup("photos/resnet50"))
    'gallery-photos-resnet50'
    """
    return f"{name}-{setup.name.translate(str.maketrans('/:@', '---'))}"


def picture_block(figures: Path, name: str, caption: str) -> list[Block]:
    """Return the picture of this name, or nothing if it was not drawn.

    >>> picture_block(Path("nowhere"), "gallery", "Maps.")
    []
    """
    return [Picture(f"{name}.png", caption)] if (figures / f"{name}.png").is_file() else []


def hidden_pictures_note(setup: Setup) -> str:
    """Return the sentence for captions of data whose pictures are not shown, "" for other data.

    >>> from samp_lab.setups import parse_setup
    >>> hidden_pictures_note(parse_setup("mnist")), hidden_pictures_note(parse_setup("imagenet"))
    ('', ' Maps alone, as these pictures must not be published (`--show` draws them too).')
    """
    free = setup.data.partition(":")[0] in FREE  # of which a half is mnist:even
    return "" if free else " Maps alone, as these pictures must not be published (`--show` draws them too)."
