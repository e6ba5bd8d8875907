"""The compiled walk: it yields the same Steps as `samp.engine.walk.walk`, against which it is tested.

The work between two gradients is one pass over memory instead of ten.
"""

from __future__ import annotations

from collections.abc import Iterator

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
from samp.fast.compiled import compile_function


def compiled_walk(scorer: Scorer, route: Route, path: Path, rule: StepRule, momentum: float) -> Iterator[Step]:
    """Yield every Step from start to end, as `samp.engine.walk.walk` does.

    The first step is not compiled: it has no last step, so it would need a compilation of its own.
    """
    state_of, move_on, advance = compile_function(step_state), compile_function(move), compile_function(_advance)
    least_steps, most_steps = step_bounds(route, path, rule)
    x, rows = route.start, torch.arange(len(route.start), device=route.start.device)
    route = route.trim(path, rule)
    last, places = None, None
    for number in range(most_steps + 1):
        value, gradient = scorer.value_and_gradient(x, route.sample)
        check = is_check_due(number, least_steps)
        proposal: Tensor | None = None
        if check:
            state = (state_of if last else step_state)(x, value, gradient, last, route, momentum)
        else:  # compiled as one function, which reads memory once
            state, proposal = advance(x, value, gradient, last, route, momentum, path, rule)
        step = Step(number, rows, places, x, value, gradient, *state)
        del gradient, state
        yield step
        places = moving_rows(step, last, path) if check else None
        if places is not None:
            if len(places) == 0:
                return
            step, route = step.keep(places), route.keep(places)
        x = (move_on if last else move)(step, route, path, rule) if proposal is None else proposal
        last = step = step.drop_gradient()
        rows = step.rows
    raise stall_error(most_steps, x.dtype)


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
    """Return the state at points x and the next points (r n)."""
    state = step_state(x, value, gradient, last, route, momentum)
    step = Step(-1, route.sample, None, x, value, gradient, *state)  # number and rows are not read here
    return state, move(step, route, path, rule)
