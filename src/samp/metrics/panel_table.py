"""A panel as a Markdown table."""

from __future__ import annotations

import math

from samp.metrics.judges import Criterion
from samp.metrics.panel_result import LEVEL, ONE_PHOTO, Panel


def format_table(panel: Panel, intervals: bool = False, against: str | None = None) -> str:
    """Return methods × judges as Markdown: means, the best in bold, the mean rank, comparisons with one method."""
    heads = ["method", *(one.heading_with_arrow for one in panel.criteria), "mean rank ↓"]
    columns = [list(panel.methods), *(_column(panel, one, intervals) for one in panel.criteria), _rank_column(panel)]
    if against is not None and not panel.has_one_photo:
        heads.append(f"against {against}")
        columns.append([_count_wins(panel, name, against) for name in panel.methods])
    lines = [_line(heads), "|---" * len(heads) + "|", *(_line(list(row)) for row in zip(*columns, strict=True))]
    return "\n".join([*lines, *(["", f"({ONE_PHOTO})"] if panel.has_one_photo else [])])


def best_methods(panel: Panel, criterion: Criterion) -> set[str]:
    """Return the names of the methods that rank first under a judge; empty if all do, or if the judge ranks nothing."""
    ranks = {name: row[criterion.key] for name, row in panel.ranks().items() if criterion.key in row}
    return _first(ranks)


def format_number(value: float) -> str:
    """Return a number with three digits and a typographic minus sign; a dash for NaN.

    >>> format_number(-0.5), format_number(float("nan"))
    ('−0.500', '–')
    """
    return "–" if math.isnan(value) else f"{value:.3f}".replace("-", "−")


def _column(panel: Panel, criterion: Criterion, intervals: bool) -> list[str]:
    best, means = best_methods(panel, criterion), panel.means()[criterion.key]
    texts = {name: format_number(mean) for name, mean in means.items()}
    if intervals and not panel.has_one_photo:
        for name in means:
            _, low, high = panel.summary(criterion.key, name)
            texts[name] += f" [{format_number(low)}, {format_number(high)}]"
    return [f"**{text}**" if name in best else text for name, text in texts.items()]


def _rank_column(panel: Panel) -> list[str]:
    ranks = panel.mean_rank()
    best = _first({name: rank.mean for name, rank in ranks.items()})
    return [
        "–" if math.isnan(rank.mean) else f"**{rank}**" if name in best else str(rank) for name, rank in ranks.items()
    ]


def _first(ranks: dict[str, float]) -> set[str]:
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
