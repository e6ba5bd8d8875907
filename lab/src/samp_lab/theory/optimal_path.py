"""The optimal manipulation path, exactly, by dynamic programming over sets of groups; and searches for it.

A path moves d groups from start to end, one at a time; the group that moves at the set S of those moved before it earns
f(S ∪ i) − f(S). All credits sum to C, so the largest variance (Def. 1) is the largest sum of squares, and what is still
to be earned depends on S alone, not on the order within it. That takes d·2^d steps instead of d!, and 2^d forwards.
The same holds for the area under the score's curve, which Insertion and Deletion measure.

A set is a whole number whose bit i says whether group i has moved. Letters: d groups, n sets or points, k paths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from samp.engine.batches import Batches

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
MOST_GROUPS = 20  # groups: 2^20 forwards a walk


@dataclass(frozen=True, eq=False)
class Manipulation:
    """One input that moves from `start` to `end` (`*d` each) group by group; `score` maps points n `*d` to n scores.

    `ids` numbers the groups from 0, in a shape that broadcasts to the input's.

    >>> walk = Manipulation(lambda x: x.prod(1), torch.ones(2), torch.tensor([2.0, 3.0]), torch.tensor([0, 1]))
    >>> walk.score_all_sets().tolist(), walk.score_along(np.array([1, 0])).tolist()
    ([1.0, 2.0, 3.0, 6.0], [1.0, 3.0, 6.0])
    """

    score: Callable[[Tensor], Tensor]
    start: Tensor
    end: Tensor
    ids: Tensor

    @property
    def groups(self) -> int:
        return int(self.ids.max()) + 1

    def score_all_sets(self) -> Floats:
        """Return 2^d: the score of every set."""
        if self.groups > MOST_GROUPS:
            raise ValueError(f"{self.groups} groups have 2^{self.groups} sets: take at most {MOST_GROUPS} groups.")
        sets = torch.arange(2**self.groups)
        return self.score_moved((sets[:, None] >> torch.arange(self.groups) & 1).bool())

    def score_along(self, order: Integers) -> Floats:
        """Return … d+1: the score at each point of paths that move groups in these orders (… d)."""
        place = torch.from_numpy(np.argsort(order, axis=-1))
        moved = place[..., None, :] < torch.arange(self.groups + 1)[:, None]  # … d+1 d
        return self.score_moved(moved.flatten(0, -2)).reshape(*order.shape[:-1], -1)

    def score_moved(self, moved: Tensor) -> Floats:
        """Return n: the score of points where these groups (n d) have moved."""
        ids = torch.broadcast_to(self.ids, self.start.shape).to(self.start.device)

        def work(first: int, last: int) -> Tensor:
            points = torch.where(moved[first:last].to(ids.device)[:, ids], self.end, self.start)
            return self.score(points).double().cpu()

        batches = Batches("auto", self.start.numel(), self.start.device)
        with torch.no_grad():
            found = torch.cat(list(batches.map_slices(len(moved), work)))
        return np.asarray(found.numpy(), np.float64)


@dataclass(frozen=True, eq=False)
class ScoredPath:
    """A path's order, the variance of its credits (Def. 1), and the area under its curve, the mean of d + 1 scores."""

    order: Integers  # d
    variance: float
    area: float


def credits(score: Floats, order: Integers) -> Floats:
    """Return … d: the credit of each move along these orders (… d), given the score of every set (2^d).

    >>> credits(np.array([0.0, 1.0, 2.0, 9.0]), np.array([[0, 1], [1, 0]])).tolist()
    [[1.0, 8.0], [2.0, 7.0]]
    """
    sets = np.cumsum(np.left_shift(1, order), axis=-1)
    before = np.concatenate([np.zeros_like(sets[..., :1]), sets[..., :-1]], -1)
    return np.asarray(score[sets] - score[before], np.float64)


def variance(credit: Floats) -> Floats:
    """Return the variance of Def. 1: the mean squared distance of credits (… d) from C/d.

    >>> float(variance(np.array([0.5, 1.5])))
    0.25
    """
    return np.asarray(credit.var(-1), np.float64)


def max_variance_path(score: Floats) -> ScoredPath:
    """Return the path of largest variance (Eq. 5), given the score of every set (2^d); lower indices win ties.

    >>> best = max_variance_path(np.array([0.0, 1.0, 2.0, 9.0]))
    >>> best.order.tolist(), best.variance
    ([0, 1], 12.25)
    """
    return _best_path(score, _squared_gain)


