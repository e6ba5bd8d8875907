"""The columns of a comparison: how each number is measured and formatted, which direction is better, what it means.

A `Column` added to `COLUMNS` is measured by `samp.compare` and shown wherever a comparison is: in its table, and in the
JSON, page and figure of `samp compare`. `samp.metrics` explains how to add a metric, to `samp report` as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from torch import Tensor

if TYPE_CHECKING:
    from samp.compare import Row, Task

Measurement = Tensor | float | None  # b numbers, one for all samples, or None where the method has none


@dataclass(frozen=True)
class Column:
    """A number that every row of a comparison has.

    >>> COLUMNS[0].heading_with_arrow, COLUMNS[0].format_value(0.25), COLUMNS[0].format_value(None)
    ('deletion ↓', '0.250', '–')
    >>> COLUMNS[3].heading_lines
    ['completeness', 'error ↓']
    """

    key: str
    """Its name in `Row.numbers` and in JSON."""
    heading: str
    better: Literal["lower", "higher"] | None
    write: Callable[[float], str]
    measure: Callable[[Task, Row], Measurement]
    """Called once per row, after its map, curves and concentration; the task holds the model and the samples."""
    meaning: str
    """A sentence or two for readers of the page."""

    @property
    def heading_with_arrow(self) -> str:
        """The heading, followed by ↓ if lower is better and by ↑ if higher is."""
        arrows = {"lower": f"{self.heading} ↓", "higher": f"{self.heading} ↑"}
        return arrows[self.better] if self.better else self.heading

    @property
    def heading_lines(self) -> list[str]:
        """The heading with its arrow, in two lines if it has several words."""
        *before, last = self.heading.split(" ")
        arrow = self.heading_with_arrow.removeprefix(self.heading)
        return [" ".join(before), last + arrow] if before else [last + arrow]

    def format_value(self, value: float | None) -> str:
        """Return the number as text, with a typographic minus sign; a dash for None."""
        return "–" if value is None else self.write(value).replace("-", "−")


def format_percent(share: float) -> str:
    """Return a share in whole percents, or with two digits if it is small.

    >>> format_percent(0.1234), format_percent(0.00456), format_percent(12.0)
    ('12 %', '0.46 %', '1,200 %')
    """
    return f"{100 * share:,.0f} %" if share >= 0.0995 else f"{100 * share:.2g} %"


COLUMNS = [
    Column(
        key="deletion",
        heading="deletion",
        better="lower",
        write="{:.3f}".format,
        measure=lambda task, row: row.curves.deletion,
        meaning="Area under the deletion curve: how long the score stays up while the pixels that the map ranks "
        "highest are taken away. Lower is better.",
    ),
    Column(
        key="insertion",
        heading="insertion",
        better="higher",
        write="{:.3f}".format,
        measure=lambda task, row: row.curves.insertion,
        meaning="Area under the insertion curve: how soon the score comes up while those pixels are put in. Higher "
        "is better.",
    ),
    Column(
        key="difference",
        heading="insertion − deletion",
        better="higher",
        write="{:.3f}".format,
        measure=lambda task, row: row.curves.difference,
        meaning="Both in one number. Higher is better.",
    ),
    Column(
        key="completeness_error",
        heading="completeness error",
        better="lower",
        write=format_percent,
        measure=lambda task, row: row.completeness_error,
        meaning="What the credit misses of the change of the score between baseline and photo, over that change. "
        "Lower is better; a dash where the method does not mean its credit to sum to it.",
    ),
    Column(
        key="variance",
        heading="variance",
        # it grows with the square of a map's scale: only maps of one sum can be ranked by it
        better=None,
        write="{:.1e}".format,
        measure=lambda task, row: row.concentration.variance,
        meaning="Of the credit over all pixels (Definition 1 of the SAMP paper, which wants it large). It grows with "
        "the square of a map's scale, so only maps of the same sum can be ranked by it: no best is marked.",
    ),
    Column(
        key="gini",
        heading="Gini",
        better="higher",
        write="{:.3f}".format,
        measure=lambda task, row: row.concentration.gini,
        meaning="Gini coefficient of the credit's size: 0 if all pixels have the same, near 1 if few have it all. "
        "Higher is clearer, which alone does not make a map right.",
    ),
    Column(
        key="top_share",
        heading="top 10 % share",
        better="higher",
        write=format_percent,
        measure=lambda task, row: row.concentration.top_share,
        meaning="Share of the credit's size that lies on the tenth of the pixels with the most. Higher is clearer.",
    ),
    Column(
        key="seconds",
        heading="seconds",
        better="lower",
        write="{:.2f}".format,
        measure=lambda task, row: row.seconds,
        meaning="Wall time of explaining this photo once, on this machine, with whatever else ran on it; the curves "
        "are not counted. Lower is better.",
    ),
    Column(
        key="gradients",
        heading="gradients",
        better="lower",
        write="{:.5g}".format,
        measure=lambda task, row: row.gradients,
        meaning="Evaluations of the model with a gradient. Lower is better.",
    ),
    Column(
        key="forwards",
        heading="forwards",
        better="lower",
        write="{:.5g}".format,
        measure=lambda task, row: float(row.forwards),
        meaning="Evaluations of the model without one; those of the curves are not counted. Lower is better.",
    ),
]
