"""The range of values that a search through inputs may use (IG2, AGI)."""

from __future__ import annotations

from torch import Tensor

from samp.baselines import InputBaselines, evaluate_baseline, label_baseline, wrap_tensors
from samp.engine.problem import Problem

Bounds = tuple[InputBaselines, InputBaselines] | None
"""A lowest and a highest value, each a number, tensor or callable as a baseline; None: each sample's own."""


def check_bounds(bounds: object) -> Bounds:
    """Return the bounds with tensors wrapped; raises ValueError for what is no pair."""
    if bounds is None:
        return None
    if not (isinstance(bounds, tuple | list) and len(bounds) == 2):
        raise ValueError(f"bounds is a pair of a lowest and a highest value, not {bounds!r}.")
    return wrap_tensors(tuple(bounds))  # type: ignore[return-value]  # a pair of what came


def value_range(bounds: Bounds, problem: Problem, seed: int) -> tuple[Tensor, Tensor]:
    """Return the lowest and the highest value (b 1 or b n); raise ValueError if they do not rise."""
    if bounds is None:
        return problem.x.aminmax(dim=1, keepdim=True)
    low, high = (problem.flatten(evaluate_baseline(one, problem.inputs, seed)) for one in bounds)
    if not bool((low < high).all()):
        raise ValueError(f"bounds are a lowest and a highest value, and {bounds!r} does not rise.")
    return low, high


def label_bounds(bounds: Bounds) -> Bounds:
    """Return the bounds as a result's label shows them: tensors by their kind."""
    return bounds and (label_baseline(bounds[0]), label_baseline(bounds[1]))
