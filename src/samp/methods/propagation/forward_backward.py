"""The forward pass under a `Propagation` and the backward pass by its rules, in batches that fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import torch
from torch import Tensor

from samp.attribution import Attribution
from samp.engine.batches import Batches
from samp.engine.driver import RunOptions
from samp.engine.problem import Problem
from samp.methods._common import make_attribution
from samp.methods.propagation.hidden_operations import refuse_compiled
from samp.methods.propagation.mode import Propagation

Rows = dict[str, Tensor]
"""One entry per row each: `values` (r n), perhaps `change` (r), and numbers for the details."""
Work = Callable[[Problem, Tensor], tuple[Rows, Propagation | None]]
"""Explains some samples (r) of a problem; the mode, if there is one, reports which operations it covered."""


def forward(mode: Propagation, problem: Problem, x: Tensor, samples: Tensor) -> tuple[Tensor, Tensor]:
    """Return the scores (r) of points x (r n) under the mode, and the leaf at which to take gradients.

    Raises NotImplementedError for a model or an operation that the mode has no rule for.
    """
    refuse_compiled(mode.method, problem.model)
    with torch.inference_mode(False), torch.enable_grad():
        leaf = x.detach().requires_grad_()
        inputs = leaf.view_as(leaf)  # the mode would take a leaf for a parameter
        mode.begin(problem.model, leaf)
        with mode:
            output = problem.output(inputs, samples)
            mode.on_output()
            score = problem.score(output, samples)
        mode.check_score(score)
        problem.count_failures(score, samples)
        return score, leaf


def backward(score: Tensor, leaf: Tensor, keep_graph: bool = False) -> Tensor:
    """Return what the rules propagate to the leaf (r n) from 1 at each score; raise ValueError if nothing can.

    `keep_graph` is for those who go back from the same scores again.
    """
    if not score.requires_grad:
        raise ValueError(
            "the score does not depend on the input: no gradient reaches it. "
            "Look for .detach(), .data, argmax or numpy inside the model, or a frozen (no_grad) forward."
        )
    (gradient,) = torch.autograd.grad(score.sum(), leaf, retain_graph=keep_graph, materialize_grads=True)
    return gradient


def run_in_batches(problem: Problem, run: RunOptions, work: Work) -> tuple[Problem, Rows, Mapping[str, object]]:
    """Return the problem with its target resolved, the rows of all samples, and details: batch size and operations.

    The operations are those that the first batch's mode covered.
    """
    batches = Batches(run.batch_size, problem.x.shape[1], problem.x.device)
    resolved = problem.with_target(batches)
    samples = torch.arange(problem.batch, device=problem.x.device)
    parts = list(batches.map_slices(problem.batch, lambda first, last: work(resolved, samples[first:last])))
    mode = parts[0][1]
    rows = {name: torch.cat([part[name] for part, _ in parts]) for name in parts[0][0]}
    return resolved, rows, {**(mode.details if mode else {}), "batch_size": batches.size}


def attribute_in_batches(
    problem: Problem, run: RunOptions, method: object, work: Work, gradients: int = 1, forwards: int = 0
) -> Attribution:
    """Return the `Attribution` of a method that explains samples by `work`.

    `gradients` and `forwards` (without a gradient) are what it spends on each sample.
    """
    resolved, rows, details = run_in_batches(problem, run, work)
    change = rows.pop("change", None)
    result = make_attribution(
        resolved, rows.pop("values"), method, run, gradients=gradients, forwards=forwards, change=change
    )
    numbers = {name: numbers.tolist() for name, numbers in rows.items()}
    return replace(result, details={**result.details, **details, **numbers})
