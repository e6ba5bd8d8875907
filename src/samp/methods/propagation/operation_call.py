"""One operation of a model as a value: its arguments, its result at other inputs, and how it gets a backward rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import torch
from torch import Tensor
from torch.utils._pytree import TreeSpec, tree_unflatten

Pull = Callable[[Tensor], Sequence[Tensor]]
"""Maps the gradient of an operation's value to the gradients of its inputs."""
Forward = Callable[..., tuple[Tensor, Pull]]
"""Maps the inputs of an operation to its value and the backward rule for it."""


@dataclass(frozen=True, eq=False)
class Call:
    """An operation that is about to run. Its *inputs* are the arguments that depend on the explained input."""

    name: str
    """Without the marks of operators and in-place forms: "add" for `__iadd__` (see `canonical`)."""
    func: Callable[..., Any]
    flat_args: tuple[object, ...]
    """All arguments in one list: positional and keyword ones, nested lists opened."""
    spec: TreeSpec

    @property
    def input_positions(self) -> list[int]:
        """The positions of the inputs in `flat_args`."""
        return [position for position, value in enumerate(self.flat_args) if depends_on_input(value)]

    @property
    def inputs(self) -> list[Tensor]:
        return [value for value in self.flat_args if depends_on_input(value)]

    @property
    def args_and_kwargs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args, kwargs = tree_unflatten(list(self.flat_args), self.spec)
        return args, kwargs

    def run(self) -> Any:
        """Return what torch returns for the operation, with torch's gradient."""
        return self.at()

    def at(self, *inputs: Tensor) -> Any:
        """Return the operation's result at other inputs; those left out stay as they are."""
        values = list(self.flat_args)
        for position, tensor in zip(self.input_positions, inputs, strict=False):
            values[position] = tensor
        args, kwargs = tree_unflatten(values, self.spec)
        return self.func(*args, **kwargs)

    def argument(self, position: int, name: str, default: object = None) -> Any:
        """Return an argument that may have been given by position or by name."""
        args, kwargs = self.args_and_kwargs
        return args[position] if len(args) > position else kwargs.get(name, default)


def apply_rule(forward: Forward, *inputs: Tensor) -> Tensor:
    """Return the value of `forward(*inputs)`, whose gradient is the backward rule that `forward` returns with it.

    >>> x = torch.ones(1, requires_grad=True)
    >>> apply_rule(lambda x: (x.clone(), lambda grad: [5 * grad]), x).backward()
    >>> x.grad
    tensor([5.])
    """
    value: Tensor = RuleFunction.apply(forward, *inputs)  # type: ignore[no-untyped-call]  # torch leaves it untyped
    return value


class RuleFunction(torch.autograd.Function):
    """An operation with a backward rule of its own.

    The rule's tensors are not saved by autograd, so that in-place changes after the operation raise no error.
    """

    @staticmethod
    def forward(ctx: Any, forward: Forward, *inputs: Tensor) -> Tensor:
        value, ctx.pull = forward(*inputs)
        return value

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return None, *ctx.pull(grads[0])


def depends_on_input(value: object) -> TypeGuard[Tensor]:
    """Return whether a value depends on the explained input.

    Parameters are detached before an operation runs, so nothing else has a gradient.
    """
    return isinstance(value, Tensor) and value.requires_grad and not value.is_leaf


def as_masked_fill(call: Call) -> Call:
    """Return `x[mask] = number` as the equal `x.masked_fill_(mask, number)`, and any other call unchanged."""
    if call.name != "setitem" or len(call.flat_args) != 3:
        return call
    target, mask, value = call.flat_args
    is_mask = (
        isinstance(target, Tensor)
        and isinstance(mask, Tensor)
        and mask.dtype == torch.bool
        and mask.shape == target.shape
    )
    is_number = value.ndim == 0 if isinstance(value, Tensor) else isinstance(value, int | float)
    return replace(call, name="masked_fill", func=Tensor.masked_fill_) if is_mask and is_number else call
