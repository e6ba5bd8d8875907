"""A panel as a table: its cells, for Markdown, terminals and pages."""

from __future__ import annotations

import math
from typing import NamedTuple

from samp.metrics.judge import Criterion
from samp.metrics.panel_result import LEVEL, ONE_PHOTO, Panel


class Cell(NamedTuple):
    """A text of the table, and whether it is the best of its column."""

    text: str
    best: bool = False


def format_markdown(panel: Panel, intervals: bool = False, against: str | None = None) -> str:
    """Return methods × judges as Markdown, the best in bold; for one photo, a line below says what cannot be told."""
    heads, rows = table_cells(panel, intervals, against)
    lines = [_line(heads), "|---" * len(heads) + "|"]
    lines += [_line([f"**{text}**" if best else text for text, best in row]) for row in rows]
    return "\n".join([*lines, *(["", f"({ONE_PHOTO})"] if panel.has_one_photo else [])])


def table_cells(
    panel: Panel, intervals: bool = False, against: str | None = None
) -> tuple[list[str], list[tuple[Cell, ...]]]:
    """Return the headings, and a row for each method: its name, means, mean rank, and comparison with one method.

    >>> import torch
    >>> scores = {"road": {"ours": torch.ones(1), "theirs": torch.zeros(1)}}
    >>> table_cells(Panel((Criterion("road", "ROAD", "higher", "…"),), scores))[1][0]
    (Cell(text='ours', best=False), Cell(text='1.000', best=True), Cell(text='1.00', best=True))
    """
    heads = ["method", *(one.heading_with_arrow for one in panel.criteria), "mean rank ↓"]
    columns = [[Cell(name) for name in panel.methods], *(_column(panel, one, intervals) for one in panel.criteria)]
    columns.append(_rank_column(panel))
    if against is not None and not panel.has_one_photo:
        heads.append(f"against {against}")
        columns.append([Cell(_count_wins(panel, name, against)) for name in panel.methods])
    return heads, list(zip(*columns, strict=True))


def format_number(value: float) -> str:
    """Return a number with three digits and a typographic minus sign; a dash for NaN.

    >>> format_number(-0.5), format_number(float("nan"))
    ('−0.500', '–')
    """
    return "–" if math.isnan(value) else f"{value:.3f}".replace("-", "−")


def _column(panel: Panel, criterion: Criterion, intervals: bool) -> list[Cell]:
    ranks = {name: row[criterion.key] for name, row in panel.ranks().items() if criterion.key in row}
    best, cells = _first(ranks), []
    for name, mean in panel.means()[criterion.key].items():
        text = format_number(mean)
        if intervals and not panel.has_one_photo:
            _, low, high = panel.summary(criterion.key, name)
            text += f" [{format_number(low)}, {format_number(high)}]"
        cells.append(Cell(text, name in best))
    return cells


def _rank_column(panel: Panel) -> list[Cell]:
    ranks = panel.mean_rank()
    best = _first({name: rank.mean for name, rank in ranks.items()})
    return [Cell("–" if math.isnan(rank.mean) else str(rank), name in best) for name, rank in ranks.items()]


def _first(ranks: dict[str, float]) -> set[str]:
    """The names of those that rank first; none if all do."""
    best = {name for name, rank in ranks.items() if rank == min(ranks.values())}
    return set() if len(best) == len(ranks) else best


def _count_wins(panel: Panel, name: str, against: str) -> str:
    if name == against:
        return "–"
    compared = panel.compare(name, against, correct=True).values()
    sure = [one for one in compared if one.p < LEVEL]
    better = sum(one.rank_biserial > 0 for one in sure)
    return f"{better} better, {len(sure) - better} worse of {len(compared)}"


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
