"""The walk: from x^S to x^E, one value and gradient per step (Algorithm 1).

`walk` is a generator; whoever wants attributions, records or curves reads the `Step`s it yields. Rows that arrive
leave the batch, so samples may take different numbers of steps.

Letters: r rows still walking, n elements, g groups, k steps, d directions that a row walks at once (mostly 1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor

from samp.groups import Grouping

CHECK_EVERY = 16
Function = TypeVar("Function", bound=Callable[..., Any])
StepState = tuple[Tensor, Tensor, Tensor]  # of a Step: guide (r n), moving (r g) and finite (r)


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
    length: Tensor  # r d, ‖x^E − x^S‖₁
    to_move: Tensor  # r 1, how many groups are short of their end at the start

    @classmethod
    def between(
        cls, start: Tensor, end: Tensor, sample: Tensor, sign: Tensor, groups: Grouping, *, directions_per_row: int = 1
    ) -> Route:
        """The route of these rows, whose elements are those of `directions_per_row` directions one after the other.

        No step could be cut from a walk that is nothing but rounding (from a blank image to its blur, say): it counts
        as infinitely long, so that no rule shortens its steps and the straight line is one of them.
        """
        each = (len(start), directions_per_row, -1)
        groups, way = groups.select(sample), (end - start).abs_()
        length = way.view(each).sum(2)
        rounding = (way <= end.abs().mul_(64 * torch.finfo(end.dtype).eps)).view(each).all(2)
        to_move = groups.any(start != end).sum(1, keepdim=True)
        return cls(start, end, sample, sign, groups, length.masked_fill(rounding, torch.inf), to_move)

    def keep(self, rows: Tensor) -> Route:
        """The route of these rows alone."""
        tensors = {f.name: getattr(self, f.name)[rows] for f in fields(self) if f.name not in ("groups", "start")}
        start = tensors["end"] if self.start is self.end else self.start[rows]
        return Route(start=start, groups=self.groups.select(rows), **tensors)

    def without_start(self) -> Route:
        """This route for those who do not ask for its start any more: the end takes its place, and no memory."""
        return replace(self, start=self.end)


@dataclass(frozen=True, eq=False)
class Step:
    """One point of the walk with all that is known there; each row's last Step stands on its end point."""

    number: int
    rows: Tensor  # r, which rows of the route at the outset
    previous_places: Tensor | None  # r, their places in the Step before; None if none left
    x: Tensor  # r n
    value: Tensor  # r, or r d where a row walks several directions at once
    gradient: Tensor  # r n, ∇f(x)
    guide: Tensor  # r n, after momentum (Eq. 10)
    moving: Tensor  # r g, which groups are short of their end
    finite: Tensor  # r, whether score and gradient are numbers, here and before

    def keep(self, rows: Tensor) -> Step:
        """This step for these rows alone."""
        guide = self.guide[rows]
        gradient = guide if self.gradient is self.guide else self.gradient[rows]
        others = (self.moving[rows], self.finite[rows])
        return Step(self.number, self.rows[rows], None, self.x[rows], self.value[rows], gradient, guide, *others)


class Scorer(Protocol):
    """What is walked on: the score (r, or r d) at points x (r n) of these samples (r), and the gradient (r n)."""

    def value_and_gradient(self, x: Tensor, samples: Tensor) -> tuple[Tensor, Tensor]: ...


class Fuse(Protocol):
    """Gives a function that does the same, perhaps compiled."""

    def __call__(self, function: Function) -> Function: ...


class Path(Protocol):
    """Proposes the next point from wherever a row stands; never trusts that its last proposal was taken.

    A path that proposes where a row stands already has stalled, unless it declares that it `may_pause`: then it will
    move on by itself, and only `most_steps` bounds the walk.
    """

    @property
    def may_pause(self) -> bool: ...
    def propose(self, step: Step, route: Route) -> Tensor: ...
    def least_steps(self, route: Route) -> int: ...
    def most_steps(self, route: Route) -> int: ...


class StepRule(Protocol):
    """Says how far towards a proposal a row may go."""

    def limit(self, x: Tensor, proposal: Tensor, route: Route) -> Tensor: ...
    def least_steps(self) -> int: ...
    def most_steps(self, route: Route) -> int: ...


def identity(function: Function) -> Function:
    """No fusing: the function itself."""
    return function


