"""Paths whose points are known in advance: the straight line of Integrated Gradients, and any other curve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import torch
from torch import Tensor

from samp.engine.walk import Path, Route, Step


class FixedPath(Path, Protocol):
    """A path whose points are known in advance: `at(route, number)` returns them (r n) after `number` whole steps."""

    @property
    def steps(self) -> int: ...
    def at(self, route: Route, number: int) -> Tensor: ...


@dataclass(frozen=True)
class StraightPath:
    """The straight line from start to end in `steps` equal parts: the path of Integrated Gradients.

    A row's progress is measured by its distance to the end, so a step rule may shorten any step.
    """

    needs_start: ClassVar[bool] = True
    is_fixed: ClassVar[bool] = True
    may_pause: ClassVar[bool] = False
    steps: int

    def propose(self, step: Step, route: Route) -> Tensor:
        to_go = (route.end - step.x).abs().sum(1, keepdim=True) / route.length
        rounding = torch.finfo(step.x.dtype).eps * route.end.abs().sum(1, keepdim=True) / route.length * self.steps
        slack = (0.01 + rounding).clamp(max=0.5)  # a point on the grid, up to rounding, counts as passed
        passed = ((1 - to_go) * self.steps + slack).floor()
        fraction = (passed + 1) / self.steps
        point = torch.lerp(route.start, route.end, fraction.to(route.end))
        return torch.where(passed + 1 < self.steps, point, route.end)

    def at(self, route: Route, number: int) -> Tensor:
        """Return the points (r n) after `number` whole steps; a walk that is only rounding takes a single step."""
        if number >= self.steps:  # on a GPU 55 / 55 may be less than 1
            return route.end
        fraction = torch.full_like(route.sign, number) / self.steps  # divided as in `propose`, for the same points
        return torch.where(route.length.isinf(), route.end, torch.lerp(route.start, route.end, fraction))

    def least_steps(self, route: Route) -> int:
        return self.steps

    def most_steps(self, route: Route) -> int:
        return self.steps


@dataclass(frozen=True)
class CurvePath:
    """A curve known in advance, in `steps` parts: `point(route, t)` returns its points (r n) at t, from 0 to 1.

    A row's position follows from the number of its step and not from x, so a curve is walked without a step rule. The
    curve may pause for some steps and then move on. It may reach its end point early: the row has nothing more to earn
    then, and leaves.
    """

    needs_start: ClassVar[bool] = True
    is_fixed: ClassVar[bool] = True
    may_pause: ClassVar[bool] = True
    steps: int
    point: Callable[[Route, float], Tensor]

    def propose(self, step: Step, route: Route) -> Tensor:
        return self.at(route, step.number + 1)

    def at(self, route: Route, number: int) -> Tensor:
        """Return the points (r n) after `number` steps."""
        return self.point(route, number / self.steps) if number < self.steps else route.end

    def least_steps(self, route: Route) -> int:
        return 0

    def most_steps(self, route: Route) -> int:
        return self.steps