def max_area_path(score: Floats) -> ScoredPath:
    """Return the path of largest area, on which the score rises as early as possible.

    >>> best = max_area_path(np.array([0.0, 1.0, 2.0, 4.0]))
    >>> best.order.tolist(), best.area
    ([1, 0], 2.0)
    """
    return _best_path(score, lambda before, after: after)


Earning = Callable[[Floats, Floats], Floats]
"""From the scores before a move (n 1) and after it (n d) to what the move earns."""


def _squared_gain(before: Floats, after: Floats) -> Floats:
    return (after - before) ** 2


def _best_path(score: Floats, reward: Earning) -> ScoredPath:
    """Return the path of largest total reward."""
    groups = _count_groups(score)
    bits, everything = 1 << np.arange(groups), len(score) - 1
    to_come, first = np.zeros(len(score)), np.zeros(len(score), np.int64)
    for sets in reversed(_levels(groups)[:-1]):  # those with one group more are known
        worth = _gains(score, sets, bits, reward) + to_come[sets[:, None] | bits]
        first[sets], to_come[sets] = worth.argmax(1), worth.max(1)
    order, moved = [], 0
    while moved != everything:
        order.append(int(first[moved]))
        moved |= 1 << order[-1]
    return evaluate_order(score, order)


def beam_search(score: Floats, width: int) -> ScoredPath:
    """Return the best path found by a beam search that keeps the `width` sets with the largest sums of squares.

    Only the best path to a set is kept, so a beam as wide as the number of sets of one size is exact; a width of 1
    takes the largest change each time. On a model it would need at most d·(d+1)/2·`width` forwards.

    >>> beam_search(np.array([0.0, 1.0, 2.0, 9.0]), width=1).order.tolist()
    [1, 0]
    """
    if width < 1:
        raise ValueError(f"the width of a beam is at least 1, not {width}.")
    groups = _count_groups(score)
    bits = 1 << np.arange(groups)
    sets, earned, orders = np.zeros(1, np.int64), np.zeros(1), np.zeros((1, 0), np.int64)
    for _ in range(groups):
        worth = _gains(score, sets, bits, _squared_gain) + earned[:, None]
        ranked = np.argsort(-worth, axis=None, kind="stable")[: int(np.isfinite(worth).sum())]
        reached = (sets[:, None] | bits).ravel()[ranked]
        ranked = ranked[np.sort(np.unique(reached, return_index=True)[1])[:width]]  # each set by its best path
        parent, group = np.divmod(ranked, groups)
        sets, earned = sets[parent] | bits[group], worth.ravel()[ranked]
        orders = np.concatenate([orders[parent], group[:, None]], 1)
    return evaluate_order(score, orders[0].tolist())


def greedy_path(score: Floats) -> ScoredPath:
    """Return the path that moves the group with the largest true rise each time: SAMP without gradients.

    >>> greedy_path(np.array([0.0, 1.0, 2.0, 9.0])).order.tolist()
    [1, 0]
    """
    groups, order, moved = _count_groups(score), [], 0
    for _ in range(groups):
        left = [group for group in range(groups) if not moved >> group & 1]
        order.append(max(left, key=lambda group: score[moved | 1 << group]))
        moved |= 1 << order[-1]
    return evaluate_order(score, order)


def evaluate_order(score: Floats, order: Sequence[int] | Integers) -> ScoredPath:
    """Return the path of this order, given the score of every set.

    >>> evaluate_order(np.array([0.0, 1.0, 2.0, 5.0]), [0, 1]).area
    2.0
    """
    places = np.asarray(order, np.int64)
    credit = credits(score, places)
    curve = np.concatenate([score[:1], score[np.cumsum(np.left_shift(1, places))]])
    return ScoredPath(places, float(variance(credit)), float(curve.mean()))


def _gains(score: Floats, sets: Integers, bits: Integers, reward: Earning) -> Floats:
    """Return n d: the reward of moving each group next; −Inf for groups that have moved."""
    reached = sets[:, None] | bits
    return np.where(reached == sets[:, None], -np.inf, reward(score[sets][:, None], score[reached]))


def _levels(groups: int) -> list[Integers]:
    """Return the sets of 0, 1 … d groups."""
    sets = np.arange(2**groups)
    sizes = (sets[:, None] >> np.arange(groups) & 1).sum(1)
    return [sets[sizes == size] for size in range(groups + 1)]


def _count_groups(score: Floats) -> int:
    groups = len(score).bit_length() - 1
    if groups < 1 or len(score) != 2**groups:
        raise ValueError(f"expected the scores of all sets of d groups (2^d: 2, 4, 8 …), not {len(score)} scores.")
    if not np.isfinite(score).all():
        raise ValueError("the scores of some sets are NaN or Inf: no path is best.")
    return groups
