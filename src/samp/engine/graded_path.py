"""The graded path: Eq. 8 without a hard cut between the groups that move and those that stay.

Letters: r rows, g groups, m groups in line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from samp.engine.paths import next_step_share
from samp.engine.walk import Route, Step


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
    in_order = in_order.clamp(0, 1)  # rounding may lead beyond
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
