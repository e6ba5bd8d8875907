"""The columns of a comparison: what each number is called, which way is better, and how it is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Column:
    """A number that every row has: its key in `Row.numbers`, its heading, which way is better, and how it is written.

    >>> COLUMNS[0].heading_with_arrow, COLUMNS[0].format_value(0.25), COLUMNS[0].format_value(None)
    ('deletion ↓', '0.250', '–')
    >>> COLUMNS[3].heading_lines
    ['completeness', 'error ↓']
    """

    key: str
    heading: str
    better: Literal["lower", "higher"] | None
    write: Callable[[float], str]

    @property
    def heading_with_arrow(self) -> str:
        """The heading with an arrow down where lower is better, and up where higher is."""
        arrows = {"lower": f"{self.heading} ↓", "higher": f"{self.heading} ↑"}
        return arrows[self.better] if self.better else self.heading

    @property
    def heading_lines(self) -> list[str]:
        """The same in two lines where it has several words; an arrow stays with its word."""
        *before, last = self.heading.split(" ")
        arrow = self.heading_with_arrow.removeprefix(self.heading)
        return [" ".join(before), last + arrow] if before else [last + arrow]

    def format_value(self, value: float | None) -> str:
        """The number as it is shown, with a true minus sign; a dash for none."""
        return "–" if value is None else self.write(value).replace("-", "−")


def format_percent(share: float) -> str:
    """Whole percents, or two digits of a small share.

    >>> format_percent(0.1234), format_percent(0.00456), format_percent(12.0)
    ('12 %', '0.46 %', '1,200 %')
    """
    return f"{100 * share:,.0f} %" if share >= 0.0995 else f"{100 * share:.2g} %"


COLUMNS = (
    Column("deletion", "deletion", "lower", "{:.3f}".format),
    Column("insertion", "insertion", "higher", "{:.3f}".format),
    Column("difference", "insertion − deletion", "higher", "{:.3f}".format),
    Column("completeness_error", "completeness error", "lower", format_percent),
    # It grows with the square of a map's scale: only maps of one sum can be ranked by it.
    Column("variance", "variance", None, "{:.1e}".format),
    Column("gini", "Gini", "higher", "{:.3f}".format),
    Column("top_share", "top 10 % share", "higher", format_percent),
    Column("seconds", "seconds", "lower", "{:.2f}".format),
    Column("gradients", "gradients", "lower", "{:.5g}".format),
    Column("forwards", "forwards", "lower", "{:.5g}".format),
)
