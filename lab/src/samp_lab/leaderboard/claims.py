"""Our claims, tested on each net: the best mean rank, and no judge lost to SAMP++ at its price."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from samp_lab.leaderboard.board import Board, Ranks
from samp_lab.leaderboard.duels import Duel, select_net
from samp_lab.leaderboard.results_file import NetResult
from samp_lab.leaderboard.wording import format_gradients, format_rank
from samp_lab.sections import State, Verdict

PAPER_METHODS = "samp"  # how the names of the paper's own methods begin, in lower case
AS_DEAR = 1.1  # times the gradients of another method is the same price
MANY = 10
"""Judges by which ours must be better for the second claim to hold."""
ORDER: tuple[State, ...] = ("fails", "open", "holds", "missing")


def list_claims(board: Board, duels: Sequence[Duel]) -> list[Verdict]:
    """Return the verdicts on all claims, those that fail first; none on nets without ours or without rivals."""
    found = [*_rank_claims(board), *_price_claims(board, duels)]
    return sorted(found, key=lambda verdict: ORDER.index(verdict.state))


def _rank_claims(board: Board) -> Iterator[Verdict]:
    places = {one.title: board.net_ranks[one.net] for one in board.nets if _count_judges(one) > 1}
    if len(board.nets) > 1:
        places = {"all nets": board.ranks, **places}
    for where, ranks in places.items():
        ours = _best(ranks, (name for name in ranks if board.is_ours(name)))
        rival = _best(ranks, (name for name in ranks if not board.is_ours(name)))
        if ours and rival:
            texts = [f"{name} {' '.join(filter(None, format_rank(ranks[name])))}" for name in (ours, rival)]
            state = rank_state(ranks, ours, rival)
            yield Verdict("One of ours has the best mean rank", "–", " against ".join(texts), state, where)


def rank_state(ranks: Ranks, ours: str, rival: str) -> State:
    """Return whether the interval of ours lies wholly before that of the rival, wholly behind it, or neither.

    >>> from samp.metrics import MeanRank
    >>> ranks = {"a": MeanRank(1.0, 0.9, 1.1, 0.95), "b": MeanRank(2.0, 1.5, 2.5, 0.95), "c": MeanRank(2, 1, 3, 0.95)}
    >>> rank_state(ranks, "a", "b"), rank_state(ranks, "b", "a"), rank_state(ranks, "b", "c")
    ('holds', 'fails', 'open')
    """
    own, other = ranks[ours], ranks[rival]
    if own.high < other.low:
        return "holds"
    return "fails" if other.high < own.low else "open"


def _price_claims(board: Board, duels: Sequence[Duel]) -> Iterator[Verdict]:
    for net in (one for one in board.nets if _count_judges(one) >= MANY):
        ranks = board.net_ranks[net.net]
        rivals = [name for name in ranks if name.lower().startswith(PAPER_METHODS) and not board.is_ours(name)]
        prices = [board.gradients(name, net.net) for name in rivals]
        budget = max((price for price in prices if not math.isnan(price)), default=math.nan)
        own = [name for name in ranks if board.is_ours(name)]
        best = _best(ranks, (name for name in own if board.gradients(name, net.net) <= AS_DEAR * budget))
        for duel in select_net(duels, net.title):
            if duel.ours == best and duel.rival in rivals:
                price = format_gradients(board.gradients(best, net.net))
                yield _price_verdict(duel, price, net.title)


def _price_verdict(duel: Duel, price: str, net: str) -> Verdict:
    claim = f"{duel.ours} ({price} gradients): worse than {duel.rival} by no judge, better by {MANY} or more"
    counts = f"worse {len(duel.worse)}, better {len(duel.better)}, level {len(duel.level)}"
    judges = f"; worse by {duel.name_losses().partition(': ')[2]}" if duel.worse else ""
    return Verdict(claim, "–", counts + judges, _price_state(duel), net)


def _price_state(duel: Duel) -> State:
    if duel.worse:
        return "fails"
    return "holds" if len(duel.better) >= MANY else "open"


def _count_judges(result: NetResult) -> int:
    """Return how many judges rank the methods of a net."""
    return len(next(iter(result.panel.ranks().values()), {}))


def _best(ranks: Ranks, names: Iterable[str]) -> str | None:
    known = [name for name in names if not math.isnan(ranks[name].mean)]
    return min(known, key=lambda name: ranks[name].mean, default=None)
