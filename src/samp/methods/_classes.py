"""Shared by methods that look at the classes beside the explained one."""

from __future__ import annotations

import torch
from torch import Tensor

from samp.engine.problem import Problem
from samp.model_output import extract_scores
from samp.targets import TargetIndex


def explained_classes(problem: Problem) -> Tensor | None:
    """Return the explained class of each sample (b), or None where the target is no class."""
    target = problem.objective
    return target.index[:, 0] if isinstance(target, TargetIndex) and target.index.shape[1] == 1 else None


def count_classes(problem: Problem, method: object) -> int:
    """Return the number of classes; raises ValueError for a model whose output is not b × classes."""
    output = _first_output(problem)
    if output.ndim != 2 or output.shape[1] < 2:
        shape = tuple(output.shape)
        raise ValueError(
            f"{type(method).__name__} needs the probabilities of all classes, an output of b × classes, not {shape}: "
            "use a path method that needs none, such as 'coupled', 'ig' or 'ig2'."
        )
    return output.shape[1]


def has_softmax(problem: Problem) -> bool:
    """Return whether the target is a class of an output with a soft-max over classes."""
    if not isinstance(problem.objective, TargetIndex):
        return False
    output = _first_output(problem)
    return output.ndim >= 2 and output.shape[1] > 1


def _first_output(problem: Problem) -> Tensor:
    """Return the scores in the model's output for the first sample; raises TypeError if it is not known which."""
    first = torch.zeros(1, dtype=torch.long, device=problem.x.device)
    with torch.no_grad():
        return extract_scores(problem.output(problem.x[:1], first))
