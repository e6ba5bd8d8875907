"""From what a caller passes as `target=` to the objective that is explained, and back from what a result holds."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from samp.targets.classes import Class, Margin
from samp.targets.detection import Detection
from samp.targets.indices import ClassIndex, as_index, resolve_index
from samp.targets.objectives import Objective, TargetFunction
from samp.targets.regression import Regression
from samp.targets.segmentation import Segmentation
from samp.targets.similarity import Similarity
from samp.targets.tokens import Token

NamedTarget = Class | Margin | Segmentation | Detection | Similarity | Regression | Token
Target = ClassIndex | NamedTarget | Callable[..., Tensor] | None


def resolve_target(target: Target, batch: int, device: torch.device | str = "cpu") -> Objective | None:
    """Return the objective of `target`, checked against the number of samples, or None for None (the predicted class).

    An int or tuple applies to every sample; a list or tensor holds one entry per sample. A callable gets the outputs of
    *some* of the samples (walks end at different steps), so one that holds data of each sample takes a second
    argument, `samples`, and indexes by it. Raises TypeError or ValueError for what is not a target, and ValueError for
    a `Margin` of a class against itself.

    >>> resolve_target([3, 7], batch=2), resolve_target(Margin([3, 7], against=1), batch=2)
    (output at [3, 7], output at [3, 7] − output at [1, 1])
    >>> resolve_target((1, 2), batch=2)(torch.arange(18.0).view(2, 3, 3), torch.arange(2)).tolist()
    [5.0, 14.0]
    """
    if target is None:
        return None
    if isinstance(target, type):
        raise TypeError(f"the target is the class {target.__name__}: pass a class number or a function output -> b.")
    if isinstance(target, NamedTarget):
        return target.resolve(batch, device)
    if callable(target):
        return TargetFunction(target, _count_positional(target) > 1)
    return resolve_index(as_index(target, batch), device)


def explained_target(described: Any) -> Target:
    """Return the target of a result from what its details hold of it; None if that was a function of the output.

    >>> explained_target([3, [1, 2]]), explained_target({"of": [3], "against": [1]}), explained_target("f(output)")
    ([3, (1, 2)], Margin(of=[3], against=[1]), None)
    """
    if isinstance(described, dict):
        return Margin(*(_as_entries(described[side]) for side in ("of", "against")))
    return _as_entries(described) if isinstance(described, list) else None


def _as_entries(described: list[Any]) -> list[Any]:
    """Return one index per sample: JSON has lists where a target has tuples."""
    return [tuple(one) if isinstance(one, list) else one for one in described]


def _count_positional(function: Callable[..., Any]) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # some built-in callables have no signature
        return 1
    needed = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in needed and p.default is p.empty for p in parameters)
