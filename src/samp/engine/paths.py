"""Paths and step rules: which point to move to next (Eq. 8), and how far towards it (Eq. 9).

A path proposes the next point from a row's current position, so any path works under any step rule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, overload

import torch
import torch.nn.functional as F
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
class GradedPath:
    """Eq. 8 without a hard cut: groups near the threshold move part of their way.

    Groups are lined up by gain, as in `SalientPath` with `full_distance`, each with what is left of its way: 1 at its
    start, 0 at its end. A step moves an amount A, worth that many whole groups. Those within (1 − softness)·A of the
    line's head move to their end, those beyond (1 + softness)·A stay, and in between the fraction falls evenly; a group
    moves by the mean over its stretch of the line. So two groups of nearly the same gain move nearly alike, and
    rounding cannot turn one walk into another at a single tie.

    `steps` and `growth` are those of `SalientPath`. With `softness` 0, whole groups move, but for one at the cut.
    """

    is_fixed: ClassVar[bool] = False
    may_pause: ClassVar[bool] = False
    needs_start: ClassVar[bool] = True
    steps: int
    softness: float = 0.8
    growth: float = 0.0

    def propose(self, step: Step, route: Route) -> Tensor:
        way = route.end - route.start
        whole = route.groups.pool(way.abs())  # r g
        gain = route.groups.pool(way.mul_(step.guide)) * route.sign
        left = torch.where(step.moving, (route.groups.pool((route.end - step.x).abs()) / whole).clamp(max=1), 0)
        fraction = graded_fractions(gain, left, self._amount(left, route), self.softness)
        return torch.lerp(step.x, route.end, route.groups.spread(fraction))  # at 1, exactly the end

    def least_steps(self, route: Route) -> int:
        return int(self._own_steps(route).min())

    def most_steps(self, route: Route) -> int:
        return self.steps

    def _amount(self, left: Tensor, route: Route) -> Tensor:
        """Return how many groups' worth each row moves next (r 1); all that is left, within rounding, if it is less."""
        to_move = route.to_move.clamp(min=1)
        gone = (1 - left.sum(1, keepdim=True) / to_move).clamp(0, 1)
        amount = next_step_share(1 / self._own_steps(route).to(left), gone, self.growth) * to_move
        return torch.where(left.sum(1, keepdim=True) <= 1.01 * amount, math.inf, amount)

    def _own_steps(self, route: Route) -> Tensor:
        """Return the number of steps of each row (r 1): no more than it has groups to move."""
        return route.to_move.clamp(1, self.steps)


def graded_fractions(gain: Tensor, left: Tensor, amount: Tensor, softness: float) -> Tensor:
    """Return the fraction of its remaining way that each group moves (r g), `amount` (r 1) groups' worth in all.

    >>> gain, left = torch.tensor([[4.0, 3.0, 2.0, 1.0]]), torch.ones(1, 4)
    >>> graded_fractions(gain, left, torch.tensor([[2.0]]), softness=0.0).tolist()
    [[1.0, 1.0, 0.0, 0.0]]
    >>> graded_fractions(gain, left, torch.tensor([[2.0]]), softness=1.0).tolist()
    [[0.875, 0.625, 0.375, 0.125]]
    """
    order = line_up(torch.where(left > 0, gain, -math.inf), left, (1 + softness) * amount)  # r m
    own = F.pad(left, (0, 1)).gather(1, order)
    width = (2 * softness * amount).clamp(min=1e-30)  # with softness 0, so short that it rounds away
    after = 0.5 + (amount - own.cumsum(1)) / width  # the fraction where a group's stretch of the line ends, unclamped
    before = after + own / width
    inside = after.clamp(0, 1), before.clamp(0, 1)
    mean = (before.clamp(min=1) - after.clamp(min=1) + (inside[1] - inside[0]) * (inside[0] + inside[1]) / 2) / (
        before - after
    )
    in_order = torch.where(before > after, mean, inside[0])  # a stretch too short to tell its ends apart is a point
    fraction = F.pad(torch.zeros_like(gain), (0, 1)).scatter_(1, order, in_order)[:, :-1]
    return torch.where(amount.isinf(), 1, fraction)


def line_up(gain: Tensor, left: Tensor, reach: Tensor) -> Tensor:
    """Return the groups by falling gain, ties by index (r m), at least those before `reach` (r 1) groups' worth.

    On a CPU, where sorting all would take 5 % of a small net's gradient, only the head of the line is sorted. Rows with
    a shorter head than others are filled up with g, the number of groups. For an endless reach, any groups will do.

    >>> gain, left = torch.tensor([[1.0, 5.0, 2.0, 5.0, 0.0, 0.5, 0.2, 0.1, 0.3]]), torch.ones(1, 9)
    >>> line_up(gain, left, torch.tensor([[2.0]])).tolist()
    [[1, 3, 2]]
    """
    if gain.device.type == "cpu":
        reach = reach.masked_fill(reach.isinf(), 0)
        usual = left.sum(1, keepdim=True) / (left > 0).sum(1, keepdim=True).clamp(min=1)
        size = 1 + float((1.3 * reach / usual.clamp(min=1e-6)).amax())  # 1.3: heads of the line have less left
        if 2 * size < gain.shape[1]:
            head = gain >= gain.topk(int(size), sorted=False).values.amin(1, keepdim=True)
            if bool(((left * head).sum(1, keepdim=True) >= 1.01 * reach).all()):  # 1.01: sums are rounded
                return _sort_some(gain, head)
    return gain.argsort(dim=1, descending=True, stable=True)


def _sort_some(gain: Tensor, chosen: Tensor) -> Tensor:
    """Return the chosen groups (r g) by falling gain, ties by index (r m), rows with fewer of them filled up with g."""
    counts = chosen.sum(1)
    row, group = chosen.nonzero(as_tuple=True)
    place = torch.arange(len(row)) - (counts.cumsum(0) - counts)[row]
    line = torch.full((len(gain), int(counts.max())), gain.shape[1])
    line[row, place] = group
    own = F.pad(gain, (0, 1), value=-math.inf).gather(1, line)
    return line.gather(1, own.argsort(dim=1, descending=True, stable=True))


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
