"""The walk: from x^S to x^E, one value and gradient per step (Algorithm 1).

`walk` is a generator; attributions, records and curves are computed from the `Step`s it yields. Rows that arrive leave
the batch, so samples may take different numbers of steps.

Letters: r rows still walking, n elements, g groups, k steps, d directions that a row walks at once (mostly 1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

import torch
from torch import Tensor

from samp.groups import Grouping

CHECK_EVERY = 16  # steps between checks for rows that failed or stand still
StepState = tuple[Tensor, Tensor, Tensor]  # of a Step: guide (r n), moving (r g) and finite (r)


@dataclass(frozen=True, eq=False)
class Route:
    """Where each row starts and ends, and which sample it belongs to; a sample has one row per direction.

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
        """Return the route of these rows, whose elements are those of `directions_per_row` directions, concatenated.

        A walk whose whole distance is rounding (from a blank image to its blur, say) cannot be split into steps: its
        length is infinite, so that no rule shortens a step and the straight line is a single one.
        """
        each = (len(start), directions_per_row, -1)
        groups, distance = groups.select(sample), (end - start).abs_()
        length = distance.view(each).sum(2)
        rounding = (distance <= end.abs().mul_(64 * torch.finfo(end.dtype).eps)).view(each).all(2)
        to_move = groups.any(start != end).sum(1, keepdim=True)
        return cls(start, end, sample, sign, groups, length.masked_fill(rounding, torch.inf), to_move)

    def keep(self, rows: Tensor) -> Route:
        """Return the route of these rows only."""
        tensors = {f.name: getattr(self, f.name)[rows] for f in fields(self) if f.name not in ("groups", "start")}
        start = tensors["end"] if self.start is self.end else self.start[rows]
        return Route(start=start, groups=self.groups.select(rows), **tensors)

    def join(self, other: Route, groups: Grouping) -> Route:
        """Return the route of these rows and, behind them, those of the other; `groups` are those of all samples."""
        names = [f.name for f in fields(self) if f.name not in ("groups", "start")]
        tensors = {name: torch.cat([getattr(self, name), getattr(other, name)]) for name in names}
        trimmed = self.start is self.end and other.start is other.end
        start = tensors["end"] if trimmed else torch.cat([self.start, other.start])
        return Route(start=start, groups=groups.select(tensors["sample"]), **tensors)

    def trim(self, path: Path, rule: StepRule) -> Route:
        """Return the route with its end in place of its start, if neither path nor rule needs the start.

        The memory of the start is then free as soon as the walk has left its first point.
        """
        return self if path.needs_start or rule.needs_start else replace(self, start=self.end)


@dataclass(frozen=True, eq=False)
class Step:
    """One point of the walk with its score and gradient; each row's last Step is at its end point."""

    number: int
    rows: Tensor  # r, indices into the rows of the initial route
    previous_places: Tensor | None
    """Where the first of these rows stand in the previous Step, any others begin here; None for the same rows."""
    x: Tensor  # r n
    value: Tensor  # r, or r d where a row walks several directions at once
    gradient: Tensor  # r n, ∇f(x)
    guide: Tensor  # r n, after momentum (Eq. 10)
    moving: Tensor  # r g, which groups are short of their end
    finite: Tensor  # r, whether score and gradient are finite, here and before
    began: Tensor | None = None
    """r: the number of the Step at which each row began; None if all began with the first."""

    @property
    def steps_taken(self) -> int | Tensor:
        """How many steps the rows have taken: a number if all have taken as many, or one for each row (r)."""
        return self.number if self.began is None else self.number - self.began

    def keep(self, rows: Tensor) -> Step:
        """Return this step for these rows only."""
        guide = self.guide[rows]
        gradient = guide if self.gradient is self.guide else self.gradient[rows]
        others = (self.moving[rows], self.finite[rows], None if self.began is None else self.began[rows])
        return Step(self.number, self.rows[rows], None, self.x[rows], self.value[rows], gradient, guide, *others)

    def first(self, count: int) -> Step:
        """Return this step for the first `count` rows, without copies."""
        if count == len(self.rows):
            return self
        tensors = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("number", "previous_places")}
        views: dict[str, Any] = {name: None if t is None else t[:count] for name, t in tensors.items()}
        return Step(number=self.number, previous_places=self.previous_places, **views)

    def drop_gradient(self) -> Step:
        """Return the step with its guide in place of the gradient, whose memory is then free."""
        return replace(self, gradient=self.guide)


class Scorer(Protocol):
    """Computes the score (r, or r d) and its gradient (r n) at points x (r n) of these samples (r)."""

    def value_and_gradient(self, x: Tensor, samples: Tensor) -> tuple[Tensor, Tensor]: ...