def walk(
    scorer: Scorer,
    route: Route,
    path: Path,
    rule: StepRule,
    momentum: float = 0.0,
    *,
    fuse: Fuse = identity,
    keep_start: bool = True,
    keep_gradients: bool = True,
) -> Iterator[Step]:
    """Every Step from start to end: value and gradient, guide (Eq. 10), propose (Eq. 8), limit (Eq. 9), move.

    A row leaves after the Step that stands on its end point. To find such rows the host waits for the device, so it
    looks only once a row can have arrived, and now and then before, for rows that failed or, where the path may not
    pause, stand still. `fuse` may compile the work between two gradients. What nobody will ask for need not be kept:
    the start of the route, where path and rule do without, and the gradients of the Steps, whose place their guides
    take.
    """
    stand, move, advance = fuse(_step_state), fuse(_move), fuse(_advance)
    ordinary = (route.to_move > 0) & route.length.isfinite()
    least_steps = max(path.least_steps(route), rule.least_steps()) if ordinary.all() else 0
    most_steps = path.most_steps(route) + rule.most_steps(route) + 8  # 8: rounding may cost a step here and there
    x, rows = route.start, torch.arange(len(route.start), device=route.start.device)
    route = route if keep_start else route.without_start()
    last: Step | None = None
    kept: Tensor | None = None
    for number in range(most_steps + 1):
        value, gradient = scorer.value_and_gradient(x, route.sample)
        look = number >= least_steps or number % CHECK_EVERY == CHECK_EVERY - 1
        proposed: Tensor | None = None
        if look or fuse is identity:
            known = (stand if last else _step_state)(x, value, gradient, last, route, momentum)
        else:  # compiled as one, they read memory once
            known, proposed = advance(x, value, gradient, last, route, momentum, path, rule)
        gradient = gradient if keep_gradients else known[0]
        step = Step(number, rows, kept, x, value, gradient, *known)
        yield step

        kept = _moving_rows(step, None if path.may_pause else last) if look else None
        if kept is not None:
            if len(kept) == 0:
                return
            step, route = step.keep(kept), route.keep(kept)
        # the first by itself, if it comes here: it would be compiled apart
        x = (move if last else _move)(step, route, path, rule) if proposed is None else proposed
        last, rows = step, step.rows
    raise _stall_error(most_steps, x.dtype)


def _step_state(
    x: Tensor, value: Tensor, gradient: Tensor, last: Step | None, route: Route, momentum: float
) -> StepState:
    """Guide (r n), which groups are short of their end (r g), and whether all are numbers (r), at points x."""
    guide = gradient if last is None or momentum == 0 else torch.lerp(gradient, last.guide, momentum)
    numbers = torch.isfinite(value) if value.ndim == 1 else torch.isfinite(value).all(1)
    finite = numbers & gradient.abs().amax(1).isfinite()  # a sum could overflow
    finite = finite if last is None else finite & last.finite  # once failed, for good: a momentum remembers
    return guide, route.groups.any(x != route.end), finite


def _move(step: Step, route: Route, path: Path, rule: StepRule) -> Tensor:
    return rule.limit(step.x, path.propose(step, route), route)


def _advance(
    x: Tensor,
    value: Tensor,
    gradient: Tensor,
    last: Step | None,
    route: Route,
    momentum: float,
    path: Path,
    rule: StepRule,
) -> tuple[StepState, Tensor]:
    """What is known at points x, and where to go from there (r n)."""
    known = _step_state(x, value, gradient, last, route, momentum)
    step = Step(-1, route.sample, None, x, value, gradient, *known)  # neither number nor rows are asked for in here
    return known, _move(step, route, path, rule)


def _moving_rows(step: Step, last: Step | None) -> Tensor | None:
    """The places of the rows that go on, or None if all do; asks the device once.

    Raises ValueError if a row stands where it stood at `last`; without `last`, none can.
    """
    going = step.moving.any(1) & step.finite
    stuck = torch.zeros_like(going) if last is None else going & (step.x == last.x).all(1)
    all_go, any_stuck = torch.stack([going.all(), stuck.any()]).tolist()
    if any_stuck:
        raise _stall_error(step.number, step.x.dtype)
    return None if all_go else going.nonzero().squeeze(1)


def _stall_error(number: int, dtype: torch.dtype) -> ValueError:
    return ValueError(
        f"the walk stands still at step {number}: its steps are too short for {dtype} to resolve; "
        "use a larger eta, or float64 inputs."
    )
