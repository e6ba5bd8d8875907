"""Where queries, keys and heads are in the product of attention weights with what they mix.

`matmul` fixes it: queries and keys are the last two axes of the weights, and queries the last but one of the result.
`einsum` says it by its letters.
"""

from __future__ import annotations

import string
from dataclasses import dataclass

from torch import Tensor

from samp.methods.propagation.operation_call import Call

INSTEAD = "use 'attnlrp', 'libragrad', or a method that needs only gradients, such as 'consensus' or 'ig'"


@dataclass(frozen=True, eq=False)
class Mix:
    """One product of attention weights and values, with the axes in the order of the letters given."""

    weights: Tensor
    """As the product takes them."""
    values: Tensor
    mixed: Tensor
    """What the product returns."""
    order: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
    """How to permute weights to * q k, values to * k d, and what is mixed to * q d."""

    def order_weights(self, tensor: Tensor) -> Tensor:
        """Return the weights, or their gradient, as * q k, where * are samples and heads."""
        return tensor.permute(self.order[0])

    def order_values(self) -> Tensor:
        """Return what is mixed as * k d."""
        return self.values.permute(self.order[1])

    def order_mixed(self, tensor: Tensor) -> Tensor:
        """Return what the product returned, or its gradient, as * q d."""
        return tensor.permute(self.order[2])


def read_mix(call: Call, weights: Tensor, result: Tensor, method: str) -> Mix:
    """Return the product of these weights with other activations; raise NotImplementedError if its axes are unclear."""
    values = next(tensor for tensor in call.inputs if tensor is not weights)
    if call.name == "einsum":
        return Mix(weights, values, result, _read_letters(call, weights, values, result, method))
    if result.shape[:-1] != weights.shape[:-1] or values.ndim != weights.ndim:
        raise _unclear_error(method, call.name, weights, values)
    axes = tuple(range(weights.ndim))
    return Mix(weights, values, result, (axes, axes, axes))


def _read_letters(
    call: Call, weights: Tensor, values: Tensor, result: Tensor, method: str
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    equation = call.args_and_kwargs[0][0]
    unclear = _unclear_error(method, f"einsum {equation!r}", weights, values)
    operands = [value for value in call.flat_args if isinstance(value, Tensor)]
    if not isinstance(equation, str) or "->" not in equation or len(operands) != 2:
        raise unclear
    left, _, out = equation.replace(" ", "").partition("->")
    places = [_spell_out(term, tensor.ndim) for term, tensor in zip(left.split(","), operands, strict=True)]
    w, v = places if operands[0] is weights else reversed(places)
    o = _spell_out(out, result.ndim)
    shared = "".join(letter for letter in w if letter in v and letter in o)
    keys = "".join(letter for letter in w if letter in v and letter not in o)
    queries = "".join(letter for letter in w if letter in o and letter not in v)
    width = "".join(letter for letter in v if letter in o and letter not in w)
    wanted = (shared + queries + keys, shared + keys + width, shared + queries + width)
    if len(keys) != 1 or len(queries) != 1 or [*map(sorted, wanted)] != [sorted(w), sorted(v), sorted(o)]:
        raise unclear
    by_weights, by_values, by_mixed = (
        tuple(term.index(letter) for letter in order) for term, order in zip((w, v, o), wanted, strict=True)
    )
    return by_weights, by_values, by_mixed


def _spell_out(term: str, axes: int) -> str:
    """Return the letters of all axes; "..." becomes as many capitals from the end of the alphabet as it stands for.

    >>> _spell_out("...qk", 4)
    'YZqk'
    """
    missing = axes - len(term.replace("...", ""))
    return term.replace("...", string.ascii_uppercase[26 - missing :])


def _unclear_error(method: str, operation: str, weights: Tensor, values: Tensor) -> NotImplementedError:
    shapes = " and ".join(" × ".join(map(str, tensor.shape)) for tensor in (weights, values))
    return NotImplementedError(
        f"{method} cannot tell tokens from heads in {operation} of {shapes} numbers; it reads `weights @ values` with "
        f"the same axes before the last two, and einsum of two factors with one letter each for queries and keys: "
        f"{INSTEAD}."
    )
