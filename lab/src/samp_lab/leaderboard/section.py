"""The leaderboard in the report, and as Markdown of its own."""

from __future__ import annotations

from pathlib import Path

from samp.metrics.panel_table import format_number
from samp_lab.leaderboard.board import Board, Ranks, best_methods, judge_title_with_arrow, meanings
from samp_lab.leaderboard.claims import list_claims
from samp_lab.leaderboard.duels import Duel, find_duels, select_net
from samp_lab.leaderboard.results_file import FILE, NetResult, read_results
from samp_lab.leaderboard.wording import (
    describe_board,
    explain_duels,
    explain_ranks,
    format_gradients,
    format_rank,
    verdict_lines,
)
from samp_lab.sections import Block, Grid, Paragraph, Section, Verdicts

NAME, TITLE = "panel", "The panel: every judge, every net"


def read_section(folder: Path) -> Section | None:
    """Return the section of the report on the panel.json in a folder of results; None if there is none.

    >>> read_section(Path("no such folder"))
    """
    path = folder / FILE
    if not path.is_file():
        return None
    board = Board(read_results(path))
    return make_section(board, find_duels(board))


def make_section(board: Board, duels: list[Duel]) -> Section:
    """Return the leaderboard over all nets, the verdict, and the duels; panel.html has every judge's means."""
    words = "panel.html shows every judge's mean on each net, and says what each judge asks."
    blocks: list[Block] = [Paragraph(f"{describe_board(board)} {words}")]
    blocks += [Paragraph(line) for line in verdict_lines(board, duels)]
    claims = tuple(list_claims(board, duels))
    blocks += [Verdicts(claims, "What we claim, and whether it holds")] if claims else []
    blocks += [standings_grid(board), Paragraph(explain_ranks(board))]
    if duels:
        blocks += [duel_grid(duels), Paragraph(explain_duels())]
    return Section(NAME, TITLE, tuple(blocks))


def make_whole_section(board: Board, duels: list[Duel]) -> Section:
    """Return all of it: the section of the report, each net's means, and what each judge asks."""
    short = make_section(board, duels)
    blocks: list[Block] = list(short.blocks)
    for one in board.nets:
        blocks.append(means_grid(board, one))
        own = select_net(duels, one.title) if len(board.nets) > 1 else []
        blocks += [duel_grid(own, f"{one.title}: ours against each rival")] if own else []
        blocks += [Paragraph(f"Not asked here: {key}: {reason}.") for key, reason in one.panel.left_out.items()]
        blocks += [Paragraph(f"Refused by {method}: {reason}") for method, reason in one.refusals.items()]
    blocks.append(Grid(("judge", "what it asks"), tuple(meanings(board.judges)), "What each judge asks"))
    return Section(short.name, short.title, tuple(blocks))


def standings_grid(board: Board) -> Grid:
    """Return methods by gradients and mean rank, over all nets and on each; the best of a column in ** **."""
    places: dict[str, Ranks] = {one.title: board.net_ranks[one.net] for one in board.nets}
    if len(places) > 1:
        places = {"all nets ↓": board.ranks, **places}
    columns = [_rank_column(board, ranks) for ranks in places.values()]
    names = [f"{name} (ours)" if board.is_ours(name) else name for name in board.methods]
    gradients = [format_gradients(board.gradients(name)) for name in board.methods]
    groups = (("", 2), ("mean rank", len(columns)))
    rows = tuple(zip(names, gradients, *columns, strict=True))
    return Grid(("method", "gradients", *places), rows, "Standings: mean rank over the judges", groups)


def duel_grid(duels: list[Duel], title: str = "Judge by judge: ours against each rival") -> Grid:
    """Return a row for each method of ours and rival."""
    rows = tuple(
        (
            duel.ours,
            duel.rival,
            f"{len(duel.worse)}",
            f"{len(duel.level)}",
            f"{len(duel.better)}",
            duel.name_losses() or "–",
        )
        for duel in duels
    )
    heads = ("ours", "rival", "worse", "level", "better", "worse by")
    return Grid(heads, rows, title)


def means_grid(board: Board, result: NetResult) -> Grid:
    """Return methods × judges of one net: means, the best of each judge in ** **."""
    panel = result.panel
    means, ranks = panel.means(), panel.ranks()
    names = board.order_on(result.net)
    columns = []
    for judge in panel.criteria:
        best = best_methods({name: row[judge.key] for name, row in ranks.items() if judge.key in row})
        columns.append([_mark(format_number(means[judge.key][name]), name in best) for name in names])
    gradients = [format_gradients(board.gradients(name, result.net)) for name in names]
    heads = ("method", "gradients", *map(judge_title_with_arrow, panel.criteria))
    return Grid(heads, tuple(zip(names, gradients, *columns, strict=True)), f"{result.title}: means of the judges")


def _rank_column(board: Board, ranks: Ranks) -> list[str]:
    cells = []
    best = best_methods({name: rank.mean for name, rank in ranks.items()})
    for name in board.methods:
        text, interval = format_rank(ranks.get(name))
        cells.append(" ".join(filter(None, [_mark(text, name in best), interval])))
    return cells


def _mark(text: str, best: bool) -> str:
    return f"**{text}**" if best else text
