"""Paths: which point to go to next.

A path proposes from wherever a row stands, so any path works under any step rule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from samp.walk import Route, Step


@dataclass(frozen=True)
class Salient:
    """Eq. 8: per step, the `size` groups with the largest gradient projection go to their end.

    The gain of a group is the sum of g·(x^E − x) over its elements; walks that should lower the score take the
    smallest gains instead. Only groups short of their end are candidates, and ties go to the lowest index.
    """

    size: int

    def propose(self, step: Step, route: Route) -> Tensor:
        gain = route.sign * route.groups.pool(step.guide * (route.end - step.x))  # r g
        chosen = largest(gain, self.size, step.moving)
        return torch.where(route.groups.spread(chosen), route.end, step.x)

    def most_steps(self, route: Route) -> int:
        return math.ceil(route.groups.count / self.size)


def largest(gain: Tensor, size: int, candidates: Tensor) -> Tensor:
    """A mask of the `size` largest gains among the candidates of each row (all, if there are fewer), ties by index.

    Finds the smallest gain that still gets in and counts ties from the left: cheaper than a stable sort.

    >>> gain, everyone = torch.tensor([[1.0, 3.0, 1.0, 1.0]]), torch.ones(1, 4, dtype=torch.bool)
    >>> largest(gain, 2, everyone).int().tolist()
    [[1, 1, 0, 0]]
    """
    gain = gain.masked_fill(~candidates, -math.inf)
    last = gain.topk(min(size, gain.shape[1]), sorted=False).values.amin(1, keepdim=True)
    above = gain > last
    level = (gain == last) & candidates
    room = size - above.sum(1, keepdim=True)
    return above | (level & (level.cumsum(1) <= room))


@dataclass(frozen=True)
class Straight:
    """The straight line from start to end in `steps` equal parts: the path of Integrated Gradients.

    How far a row has come is read off its distance to the end, so a step rule may shorten any step.
    """

    steps: int

    def propose(self, step: Step, route: Route) -> Tensor:
        to_go = (route.end - step.x).abs().sum(1, keepdim=True) / route.length
        passed = (
            (1 - to_go) * self.steps + 0.01
        ).floor()  # 0.01: a point on the grid, give or take rounding, counts as passed
        fraction = (passed + 1) / self.steps
        point = torch.lerp(route.start, route.end, fraction.to(route.end))
        return torch.where(passed + 1 < self.steps, point, route.end)

    def most_steps(self, route: Route) -> int:
        return self.steps
