"""One operation of a model: what it was given, and how it is given a backward rule of ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import TreeSpec, tree_unflatten

Pull = Callable[[Tensor], Sequence[Tensor]]
"""From the gradient of an operation's value to those of its inputs."""
Forward = Callable[..., tuple[Tensor, Pull]]


@dataclass(frozen=True, eq=False)
class Call:
    """One operation, about to run: its inputs are the arguments that depend on the explained input."""

    name: str
    func: Callable[..., Any]
    leaves: tuple[Any, ...]
    spec: TreeSpec

    @property
    def places(self) -> list[int]:
        return [place for place, leaf in enumerate(self.leaves) if depends_on_input(leaf)]

    @property
    def inputs(self) -> list[Tensor]:
        return [self.leaves[place] for place in self.places]

    @property
    def args(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args, kwargs = tree_unflatten(list(self.leaves), self.spec)
        return args, kwargs

    def native(self) -> Any:
        """The operation as torch does it, with torch's gradient."""
        return self.at()

    def at(self, *inputs: Tensor) -> Any:
        """The operation at other inputs."""
        leaves = list(self.leaves)
        for place, tensor in zip(self.places, inputs, strict=False):
            leaves[place] = tensor
        args, kwargs = tree_unflatten(leaves, self.spec)
        return self.func(*args, **kwargs)

    def argument(self, place: int, name: str, default: Any = None) -> Any:
        """An argument given by place or by name."""
        args, kwargs = self.args
        return args[place] if len(args) > place else kwargs.get(name, default)


def apply_rule(forward: Forward, *inputs: Tensor) -> Tensor:
    """The value of `forward(*inputs)`, with what else it returns as its backward rule.

    >>> x = torch.ones(1, requires_grad=True)
    >>> apply_rule(lambda x: (x.clone(), lambda grad: [5 * grad]), x).backward()
    >>> x.grad
    tensor([5.])
    """
    value: Tensor = RuleFunction.apply(forward, *inputs)  # type: ignore[no-untyped-call]  # torch leaves it untyped
    return value


class RuleFunction(torch.autograd.Function):
    """An operation with a backward rule of ours; what the rule keeps is its own, out of reach of in-place changes."""

    @staticmethod
    def forward(ctx: Any, forward: Forward, *inputs: Tensor) -> Tensor:
        value, ctx.pull = forward(*inputs)
        return value

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, *ctx.pull(grads[0])


def depends_on_input(value: Any) -> bool:
    """Whether this depends on the explained input."""
    return isinstance(value, Tensor) and value.requires_grad and not value.is_leaf


def as_masked_fill(call: Call) -> Call:
    """x[mask] = number as x.masked_fill_(mask, number), which it is; any other operation as it came."""
    if call.name != "setitem" or len(call.leaves) != 3:
        return call
    target, mask, value = call.leaves
    is_mask = isinstance(mask, Tensor) and mask.dtype == torch.bool and mask.shape == target.shape
    is_number = value.ndim == 0 if isinstance(value, Tensor) else isinstance(value, int | float)
    return replace(call, name="masked_fill", func=Tensor.masked_fill_) if is_mask and is_number else call
