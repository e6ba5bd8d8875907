"""The leaderboard as one self-contained HTML page, on the base template and style sheet of samp's own pages."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from samp.html.render import render_page
from samp.metrics import Criterion
from samp.metrics.panel_table import format_number
from samp_lab.leaderboard.board import Board, Ranks, best_methods, judge_title, judge_title_with_arrow, meanings
from samp_lab.leaderboard.chart import Point, rank_chart
from samp_lab.leaderboard.claims import list_claims
from samp_lab.leaderboard.duels import Duel, select_net
from samp_lab.leaderboard.results_file import NetResult
from samp_lab.leaderboard.wording import (
    describe_board,
    explain_duels,
    explain_ranks,
    format_gradients,
    format_rank,
    verdict_lines,
)
from samp_lab.report.texts import SIGNS, STATES

SHADES = 4  # in the style sheet: from the best rank, in green, to no colour
TITLE = "The panel"
ARROW = re.compile(r" (?=[↓↑])")


@dataclass(frozen=True)
class Head:
    """A heading that sorts; `better` is which way round it sorts first, and `note` what it means."""

    text: str
    better: str = "lower"
    note: str = ""

    @property
    def label(self) -> str:
        """The text, whose arrow stays with its word."""
        return ARROW.sub("\N{NO-BREAK SPACE}", self.text)


@dataclass(frozen=True)
class Cell:
    """A text, the number it is sorted by (empty if there is none), what stands below it, and how it looks."""

    text: str
    value: str = ""
    below: str = ""
    best: bool = False
    classes: str = ""


@dataclass(frozen=True)
class Row:
    """A line of a table: a name, whether it is ours, and the other cells."""

    name: str
    ours: bool
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """A table whose headings sort."""

    title: str
    heads: tuple[Head, ...]
    rows: tuple[Row, ...]


def render_board(board: Board, duels: list[Duel]) -> str:
    """Return the whole page."""
    values = {
        "title": TITLE,
        "lead": describe_board(board),
        "verdicts": verdict_lines(board, duels),
        "claims": [(SIGNS[one.state], STATES[one.state], one) for one in list_claims(board, duels)],
        "standings": standings_table(board),
        "about_ranks": explain_ranks(board),
        "chart": _chart(board, None, "Mean rank over all nets against gradients"),
        "duels": duel_table(duels, "Tests against each rival") if duels else None,
        "losses": list_losses(duels),
        "about_duels": explain_duels(),
        "judge_ranks": judge_table(board) if len(board.nets) > 1 and board.judge_ranks else None,
        "nets": [_net(board, one, duels) for one in board.nets],
        "meanings": meanings(board.judges),
        "facts": _facts(board),
    }
    scripts = ["theme.js", "sort.js"]
    return render_page("panel.html", values, styles=["panel.css"], scripts=scripts, package="samp_lab.leaderboard")


# ---- tables


def standings_table(board: Board) -> Table:
    """Return methods by gradients and mean rank, over all nets and on each one."""
    places: dict[str, Ranks] = {one.title: board.net_ranks[one.net] for one in board.nets}
    if len(places) > 1:
        places = {"all nets": board.ranks, **places}
    columns = [_rank_cells(board, ranks) for ranks in places.values()]
    gradients = [_gradient_cell(board.gradients(name)) for name in board.methods]
    heads = (Head("method"), Head("gradients ↓"), *(Head(f"{place} ↓") for place in places))
    return Table("Standings", heads, _rows(board, board.methods, [gradients, *columns]))


def judge_table(board: Board) -> Table:
    """Return the rank of each common method under each judge, the mean over the nets that have the judge."""
    names = [name for name in board.methods if name in board.common_methods]
    judges = [judge for judge in board.judges if judge.key in board.judge_ranks]
    columns = []
    for judge in judges:
        row = board.judge_ranks[judge.key]
        best = best_methods(row)
        columns.append([_ranked_cell(f"{row[n]:.1f}", row[n], row[n], len(names), n in best) for n in names])
    heads = (Head("method"), *(Head(judge_title(judge), "lower", judge.meaning) for judge in judges))
    return Table("Ranks under each judge, over all nets", heads, _rows(board, names, columns))


def means_table(board: Board, result: NetResult) -> Table:
    """Return what each judge found on one net: means of methods × judges, with mean rank and gradients."""
    panel = result.panel
    own = board.net_ranks[result.net]
    names = board.order_on(result.net)
    ranks, means = panel.ranks(), panel.means()
    columns = [_rank_cells(board, own, names), [_gradient_cell(board.gradients(n, result.net)) for n in names]]
    for judge in panel.criteria:
        columns.append(_mean_cells(judge, means[judge.key], {n: ranks[n].get(judge.key, math.nan) for n in names}))
    judges = (Head(judge_title_with_arrow(one), one.better or "higher", one.meaning) for one in panel.criteria)
    heads = (Head("method"), Head("mean rank ↓"), Head("gradients ↓"), *judges)
    return Table(f"Means on {result.title}", heads, _rows(board, names, columns))


def duel_table(duels: list[Duel], title: str) -> Table:
    """Return rivals × methods of ours: in how many tests ours is worse, better, or neither."""
    ours, rivals = (list(dict.fromkeys(names)) for names in zip(*((d.ours, d.rival) for d in duels), strict=True))
    found = {(duel.ours, duel.rival): _duel_cell(duel) for duel in duels}
    places = sorted(
        rivals, key=lambda rival: [-float(found[own, rival].value) for own in ours if (own, rival) in found]
    )
    rows = [Row(rival, False, tuple(found.get((own, rival), Cell("–")) for own in ours)) for rival in places]
    heads = (Head("rival"), *(Head(own, "higher") for own in ours))
    return Table(title, heads, tuple(rows))


def _duel_cell(duel: Duel) -> Cell:
    worse, better, level = (len(part) for part in (duel.worse, duel.better, duel.level))
    below = f"{better} better, {level} level"
    return Cell(f"{worse} worse", f"{worse}", below, classes="fails" if worse else "holds")


def list_losses(duels: list[Duel]) -> list[dict[str, Any]]:
    """Return, for each method of ours that loses anywhere, the rivals that win and by which judges."""
    found: dict[str, list[Duel]] = {}
    for duel in duels:
        if duel.worse:
            found.setdefault(duel.ours, []).append(duel)
    return [
        {
            "ours": own,
            "count": sum(len(duel.worse) for duel in lost),
            "rivals": [(duel.rival, duel.name_losses()) for duel in lost],
        }
        for own, lost in found.items()
    ]


def _rows(board: Board, names: list[str], columns: list[list[Cell]]) -> tuple[Row, ...]:
    cells = zip(*columns, strict=True)
    return tuple(Row(name, board.is_ours(name), row) for name, row in zip(names, cells, strict=True))


def _rank_cells(board: Board, ranks: Ranks, names: list[str] | None = None) -> list[Cell]:
    best = best_methods({name: rank.mean for name, rank in ranks.items()})
    cells = []
    for name in board.methods if names is None else names:
        text, interval = format_rank(ranks.get(name))
        mean = ranks[name].mean if name in ranks else math.nan
        cells.append(_ranked_cell(text, mean, mean, len(ranks), name in best, interval))
    return cells


def _mean_cells(judge: Criterion, means: Mapping[str, float], ranks: Mapping[str, float]) -> list[Cell]:
    """Return the means of a judge in the order of `ranks`; one that does not rank has no colours."""
    best = best_methods(ranks)
    return [_ranked_cell(format_number(means[n]), means[n], ranks[n], len(ranks), n in best) for n in ranks]


def _ranked_cell(text: str, value: float, rank: float, count: int, best: bool, below: str = "") -> Cell:
    return Cell(text, _sort_value(value), below, best, shade_class(rank, count))


def shade_class(rank: float, count: int) -> str:
    """Return the class of the colour of a rank among so many; none in the worse half, and for NaN.

    >>> shade_class(1, 12), shade_class(2.5, 12), shade_class(12, 12), shade_class(math.nan, 12)
    ('s4', 's3', '', '')
    """
    if math.isnan(rank) or count < 2:
        return ""
    shade = round(SHADES * (1 - 2 * (rank - 1) / (count - 1)))
    return f"s{min(shade, SHADES)}" if shade > 0 else ""


def _gradient_cell(count: float) -> Cell:
    return Cell(format_gradients(count), _sort_value(count))


def _sort_value(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.9g}"


# ---- parts of the page


def _net(board: Board, result: NetResult, duels: list[Duel]) -> dict[str, Any]:
    anchor = "net-" + re.sub(r"[^a-z0-9]+", "-", result.net.lower()).strip("-")
    left_out = [f"{key}: {reason}" for key, reason in result.panel.left_out.items()]
    several = len(board.nets) > 1  # one net has them in the sections before
    own = select_net(duels, result.title) if several else []
    return {
        "anchor": anchor,
        "title": result.title,
        "images": _count_images(result),
        "table": means_table(board, result) if result.panel.methods else None,
        "left_out": left_out,
        "refused": result.refusals,
        "chart": _chart(board, result, f"Mean rank on {result.title} against gradients") if several else None,
        "duels": duel_table(own, f"Tests on {result.title}") if own else None,
    }


def _count_images(result: NetResult) -> str:
    """Return how many images there are of each set, or how many photos; nothing if the file does not say it."""
    sets = result.facts.get("images") or ({"photos": result.photos} if result.photos is not None else {})
    return f"Images: {', '.join(f'{name} {count}' for name, count in sets.items())}. " if sets else ""


def _chart(board: Board, result: NetResult | None, label: str) -> Markup | None:
    ranks = board.ranks if result is None else board.net_ranks[result.net]
    net = None if result is None else result.net
    points = [Point(name, board.gradients(name, net), rank, board.is_ours(name)) for name, rank in ranks.items()]
    return rank_chart(points, label)


def _facts(board: Board) -> list[tuple[str, str]]:
    """Return how the nets were measured, with the nets' names where not all were measured in the same way."""
    facts = []
    for name in ("machine", "command", "versions"):
        ways = board.results.nets_by(name)
        for value, nets in ways.items():
            of = "" if len(nets) == len(board.results.nets) else f" ({', '.join(nets)})"
            facts.append((f"{name.capitalize()}{of}", value))
    return facts
