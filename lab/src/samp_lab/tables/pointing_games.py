"""Hits of the pointing game by photo and class, the accuracy that tables show, and McNemar's test of two methods."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from samp.metrics.intervals import Floats

Game = Sequence[Sequence[Any] | None]
"""The result of a `Pointing` measurement: for each photo a list of [class, hit, difficult], or None."""


@dataclass(frozen=True, eq=False)
class GameTally:
    """Hits and games played of each photo and class (n c).

    >>> tally = tally_games([[["cat", True, False], ["dog", False, True]], [["dog", True, False]], None])
    >>> tally.classes, tally.accuracy(np.ones((1, 3))).tolist(), tally.played.sum(0).tolist()
    (('cat', 'dog'), [75.0], [1.0, 2.0])
    """

    classes: tuple[str, ...]
    hits: Floats
    played: Floats

    def accuracy(self, weights: Floats) -> Floats:
        """Return the per cent of hits, averaged over the classes that were played, for weights of photos (r n)."""
        hits, played = weights @ self.hits, weights @ self.played  # r c
        known = played > 0
        shares = np.divide(hits, played, out=np.zeros_like(hits), where=known)
        classes = known.sum(1)
        return np.where(classes > 0, 100 * shares.sum(1) / np.maximum(classes, 1), np.nan)


def tally_games(games: Game, difficult: bool = False) -> GameTally:
    """Return the tally of games; with `difficult`, of the difficult subset alone."""
    played = [[one for one in game or () if one[2] or not difficult] for game in games]
    classes = tuple(sorted({str(one[0]) for game in played for one in game}))
    hits, count = np.zeros((2, len(games), len(classes)))
    for photo, game in enumerate(played):
        for label, hit, _ in game:
            place = classes.index(label)
            hits[photo, place] += bool(hit)
            count[photo, place] += 1
    return GameTally(classes, hits, count)


def mcnemar(one: GameTally, other: GameTally) -> float:
    """Return the two-sided p of McNemar's exact test: is each of two methods the only one to hit equally often?

    >>> hit, miss = [[["cat", True, False]]] * 6, [[["cat", False, False]]] * 6
    >>> mcnemar(tally_games(hit), tally_games(miss)), mcnemar(tally_games(hit), tally_games(hit))
    (0.03125, 1.0)
    """
    gained = int(((one.hits > other.hits) & (one.played > 0)).sum())
    lost = int(((one.hits < other.hits) & (one.played > 0)).sum())
    tail = sum(math.comb(gained + lost, k) for k in range(min(gained, lost) + 1))
    return min(1.0, 2 * tail / (1 << gained + lost))
