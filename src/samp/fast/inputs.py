"""Inputs of a net's copy from points (r n), and value and gradient through it: scores (r) and gradients (r n)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only

from samp.model_output import extract_scores
from samp.targets import Model, TargetIndex


@dataclass(frozen=True)
class Feed:
    """Conversion of points to a net's inputs: one tensor per input in its shape and dtype, images in channels last.

    >>> feed = Feed.of((torch.rand(5, 3, 2, 2),))
    >>> [t.is_contiguous(memory_format=torch.channels_last) for t in feed.inputs(torch.rand(4, 12))]
    [True]
    """

    shapes: tuple[torch.Size, ...]
    dtypes: tuple[torch.dtype, ...]

    @classmethod
    def of(cls, inputs: tuple[Tensor, ...]) -> Feed:
        return cls(tuple(t.shape[1:] for t in inputs), tuple(t.dtype for t in inputs))

    def inputs(self, x: Tensor) -> list[Tensor]:
        """Return the inputs for points x (r n); never views of x, since a net may change them in place."""
        parts = zip(self._parts(x), self.dtypes, strict=True)
        return [part.to(dtype, copy=True, memory_format=_layout(part)) for part, dtype in parts]

    def fill(self, inputs: Sequence[Tensor], x: Tensor) -> None:
        """Write points x (r n) into the first rows of existing inputs."""
        for own, part in zip(inputs, self._parts(x), strict=True):
            own[: len(x)].copy_(part)

    def points(self, inputs: Sequence[Tensor], rows: int, dtype: torch.dtype) -> Tensor:
        """Return the first rows of inputs, or of their gradients, copied as points (r n); the inverse of `inputs`.

        >>> feed = Feed.of((torch.rand(1, 3, 2, 2), torch.rand(1, 5)))
        >>> x = torch.rand(4, 17)
        >>> torch.equal(feed.points(feed.inputs(x), 2, torch.float64), x[:2].double())
        True
        """
        parts = [t[:rows].to(dtype, copy=True, memory_format=torch.contiguous_format).flatten(1) for t in inputs]
        return parts[0] if len(parts) == 1 else torch.cat(parts, 1)

    def _parts(self, x: Tensor) -> list[Tensor]:
        """Return views of points x (r n) in the shapes of the inputs."""
        parts = torch.split(x, [math.prod(shape) for shape in self.shapes], 1) if len(self.shapes) > 1 else [x]
        return [part.view(len(x), *shape) for part, shape in zip(parts, self.shapes, strict=True)]


def _layout(part: Tensor) -> torch.memory_format:
    return torch.channels_last if part.ndim == 4 else torch.contiguous_format


def value_and_gradients(score: Callable[..., Tensor], *points: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Return the score (r) and its gradient with respect to each of the points.

    With several points, the gradient is 0 for one that the score does not depend on.

    >>> value_and_gradients(lambda x: (x**2).sum(1), torch.tensor([[3.0]]))
    (tensor([9.]), (tensor([[6.]]),))
    """
    with torch.inference_mode(False), torch.enable_grad():
        leaves = [point.detach().requires_grad_() for point in points]
        value = score(*leaves)
        gradients = torch.autograd.grad(value.sum(), leaves, materialize_grads=len(leaves) > 1)
    return value.detach(), gradients


def value_and_gradients_at(net: Model, inputs: Sequence[Tensor], index: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Return the scores at these indices (r k) of the output and their gradients with respect to the inputs.

    It needs no problem, so a graph can capture it. A net that changes its inputs in place raises here.

    >>> value_and_gradients_at(torch.nn.Identity(), [torch.tensor([[3.0, 4.0]])], torch.tensor([[1]]))
    (tensor([4.]), (tensor([[0., 1.]]),))
    """

    def score(*leaves: Tensor) -> Tensor:
        output = extract_scores(to_float32(net(*leaves)))
        output = output[:, None] if output.ndim == 1 else output
        place = _flat_index(index, output.shape[1:])
        return output.flatten(1).gather(1, place).squeeze(1)  # the backward of indexing would sort; gather's does not

    return value_and_gradients(score, *inputs)


def _flat_index(index: Tensor, sizes: torch.Size) -> Tensor:
    """Return indices (r k) into an output of these sizes as indices (r 1) into the flattened output."""
    place = index[:, :1]
    for axis, size in enumerate(sizes[1:], start=1):
        place = place * size + index[:, axis : axis + 1]
    return place


def to_float32(output: Any) -> Any:
    """Return the output with half-precision tensors in float32, which costs little and keeps objectives precise."""
    return tree_map_only(Tensor, lambda t: t.float() if t.dtype in (torch.bfloat16, torch.float16) else t, output)


def is_in_range(objective: TargetIndex, sizes: torch.Size | None) -> bool:
    """Return whether all indices of the objective lie within a sample's output of these sizes.

    If not, a graph must not be replayed, because it checks nothing.

    >>> is_in_range(TargetIndex(torch.tensor([[3]]), (3,)), torch.Size([3]))
    False
    """
    known = sizes or torch.Size([1])
    return len(known) == len(objective.most) and all(m < s for m, s in zip(objective.most, known, strict=True))
