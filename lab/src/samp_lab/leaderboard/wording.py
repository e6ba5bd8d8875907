"""The verdict in sentences: where a rival wins comes first; and numbers as the tables write them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from samp.metrics import MeanRank
from samp_lab.leaderboard.board import Board, Ranks, best_methods
from samp_lab.leaderboard.duels import LEVEL, Duel


def verdict_lines(board: Board, duels: Sequence[Duel]) -> list[str]:
    """Return who leads, and a sentence for each method of ours on its losses, open tests and wins.

    Sentences in which a rival wins come first.
    """
    leads = list(_leaders(board))
    own = [_tally(name, [duel for duel in duels if duel.ours == name]) for name in _own_methods(duels)]
    every = [*leads, *own]
    return [line for lost, line in every if lost] + [line for lost, line in every if not lost]


def describe_board(board: Board) -> str:
    """Return a sentence on how many methods, judges, nets and photos there are."""
    nets = [one.title for one in board.nets]
    photos = sorted({one.photos for one in board.nets if one.photos is not None})
    on_photos = f", {' or '.join(f'{count:,}' for count in photos)} photos each" if photos else ""
    return (
        f"{_count(len(board.methods), 'method')} before {_count(len(board.judges), 'judge')} on "
        f"{_count(len(nets), 'net')} ({', '.join(nets)}){on_photos}."
    )


def explain_ranks(board: Board) -> str:
    """Return a paragraph on what the mean rank is, and whom it leaves out."""
    missing = [name for name in board.methods if name not in board.common_methods]
    left_out = f" Not on every net, and so without a rank over all nets: {'; '.join(missing)}." if missing else ""
    return (
        "Mean rank: each judge ranks the methods by their means over images, 1 being the best, and every judge of "
        "every net counts the same. In brackets a 95 % bootstrap interval over images, drawn anew for each net."
        + left_out
    )


def explain_duels() -> str:
    """Return a paragraph on the tests."""
    return (
        f"Wilcoxon's signed-rank test on the same images, two-sided, for each judge of each net: worse and better mean "
        f"p < {LEVEL:g}, level that the test cannot tell the two apart. The tests are not corrected for their number: "
        "where nothing is there, about one in a hundred would show something, for us or for the rival."
    )


def format_rank(rank: MeanRank | None) -> tuple[str, str]:
    """Return the mean rank and its interval, either of which may be missing.

    >>> format_rank(MeanRank(2.0, 1.5, 2.5, 0.95)), format_rank(None)
    (('2.00', '[1.50, 2.50]'), ('–', ''))
    """
    if rank is None or math.isnan(rank.mean):
        return "–", ""
    return f"{rank.mean:.2f}", "" if math.isnan(rank.low) else f"[{rank.low:.2f}, {rank.high:.2f}]"


def format_gradients(count: float) -> str:
    """Return a number of gradients, with one decimal place only if it is small and broken; a dash for NaN.

    >>> format_gradients(1280.4), format_gradients(1.25), format_gradients(1.0), format_gradients(math.nan)
    ('1,280', '1.2', '1', '–')
    """
    if math.isnan(count):
        return "–"
    return f"{count:.1f}" if count < 10 and count != round(count) else f"{count:,.0f}"


def _leaders(board: Board) -> Iterator[tuple[bool, str]]:
    """Yield whether a rival leads, and who: over all nets, and on each one where a rival does."""
    places = {one.title: board.net_ranks[one.net] for one in board.nets}
    overall = {"all nets": board.ranks} if len(places) > 1 else {}
    for where, ranks in {**overall, **places}.items():
        first = best_methods({name: rank.mean for name, rank in ranks.items()})
        rival_leads = not any(board.is_ours(name) for name in first)
        if first and (rival_leads or where in overall or not overall):
            place = f"{'over' if where in overall else 'on'} {where}"
            yield rival_leads, _leader_sentence(board, ranks, sorted(first), place)


def _leader_sentence(board: Board, ranks: Ranks, first: list[str], place: str) -> str:
    """Return who leads, and the best of the other side: of ours if a rival leads, else of the rivals."""
    leads = board.is_ours(first[0])
    sentence = f"Best mean rank {place}: {_and(first)} with {_rank_text(ranks[first[0]])}"
    behind = [name for name in board.methods if name in ranks and board.is_ours(name) != leads]
    if behind:
        best = min(behind, key=lambda name: ranks[name].mean)
        whose = "the best rival" if leads else "the best of ours"
        sentence += f"; {whose} is {best} with {_rank_text(ranks[best])}"
    return f"{sentence}."


def _rank_text(rank: MeanRank) -> str:
    return " ".join(filter(None, format_rank(rank)))


def _tally(name: str, duels: Sequence[Duel]) -> tuple[bool, str]:
    """Return whether a method of ours is worse than any rival by any judge, and the sentence on it."""
    tests = sum(duel.tests for duel in duels)
    losses = [duel for duel in duels if duel.worse]
    lost = sum(len(duel.worse) for duel in losses)
    better, level = (
        sum(len(part) for part in parts) for parts in zip(*((d.better, d.level) for d in duels), strict=True)
    )
    rest = f"better in {better}, level in {level}."
    if not losses:
        return False, f"{name} is worse than no rival by any judge in {_count(tests, 'test')}; {rest}"
    ordered = sorted(losses, key=lambda duel: -len(duel.worse))
    against = "; ".join(f"{duel.rival}: {len(duel.worse)}" for duel in ordered)  # names have commas
    return True, f"{name} is worse than a rival in {lost} of {_count(tests, 'test')} ({against}), {rest}"


def _own_methods(duels: Iterable[Duel]) -> list[str]:
    return list(dict.fromkeys(duel.ours for duel in duels))


def _and(words: Sequence[str]) -> str:
    return " and ".join(words)


def _count(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