class Path(Protocol):
    """Proposes the next point from a row's current position, and does not assume that its last proposal was taken.

    - `needs_start`: whether it reads the route's start after the first step.
    - `is_fixed`: whether its points are known in advance, as in `samp.engine.fixed_paths.FixedPath`.
    - `may_pause`: whether it may propose a row's current point and move on later. Any other path that does so has
      stalled; the walk of a path that may pause is bounded by `most_steps` only.

    A path whose proposals do not depend on the number of the step may declare `counts_steps = False`: rows that wait
    then begin as soon as others arrive (`samp.engine.refill`).
    """

    @property
    def needs_start(self) -> bool: ...
    @property
    def is_fixed(self) -> bool: ...
    @property
    def may_pause(self) -> bool: ...
    def propose(self, step: Step, route: Route) -> Tensor: ...
    def least_steps(self, route: Route) -> int: ...
    def most_steps(self, route: Route) -> int: ...


class StepRule(Protocol):
    """Limits how far a row may move towards a proposal.

    - `needs_start`: whether it reads the route's start after the first step.
    - `shortens`: whether it may return another point than the proposal.
    """

    @property
    def needs_start(self) -> bool: ...
    @property
    def shortens(self) -> bool: ...
    def limit(self, x: Tensor, proposal: Tensor, route: Route) -> Tensor: ...
    def least_steps(self) -> int: ...
    def most_steps(self, route: Route) -> int: ...


def walk(scorer: Scorer, route: Route, path: Path, rule: StepRule, momentum: float = 0.0) -> Iterator[Step]:
    """Yield every Step from start to end (Algorithm 1): score, guide (Eq. 10), propose (Eq. 8), limit (Eq. 9), move.

    A row leaves after the Step at its end point. Raises ValueError if rows stand still or the path takes more steps
    than its bound.
    """
    least_steps, most_steps = step_bounds(route, path, rule)
    x, rows = route.start, torch.arange(len(route.start), device=route.start.device)
    route = route.trim(path, rule)
    last, places = None, None
    for number in range(most_steps + 1):
        value, gradient = scorer.value_and_gradient(x, route.sample)
        step = Step(number, rows, places, x, value, gradient, *step_state(x, value, gradient, last, route, momentum))
        del gradient  # otherwise it would be kept beside the next one
        yield step
        places = moving_rows(step, last, path) if is_check_due(number, least_steps) else None
        if places is not None:
            if len(places) == 0:
                return
            step, route = step.keep(places), route.keep(places)
        x = move(step, route, path, rule)
        last = step = step.drop_gradient()
        rows = step.rows
    raise stall_error(most_steps, x.dtype)


def step_bounds(route: Route, path: Path, rule: StepRule) -> tuple[int, int]:
    """Return the fewest steps after which a row can have arrived, and the most that the walk may take."""
    ordinary = (route.to_move > 0) & route.length.isfinite()
    least = max(path.least_steps(route), rule.least_steps()) if ordinary.all() else 0
    return least, path.most_steps(route) + rule.most_steps(route) + 8  # 8: rounding may cost a few steps


def step_state(
    x: Tensor, value: Tensor, gradient: Tensor, last: Step | None, route: Route, momentum: float
) -> StepState:
    """Return the guide (r n), which groups are short of their end (r g), and which rows are finite (r), at points x."""
    guide = gradient if last is None or momentum == 0 else torch.lerp(gradient, last.guide, momentum)
    numbers = torch.isfinite(value) if value.ndim == 1 else torch.isfinite(value).all(1)
    finite = numbers & gradient.abs().amax(1).isfinite()  # a sum could overflow
    finite = finite if last is None else finite & last.finite  # a failed row stays failed: momentum keeps the NaN
    return guide, route.groups.any(x != route.end), finite


def move(step: Step, route: Route, path: Path, rule: StepRule) -> Tensor:
    """Return the next points of the rows (r n): as far towards the path's proposal as the rule allows."""
    return rule.limit(step.x, path.propose(step, route), route)


def is_check_due(number: int, least_steps: int) -> bool:
    """Return whether to check for rows that have arrived, failed or stand still.

    The check makes the host wait for the device, so it is rare until a row can have arrived.
    """
    return number >= least_steps or number % CHECK_EVERY == CHECK_EVERY - 1


def moving_rows(step: Step, last: Step | None, path: Path) -> Tensor | None:
    """Return the indices of the rows that move on, or None if all do; synchronizes with the device once.

    Raises ValueError if a row has not moved since `last`, unless its path may pause.
    """
    going = step.moving.any(1) & step.finite
    stuck = torch.zeros_like(going)
    if last is not None and not path.may_pause:
        old = len(last.rows)  # those beyond have just begun
        stuck[:old] = going[:old] & (step.x[:old] == last.x).all(1)
    all_go, any_stuck = torch.stack([going.all(), stuck.any()]).tolist()
    if any_stuck:
        raise stall_error(step.number, step.x.dtype)
    return None if all_go else going.nonzero().squeeze(1)


def stall_error(number: int, dtype: torch.dtype) -> ValueError:
    """Return the error for a walk that makes no progress."""
    return ValueError(
        f"the walk stands still at step {number}: its steps are too short for {dtype} to resolve; "
        "use a larger eta, or float64 inputs."
    )
