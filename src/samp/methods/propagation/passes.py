"""Forward under a `Propagation`, back by its rules, in batches that fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from samp.attribution import Attribution
from samp.engine.driver import Batches, RunOptions
from samp.engine.problem import Problem
from samp.methods._common import make_attribution
from samp.methods.propagation.mode import Propagation
from samp.methods.propagation.opaque import refuse_compiled

Rows = dict[str, Tensor]
"""One entry per row each: `values` (r n), perhaps `change` (r), and numbers for the details."""


def forward(mode: Propagation, problem: Problem, x: Tensor, samples: Tensor) -> tuple[Tensor, Tensor]:
    """Scores (r) of points x (r n) under the mode, and the leaf that gradients are taken at."""
    refuse_compiled(mode.method, problem.model)
    with torch.inference_mode(False), torch.enable_grad():
        leaf = x.detach().requires_grad_()
        carried = leaf.view_as(leaf)  # no leaf, which the mode would take for a parameter
        mode.begin(problem.model, leaf)
        with mode:
            score = problem.score(problem.output(carried, samples), samples)
        mode.check(score)
        problem.count_failures(score, samples)
        return score, leaf


def backward(score: Tensor, leaf: Tensor, again: bool = False) -> Tensor:
    """What the rules make of 1 at each score, at the leaf (r n); `again` if the way will be gone once more."""
    if not score.requires_grad:
        raise ValueError(
            "the score does not depend on the input: no gradient reaches it. "
            "Look for .detach(), .data, argmax or numpy inside the model, or a frozen (no_grad) forward."
        )
    (gradient,) = torch.autograd.grad(score.sum(), leaf, retain_graph=again, materialize_grads=True)
    return gradient


def run_in_batches(
    problem: Problem,
    run: RunOptions,
    work: Callable[[Problem, Tensor], tuple[Rows, Propagation | None]],
) -> tuple[Problem, Rows, Mapping[str, Any]]:
    """All samples' rows side by side, the problem with its target known, and what the first batch's mode covered."""
    batches = Batches(run.batch_size, problem.x.shape[1], problem.x.device)
    settled = problem.with_target(batches)
    everyone = torch.arange(problem.batch, device=problem.x.device)
    done = list(batches.map_slices(problem.batch, lambda first, last: work(settled, everyone[first:last])))
    mode = done[0][1]
    rows = {name: torch.cat([part[name] for part, _ in done]) for name in done[0][0]}
    return settled, rows, {**(mode.details if mode else {}), "batch_size": batches.size}


def attribute_in_batches(
    problem: Problem,
    run: RunOptions,
    method: object,
    work: Callable[[Problem, Tensor], tuple[Rows, Propagation | None]],
    gradients: int = 1,
    forwards: int = 0,
) -> Attribution:
    """The `Attribution` of a method that spends so many gradients, and forwards without one, on each sample."""
    settled, rows, details = run_in_batches(problem, run, work)
    change = rows.pop("change", None)
    found = make_attribution(
        settled, rows.pop("values"), method, run, gradients=gradients, forwards=forwards, change=change
    )
    numbers = {name: numbers.tolist() for name, numbers in rows.items()}
    return replace(found, details={**found.details, **details, **numbers})
