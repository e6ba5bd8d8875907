"""Value and gradient of a net that is called through a copy: points (r n) in, scores (r) and gradients (r n) out."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only

from samp.objectives import Index


@dataclass(frozen=True)
class Feed:
    """How points become a net's inputs: one tensor per input in its shape and dtype, images in channels last.

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
        """The inputs for points x (r n); never views of x, since a net may change them in place."""
        sizes = [math.prod(shape) for shape in self.shapes]
        parts = torch.split(x, sizes, 1) if len(sizes) > 1 else [x]
        return [
            part.view(len(x), *shape).to(dtype, copy=True, memory_format=_layout(shape))
            for part, shape, dtype in zip(parts, self.shapes, self.dtypes, strict=True)
        ]


def _layout(shape: torch.Size) -> torch.memory_format:
    return torch.channels_last if len(shape) == 3 else torch.contiguous_format


def differentiated(score: Callable[[Tensor], Tensor], x: Tensor) -> tuple[Tensor, Tensor]:
    """Score (r) and its gradient (r n) at points x.

    >>> differentiated(lambda x: (x**2).sum(1), torch.tensor([[3.0]]))
    (tensor([9.]), tensor([[6.]]))
    """
    with torch.inference_mode(False), torch.enable_grad():
        leaf = x.detach().requires_grad_()
        value = score(leaf)
        (gradient,) = torch.autograd.grad(value.sum(), leaf)
    return value.detach().to(x.dtype), gradient


def at_index(net: Callable[..., Any], feed: Feed, x: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
    """Score and gradient of the outputs at these places (r k): what a graph can capture, since it needs no problem.

    >>> at_index(torch.nn.Identity(), Feed.of((torch.rand(1, 2),)), torch.tensor([[3.0, 4.0]]), torch.tensor([[1]]))
    (tensor([4.]), tensor([[0., 1.]]))
    """

    def score(leaf: Tensor) -> Tensor:
        output: Tensor = widened(net(*feed.inputs(leaf)))
        output = output[:, None] if output.ndim == 1 else output
        place = _place(index, output.shape[1:])
        return output.flatten(1).gather(1, place).squeeze(1)  # backwards, an index would sort; this does not

    return differentiated(score, x)


def _place(index: Tensor, sizes: torch.Size) -> Tensor:
    """r 1: places (r k) in an output of these sizes, as places in the output laid flat."""
    place = index[:, :1]
    for axis, size in enumerate(sizes[1:], start=1):
        place = place * size + index[:, axis : axis + 1]
    return place


def widened(output: Any) -> Any:
    """The output with its halves in float32: what is done with it is for the objective to say, and small."""
    return tree_map_only(Tensor, lambda t: t.float() if t.dtype in (torch.bfloat16, torch.float16) else t, output)


def in_range(objective: Index, sizes: torch.Size | None) -> bool:
    """Whether a sample's output of these sizes has all the places that are asked for; where it has not, a graph must
    not be replayed: it checks nothing.

    >>> in_range(Index(torch.tensor([[3]]), (3,)), torch.Size([3]))
    False
    """
    known = sizes or torch.Size([1])
    return len(known) == len(objective.most) and all(m < s for m, s in zip(objective.most, known, strict=True))
