"""Paths: which point to go to next.

A path proposes from wherever a row stands, so any path works under any step rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from samp.walk import Route, Step


@dataclass(frozen=True)
class Salient:
    """Eq. 8: per step, the `size` groups with the largest gradient projection go to their end.

    The gain of a group is the sum of g·(x^E − x) over its elements; walks that should lower the score take the
    smallest gains instead. Only groups short of their end are candidates, and ties go to the lowest index. Without a
    `size`, each row moves as many of its own groups as take it there in `steps`.
    """

    size: int | None = None
    steps: int = 14

    def propose(self, step: Step, route: Route) -> Tensor:
        gain = route.sign * route.groups.pool(step.guide * (route.end - step.x))  # r g
        chosen = largest(gain, self.size or route.groups.share(self.steps), step.moving)
        return route.groups.where(chosen, route.end, step.x)

    def least_steps(self, route: Route) -> int:
        sizes = self.size or route.groups.share(self.steps)
        return int(
            ((route.to_move + sizes - 1) // sizes).min()
        )  # whole numbers: a GPU may make 14.000001 of 50176 / 3584

    def most_steps(self, route: Route) -> int:
        return math.ceil(route.groups.count / self.size) if self.size else self.steps


def largest(gain: Tensor, size: int | Tensor, candidates: Tensor) -> Tensor:
    """A mask of the `size` largest gains among the candidates of each row (all, if there are fewer), ties by index.

    Finds the smallest gain that still gets in and counts ties from the left: cheaper than a stable sort. A tensor
    gives each row a size of its own (r 1).

    >>> gain, everyone = torch.tensor([[1.0, 3.0, 1.0, 1.0]]), torch.ones(1, 4, dtype=torch.bool)
    >>> largest(gain, 2, everyone).int().tolist()
    [[1, 1, 0, 0]]
    """
    gain = torch.where(candidates, gain, -math.inf)
    if isinstance(size, int):
        last = gain.topk(min(size, gain.shape[1]), sorted=False).values.amin(1, keepdim=True)
    else:
        last = gain.sort(1, descending=True).values.gather(1, size.expand(len(gain), 1) - 1)
    last = last.clamp(min=torch.finfo(gain.dtype).min)  # with too few candidates, still above what is no candidate
    above, level = gain > last, gain == last
    room = size - above.sum(1, keepdim=True)
    return above | (level & (level.cumsum(1, dtype=torch.int32) <= room))


@dataclass(frozen=True)
class Straight:
    """The straight line from start to end in `steps` equal parts: the path of Integrated Gradients.

    How far a row has come is read off its distance to the end, so a step rule may shorten any step.
    """

    steps: int

    def propose(self, step: Step, route: Route) -> Tensor:
        to_go = (route.end - step.x).abs().sum(1, keepdim=True) / route.length
        rounding = torch.finfo(step.x.dtype).eps * route.end.abs().sum(1, keepdim=True) / route.length * self.steps
        slack = (0.01 + rounding).clamp(max=0.5)  # a point on the grid, give or take rounding, counts as passed
        passed = ((1 - to_go) * self.steps + slack).floor()
        fraction = (passed + 1) / self.steps
        point = torch.lerp(route.start, route.end, fraction.to(route.end))
        return torch.where(passed + 1 < self.steps, point, route.end)

    def least_steps(self, route: Route) -> int:
        return self.steps

    def most_steps(self, route: Route) -> int:
        return self.steps


@dataclass(frozen=True)
class Curve:
    """A curve known beforehand, in `steps` parts: `point(route, t)` is where its rows stand at t, from 0 to 1.

    Where a row stands is told by the number of its step and not by x, so a curve is walked without a step rule. It may
    run into its end point early: from there on the row has nothing to earn, and leaves.
    """

    steps: int
    point: Callable[[Route, float], Tensor]

    def propose(self, step: Step, route: Route) -> Tensor:
        number = step.number + 1
        return self.point(route, number / self.steps) if number < self.steps else route.end

    def least_steps(self, route: Route) -> int:
        return 0

    def most_steps(self, route: Route) -> int:
        return self.steps
