"""The walk: from x^S to x^E, one value and gradient per step (Algorithm 1).

`walk` is a generator; whoever wants attributions, records or curves reads the `Step`s it yields. Rows that arrive
leave the batch, so samples may take different numbers of steps.

Letters: r rows still walking, n elements, g groups, k steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from samp.groups import Grouping
from samp.problem import Problem


@dataclass(frozen=True, eq=False)
class Route:
    """Where each row starts and ends, and whose sample it is; a sample has one row per direction.

    `sign` is +1 where the score should rise (to the image) and −1 where it should fall (to the baseline).
    """

    start: Tensor  # r n
    end: Tensor  # r n
    sample: Tensor  # r
    sign: Tensor  # r 1
    groups: Grouping
    length: Tensor  # r 1, ‖x^E − x^S‖₁

    @classmethod
    def between(cls, start: Tensor, end: Tensor, sample: Tensor, sign: Tensor, groups: Grouping) -> Route:
        return cls(start, end, sample, sign, groups.select(sample), (end - start).abs().sum(1, keepdim=True))

    def keep(self, rows: Tensor) -> Route:
        """The route of these rows alone."""
        groups, sample = self.groups.select(rows), self.sample[rows]
        return Route(self.start[rows], self.end[rows], sample, self.sign[rows], groups, self.length[rows])


@dataclass(frozen=True, eq=False)
class Step:
    """One point of the walk with all that is known there; each row's last Step stands on its end point."""

    number: int
    rows: Tensor  # r, which rows of the route at the outset
    kept: Tensor | None  # r, their places in the Step before; None if none left
    x: Tensor  # r n
    value: Tensor  # r
    gradient: Tensor  # r n, ∇f(x)
    guide: Tensor  # r n, after momentum (Eq. 10)
    moving: Tensor  # r g, which groups are short of their end
    finite: Tensor  # r, whether score and gradient are numbers

    def keep(self, rows: Tensor) -> Step:
        """This step for these rows alone."""
        tensors = (self.x, self.value, self.gradient, self.guide, self.moving, self.finite)
        return Step(self.number, self.rows[rows], None, *[t[rows] for t in tensors])


class Path(Protocol):
    """Proposes the next point from wherever a row stands; never trusts that its last proposal was taken."""

    def propose(self, step: Step, route: Route) -> Tensor: ...
    def most_steps(self, route: Route) -> int: ...


class StepRule(Protocol):
    """Says how far towards a proposal a row may go."""

    def limit(self, x: Tensor, proposal: Tensor, route: Route) -> Tensor: ...
    def most_steps(self) -> int: ...


def walk(problem: Problem, route: Route, path: Path, rule: StepRule, momentum: float = 0.0) -> Iterator[Step]:
    """Every Step from start to end: value and gradient, guide (Eq. 10), propose (Eq. 8), limit (Eq. 9), move.

    A row leaves after the Step that stands on its end point, or whose score or gradient is not finite.
    """
    x, guide, kept = route.start, None, None
    rows = torch.arange(len(x), device=x.device)
    most_steps = path.most_steps(route) + rule.most_steps() + 8  # 8: rounding may cost a step here and there
    for number in range(most_steps + 1):
        value, gradient = problem.value_and_gradient(x, route.sample)
        guide = gradient if guide is None or momentum == 0 else torch.lerp(gradient, guide, momentum)
        moving = route.groups.any(x != route.end)
        finite = value * 0 + (gradient * 0).sum(1) == 0  # 0·Inf is NaN, and unlike a plain sum this cannot overflow
        step = Step(number, rows, kept, x, value, gradient, guide, moving, finite)
        yield step

        going, kept = moving.any(1) & finite, None
        if not going.all():
            kept = going.nonzero().squeeze(1)
            if len(kept) == 0:
                return
            step, route = step.keep(kept), route.keep(kept)
            rows, guide = step.rows, step.guide
        x = rule.limit(step.x, path.propose(step, route), route)
        still = (x == step.x).all(1, keepdim=True)
        if still.any():
            x = torch.where(still & _only_rounding_left(step.x, route.end), route.end, x)
            if (x == step.x).all(1).any():
                raise _stalled(number, x.dtype)
    raise _stalled(most_steps, x.dtype)


def _only_rounding_left(x: Tensor, end: Tensor) -> Tensor:
    """r 1: rows so near their end that no step rule can cut the rest (a blank image and its blur, say)."""
    limits = torch.finfo(x.dtype)
    return torch.isclose(x, end, rtol=64 * limits.eps, atol=limits.tiny).all(1, keepdim=True)


def _stalled(number: int, dtype: torch.dtype) -> ValueError:
    return ValueError(
        f"the walk stands still after step {number}: its steps are too short for {dtype} to resolve; "
        "use a larger eta, or float64 inputs."
    )
