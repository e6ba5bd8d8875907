"""Operations that torch runs in one, written as the smaller ones that propagation methods have rules for.

A rule runs these under its own mode (`with mode:`), which then sees each of the smaller operations.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from samp.methods.propagation.operation_call import Call

Divisor = Callable[[Tensor], Tensor]
"""Maps 1/√(mean square + eps) to what the normalised tensor is multiplied by: itself, or a constant of its value."""


def attend(call: Call) -> Tensor:
    """Return scaled dot-product attention as two products and a soft-max; raise NotImplementedError if it drops some.

    >>> from torch.utils._pytree import tree_flatten
    >>> attention = torch.nn.functional.scaled_dot_product_attention
    >>> q, k, v = torch.rand(3, 2, 4, 5, 6)
    >>> args, spec = tree_flatten(((q, k, v), {"is_causal": True}))
    >>> whole = attention(q, k, v, is_causal=True)
    >>> torch.allclose(attend(Call("scaled_dot_product_attention", attention, tuple(args), spec)), whole, atol=1e-6)
    True
    """
    query, key, value = (call.argument(*a) for a in ((0, "query"), (1, "key"), (2, "value")))
    mask, scale = call.argument(3, "attn_mask"), call.args_and_kwargs[1].get("scale")
    if call.argument(4, "dropout_p", 0.0):
        raise NotImplementedError("attention drops weights at random: call model.eval(), or set its dropout_p to 0.")
    if call.args_and_kwargs[1].get("enable_gqa"):
        key, value = (part.repeat_interleave(query.shape[-3] // part.shape[-3], -3) for part in (key, value))
    scores = (query @ key.transpose(-2, -1)) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if call.argument(5, "is_causal", False):
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
    mixed: Tensor = scores.softmax(-1) @ value
    return mixed


def layer_norm(call: Call, divisor: Divisor = lambda scale: scale) -> Tensor:
    """Return (x − mean) / √(variance + eps), scaled and shifted."""
    (x,) = call.inputs
    shape, weight, bias = (call.argument(*a) for a in ((1, "normalized_shape"), (2, "weight"), (3, "bias")))
    standard = standardise(x, len(shape), call.argument(4, "eps", 1e-5), divisor)
    return _scale_and_shift(standard, weight, bias)


def group_norm(call: Call, divisor: Divisor = lambda scale: scale) -> Tensor:
    """Return the layer normalisation of each group of channels, scaled and shifted by channel."""
    (x,) = call.inputs
    groups, weight, bias = (call.argument(*a) for a in ((1, "num_groups"), (2, "weight"), (3, "bias")))
    channels = (-1, *[1] * (x.ndim - 2))
    standard = standardise(x.reshape(len(x), groups, -1), 1, call.argument(4, "eps", 1e-5), divisor).view_as(x)
    return _scale_and_shift(standard, *(None if t is None else t.view(channels) for t in (weight, bias)))


def rms_norm(call: Call, divisor: Divisor = lambda scale: scale) -> Tensor:
    """Return x / √(mean square + eps), scaled."""
    (x,) = call.inputs
    shape, weight, eps = (call.argument(*a) for a in ((1, "normalized_shape"), (2, "weight"), (3, "eps")))
    eps = torch.finfo(x.dtype).eps if eps is None else eps
    return _scale_and_shift(x * divisor(_inverse_size(x, len(shape), eps)), weight, None)


def standardise(x: Tensor, axes: int, eps: float, divisor: Divisor) -> Tensor:
    """Return x with mean 0 and variance 1 over its last axes."""
    centred = x - x.mean(tuple(range(-axes, 0)), keepdim=True)
    return centred * divisor(_inverse_size(centred, axes, eps))


def _inverse_size(x: Tensor, axes: int, eps: float) -> Tensor:
    return (x.square().mean(tuple(range(-axes, 0)), keepdim=True) + eps).rsqrt()


def _scale_and_shift(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    scaled = x if weight is None else x * weight
    return scaled if bias is None else scaled + bias
