"""Paths and step rules: which point to move to next (Eq. 8), and how far towards it (Eq. 9).

A path proposes the next point from a row's current position, so any path works under any step rule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, overload

import torch
from torch import Tensor

from samp.engine.walk import Route, Step


@dataclass(frozen=True)
class SalientPath:
    """Eq. 8: per step, the `size` groups with the largest gradient projection move to their end.

    The gain of a group is the sum of g·(x^E − x) over its elements; walks that should lower the score take the
    smallest gains instead. Only groups short of their end are candidates, and ties go to the lowest index. Without a
    `size`, each row moves as many of its own groups per step as it needs to arrive in `steps`.

    With `full_distance`, the gain is the sum of g·(x^E − x^S): a group that a step rule stopped half way keeps its full
    gain, and tends to move on in the next step.

    With `growth`, from 0 to 1, the first steps move fewer groups and the last ones more, `size` on average, in the same
    number of steps; the size of a step follows from how many groups have arrived. A size of 1 stays 1.

    `unordered_ties` lets the device order equal gains, which is faster.
    """

    is_fixed: ClassVar[bool] = False
    may_pause: ClassVar[bool] = False
    counts_steps: ClassVar[bool] = False
    size: int | None = None
    steps: int = 14
    full_distance: bool = False
    growth: float = 0.0
    unordered_ties: bool = False

    @property
    def needs_start(self) -> bool:
        return self.full_distance

    def compiled_form(self) -> SalientPath:
        """Return this path for compiled walks, in which the device orders ties."""
        return replace(self, unordered_ties=True)

    def propose(self, step: Step, route: Route) -> Tensor:
        way = route.end - (route.start if self.full_distance else step.x)
        gain = route.sign * route.groups.pool(way.mul_(step.guide))  # r g; in place: memory costs more than work
        most = self.most_groups(route) if self.size else None  # sizes per row would make the host wait
        chosen = (select_largest_unordered if self.unordered_ties else select_largest)(
            gain, self._sizes(step, route), step.moving, most
        )
        return route.groups.where(chosen, route.end, step.x)

    def least_steps(self, route: Route) -> int:
        sizes = self.size or route.groups.share(self.steps)
        if self.growth:
            own = torch.as_tensor(sizes).to(route.to_move).expand_as(route.to_move)
            pairs = torch.cat([route.to_move, own], 1)
            return min(_count_steps(count, size, self.growth) for count, size in set(map(tuple, pairs.tolist()))) - 1
        # integer arithmetic: on a GPU 50176 / 3584 may be 14.000001
        return int(((route.to_move + sizes - 1) // sizes).min())

    def most_steps(self, route: Route) -> int:
        return math.ceil(route.groups.count / self.size) if self.size else self.steps

    def most_groups(self, route: Route) -> int:
        """Return the largest number of groups that a row may move in one step."""
        size = self.size or int(torch.as_tensor(route.groups.share(self.steps)).max())
        return min(math.ceil((1 + self.growth) * size) + 1, route.groups.count) if self.growth else size

    def _sizes(self, step: Step, route: Route) -> int | Tensor:
        """Return how many groups each row moves (r 1), or one number for all rows."""
        size = self.size or route.groups.share(self.steps)
        if not self.growth or (isinstance(size, int) and size == 1):
            return size
        to_move = route.to_move.clamp(min=1)
        gone = 1 - step.moving.sum(1, keepdim=True) / to_move
        exact = next_step_share(size / to_move, gone, self.growth) * to_move
        sizes = (exact * (1 - 1e-6)).ceil().long().clamp(min=1)  # 1e-6: 1920.0001 counts as 1920
        return sizes if isinstance(size, int) else torch.where(size > 1, sizes, size)


def _count_steps(count: int, size: int, growth: float) -> int:
    """Return how many steps of growing size it takes to move `count` groups, up to one more or less for rounding.

    >>> _count_steps(100, 10, growth=0.5), _count_steps(100, 10, growth=0.0), _count_steps(3, 1, growth=0.5)
    (10, 10, 3)
    """
    if size == 1:
        return count
    moved = steps = 0
    while moved < count:
        moved += max(math.ceil(count * next_step_share(size / count, moved / count, growth) * (1 - 1e-6)), 1)
        steps += 1
    return steps


def select_largest(gain: Tensor, size: int | Tensor, candidates: Tensor, most: int | None = None) -> Tensor:
    """Return a mask of the `size` largest gains among each row's candidates (all, if there are fewer), ties by index.

    Finds the smallest gain to select and counts ties from the left, which is cheaper than a stable sort. A tensor
    `size` (r 1) gives each row its own; that is cheaper with `most`, which bounds every row's size or candidates.

    >>> gain, everyone = torch.tensor([[1.0, 3.0, 1.0, 1.0]]), torch.ones(1, 4, dtype=torch.bool)
    >>> select_largest(gain, 2, everyone).int().tolist()
    [[1, 1, 0, 0]]
    """
    gain = torch.where(candidates, gain, -math.inf)
    if isinstance(size, int):
        last = gain.topk(min(size, gain.shape[1]), sorted=False).values.amin(1, keepdim=True)
    else:
        most = most or gain.shape[1]
        last = gain.topk(most).values.gather(1, size.expand(len(gain), 1).clamp(max=most) - 1)
    last = last.clamp(min=torch.finfo(gain.dtype).min)  # with too few candidates, still above -inf
    above, level = gain > last, gain == last
    room = size - above.sum(1, keepdim=True)
    return above | (level & (level.cumsum(1, dtype=torch.int32) <= room))


def select_largest_unordered(gain: Tensor, size: int | Tensor, candidates: Tensor, most: int | None = None) -> Tensor:
    """Like `select_largest`, but the device orders ties: nothing is counted, so it is faster on a GPU.

    >>> gain, candidates = torch.tensor([[1.0, 3.0, 2.0]]), torch.tensor([[True, True, False]])
    >>> select_largest_unordered(gain, 2, candidates).int().tolist()
    [[1, 1, 0]]
    >>> select_largest_unordered(gain, torch.tensor([[1]]), candidates).int().tolist()
    [[0, 1, 0]]
    """
    gain = torch.where(candidates, gain, -math.inf)
    if isinstance(size, int):
        first = gain.topk(min(size, gain.shape[1]), sorted=False).indices
        return torch.zeros_like(candidates).scatter(1, first, True) & candidates
    first = gain.topk(min(most or gain.shape[1], gain.shape[1])).indices
    within_size = torch.arange(first.shape[1], device=gain.device) < size
    return torch.zeros_like(candidates).scatter(1, first, within_size.expand_as(first)) & candidates


@dataclass(frozen=True)
class Unlimited:
    """No step rule: every proposal is taken whole."""

    needs_start: ClassVar[bool] = False
    shortens: ClassVar[bool] = False

    def limit(self, x: Tensor, proposal: Tensor, route: Route) -> Tensor:
        return proposal

    def least_steps(self) -> int:
        return 0

    def most_steps(self, route: Route) -> int:
        return 0


@dataclass(frozen=True)
class MaxL1:
    """Infinitesimal constraint (Eq. 9): no step is longer than `ratio` of the whole walk, in L1.

    Where a row walks several directions at once, the bound holds for each: the one that moves furthest decides.

    A step within the bound, up to rounding, is returned unchanged, so a walk can land on its end point exactly, without
    an extra step for a rounding error.

    With `growth`, from 0 to 1, the bound grows along the walk, and is `ratio` on average.
    """

    needs_start: ClassVar[bool] = False
    shortens: ClassVar[bool] = True
    ratio: float
    growth: float = 0.0

    def limit(self, x: Tensor, proposal: Tensor, route: Route) -> Tensor:
        way = (proposal - x).abs_().view(*route.length.shape, -1).sum(2)  # r d
        longest = self._ratio(x, route) * route.length
        fraction = (longest / way).masked_fill(way == 0, math.inf).amin(1, keepdim=True)  # r 1
        within = fraction >= 1 - torch.finfo(x.dtype).eps ** 0.5
        return torch.lerp(x, proposal, fraction.masked_fill(within, 1))  # at 1, lerp returns the proposal exactly

    def least_steps(self) -> int:
        return math.floor(0.99 / max(self.ratio, 1e-300))  # 0.99: rounding may make steps slightly longer

    def most_steps(self, route: Route) -> int:
        return math.ceil(1 / max(self.ratio, 1e-300)) * route.length.shape[1]  # 1 / 1e-320 is Inf

    def _ratio(self, x: Tensor, route: Route) -> float | Tensor:
        """Return the bound at the current points of the rows, for each direction (r d)."""
        if not self.growth:
            return self.ratio
        to_go = (route.end - x).abs().view(*route.length.shape, -1).sum(2) / route.length
        return next_step_share(self.ratio, (1 - to_go).clamp(0, 1), self.growth)


@overload
def next_step_share(mean: float, gone: float, growth: float) -> float: ...
@overload
def next_step_share(mean: float | Tensor, gone: Tensor, growth: float) -> Tensor: ...
def next_step_share(mean: float | Tensor, gone: float | Tensor, growth: float) -> float | Tensor:
    """Return the length of the next step as a share of the whole distance, of which the share `gone` is behind.

    Steps grow evenly, from 1 − growth to 1 + growth times their `mean`: after the share τ of the steps, the share
    p(τ) = (1 − growth)·τ + growth·τ² of the distance is done. The next step leads from p(τ) = gone to p(τ + mean), so
    it depends only on the row's position, and the walk takes 1 / mean steps whatever the growth.

    >>> import torch
    >>> first = next_step_share(0.5, torch.tensor(0.0), growth=0.5)  # of two steps
    >>> first, next_step_share(0.5, first, growth=0.5)
    (tensor(0.3750), tensor(0.6250))
    """
    return mean * (((1 - growth) ** 2 + 4 * growth * gone) ** 0.5 + growth * mean)
