"""Refill: a walk of many rows with room for some of them, in which whoever arrives makes room for the next row.

`samp.engine.walk.walk` takes one batch to its end, and the batch shrinks as rows arrive. Here the rows that wait begin
as soon as there is room (continuous batching), so calls of the model stay full until no row waits. The steps of each
row are those of `walk`, which is the oracle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import torch
from torch import Tensor

from samp.engine.walk import (
    Path,
    Route,
    Scorer,
    Step,
    StepRule,
    StepState,
    is_check_due,
    move,
    moving_rows,
    stall_error,
    step_bounds,
    step_state,
)
from samp.groups import Grouping


def can_refill(path: Path) -> bool:
    """Return whether rows at different steps of this path may share a batch: it declares that it does not count them.

    Rows of a path that is known in advance arrive together, so there would be nothing to refill.
    """
    return not path.is_fixed and not getattr(path, "counts_steps", True)


class WaitingRows:
    """The rows of a walk that have not begun; `make_route(first, last)` makes the route of some of them."""

    def __init__(self, total: int, make_route: Callable[[int, int], Route], groups: Grouping) -> None:
        self.total, self.make_route, self.groups, self.taken = total, make_route, groups, 0

    def take(self, room: int) -> tuple[Tensor, Route] | None:
        """Return the next rows (r) and their route, as many as there is room for; None if there are none."""
        first, last = self.taken, min(self.taken + room, self.total)
        if first == last:
            return None
        self.taken, route = last, self.make_route(first, last)
        return torch.arange(first, last, device=route.sample.device), route


class Pace:
    """The bounds on the steps of rows that began at different times, and the step at which the first of them began."""

    def __init__(self) -> None:
        self.least, self.most, self.first_began = 2**62, 0, 0

    def admit(self, bounds: tuple[int, int]) -> None:
        """Widen the bounds on a row's steps to these."""
        self.least, self.most = min(self.least, bounds[0]), max(self.most, bounds[1])

    def is_check_due(self, number: int) -> bool:
        """Return whether to check for rows that have arrived, failed or stand still."""
        return is_check_due(number - self.first_began, self.least)

    def check(self, step: Step) -> None:
        """Note which step the first of these rows began at; raise ValueError if it has taken all the steps it may."""
        self.first_began = step.number + 1
        if step.began is not None and len(step.began):
            self.first_began = int(step.began.min())
        if step.number - self.first_began >= self.most:
            raise stall_error(self.most, step.x.dtype)


def walk_with_refill(
    scorer: Scorer, waiting: WaitingRows, room: int, path: Path, rule: StepRule, momentum: float = 0.0
) -> Iterator[Step]:
    """Yield the Steps of all waiting rows, at most `room` of them in each; those that begin stand behind the others.

    Raises ValueError if rows stand still or take more steps than the path's bound.
    """
    pace, last, places = Pace(), None, None
    new = waiting.take(room)
    if new is None:
        return
    rows, route = new
    pace.admit(step_bounds(route, path, rule))
    x, began, route = route.start, torch.zeros_like(rows), route.trim(path, rule)
    for number in count():
        value, gradient = scorer.value_and_gradient(x, route.sample)
        state = _state_beside_new_rows(x, value, gradient, last, route, momentum)
        step = Step(number, rows, places, x, value, gradient, *state, began)
        del gradient, state  # otherwise they would be kept beside the next ones
        yield step
        places = None
        if pace.is_check_due(number):
            places = moving_rows(step, last, path)
            if places is not None:
                step, route = step.keep(places), route.keep(places)
            pace.check(step)
        x = move(step, route, path, rule) if len(step.rows) else step.x
        last = step = step.drop_gradient()
        rows, began = step.rows, began if places is None else began[places]
        new = waiting.take(room - len(rows)) if places is not None else None
        if new is not None:
            pace.admit(step_bounds(new[1], path, rule))
            x = torch.cat([x, new[1].start])
            began = torch.cat([began, torch.full_like(new[0], number + 1)])
            rows, route = torch.cat([rows, new[0]]), route.join(new[1].trim(path, rule), waiting.groups)
        elif not len(rows):
            return


def _state_beside_new_rows(
    x: Tensor, value: Tensor, gradient: Tensor, last: Step | None, route: Route, momentum: float
) -> StepState:
    """Return what `step_state` does, for rows of which those beyond the rows of `last` begin here."""
    if last is None or len(last.rows) == len(x):
        return step_state(x, value, gradient, last, route, momentum)
    guide, moving, finite = step_state(x, value, gradient, None, route, momentum)
    old = len(last.rows)
    if momentum:
        guide = torch.cat([torch.lerp(gradient[:old], last.guide, momentum), gradient[old:]])
    finite[:old] &= last.finite
    return guide, moving, finite
