"""Backward rules for operations that are not linear: multipliers m with Δout = Σ m·Δin, exactly.

Δ is the difference to a reference. DeepLIFT's reference is the operation's input for the baseline; LRP's is zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from samp.methods.propagation.operation_call import Call, Forward, Pull
from samp.methods.propagation.operation_kinds import PIECEWISE_LINEAR, SINGULAR_AT_ZERO


def secant(call: Call, reference: Tensor) -> Forward:
    """Return the rescale rule: m = Δout / Δin, and the gradient halfway where Δin is too small to divide by."""

    def forward(x: Tensor) -> tuple[Tensor, Pull]:
        value = call.at(x)
        step = x - reference
        slopes = _gradient(call.at, (x + reference) / 2)
        multiplier = torch.where(_too_small(call.name, x, reference), slopes, (value - call.at(reference)) / step)
        return value, lambda grad: [grad * multiplier]

    return forward


def product(call: Call, references: Sequence[Tensor]) -> Forward:
    """Return the rule for a product of two inputs: each factor's m is the other's mean, so Δ(xy) = Δx·ȳ + Δy·x̄."""

    def forward(*inputs: Tensor) -> tuple[Tensor, Pull]:
        means = [(x + r) / 2 for x, r in zip(inputs, references, strict=True)]
        return call.at(*inputs), lambda grad: vjp(call.at, means, grad)

    return forward


def max_pool(call: Call, reference: Tensor) -> Forward:
    """Return the rule for max pooling: Δout goes to the position of the larger of the two maxima.

    There |Δin| ≥ |Δout|, so the multiplier lies between 0 and 1; pools may overlap.
    """

    def forward(x: Tensor) -> tuple[Tensor, Pull]:
        value, indices = _max_pool_with_indices(call, x)
        before, indices_before = _max_pool_with_indices(call, reference)
        indices = torch.where(value >= before, indices, indices_before)
        step = _gather(x - reference, indices)
        multiplier = torch.where(step == 0, 1.0, (value - before) / step)
        shape = x.shape
        return value, lambda grad: [_scatter(grad * multiplier, indices, shape)]

    return forward


def softmax(call: Call, reference: Tensor) -> Forward:
    """Return the rule for exp(log softmax), with a secant for exp: its slope lies between the two probabilities."""
    axis = call.argument(1, "dim")

    def forward(x: Tensor) -> tuple[Tensor, Pull]:
        value, before = x.log_softmax(axis), reference.log_softmax(axis)
        slope, parts = _exponential_slope(value, before), _logarithm_slopes(x, reference, axis)
        return call.at(x), lambda grad: [grad * slope - (grad * slope).sum(axis, keepdim=True) * parts]

    return forward


def log_softmax(call: Call, reference: Tensor) -> Forward:
    """Return the rule for x − log Σ exp(x), with secants for the logarithm and for exp."""
    axis = call.argument(1, "dim")

    def forward(x: Tensor) -> tuple[Tensor, Pull]:
        parts = _logarithm_slopes(x, reference, axis)
        return call.at(x), lambda grad: [grad - grad.sum(axis, keepdim=True) * parts]

    return forward


def vjp(function: Callable[..., Any], inputs: Sequence[Tensor], grad: Tensor) -> Sequence[Tensor]:
    """Return the vector-Jacobian product of a function at these inputs with `grad`."""
    with torch.enable_grad():
        leaves = [x.detach().requires_grad_() for x in inputs]
        return torch.autograd.grad(function(*leaves), leaves, grad)


def _gradient(function: Callable[..., Any], x: Tensor) -> Tensor:
    return vjp(function, [x], torch.ones_like(x))[0]


def _tolerance(x: Tensor) -> float:
    """Return the Δin below which the gradient halfway, wrong by O(Δ²), beats a quotient of rounded differences."""
    return float(torch.finfo(x.dtype).eps ** (1 / 3))


def _too_small(name: str, x: Tensor, reference: Tensor) -> Tensor:
    step = (x - reference).abs()
    if name in PIECEWISE_LINEAR.split():  # the quotient is as good as exact there
        return step == 0
    if name in SINGULAR_AT_ZERO.split():
        return step <= _tolerance(x) * torch.minimum(x.abs(), reference.abs())
    return step <= _tolerance(x)


def _exponential_slope(x: Tensor, reference: Tensor) -> Tensor:
    """Return the slope of the secant of exp; 0 where both are −∞, as masked entries are."""
    step = x - reference
    near = ~(step.abs() > _tolerance(x))  # also where the step is −∞ − −∞
    return torch.where(near, ((x + reference) / 2).exp(), (x.exp() - reference.exp()) / step)


def _logarithm_slopes(x: Tensor, reference: Tensor, axis: int) -> Tensor:
    """Return the multipliers of log Σ exp(x), which are finite however far apart x and its reference are."""
    top = torch.maximum(x.amax(axis, keepdim=True), reference.amax(axis, keepdim=True))
    s, s0 = ((t - top).exp().sum(axis, keepdim=True) for t in (x, reference))
    near = (s - s0).abs() <= _tolerance(x) * s0
    change = x.logsumexp(axis, keepdim=True) - reference.logsumexp(axis, keepdim=True)
    return torch.where(near, 2 / (s + s0), change / (s - s0)) * _exponential_slope(x - top, reference - top)


def _max_pool_with_indices(call: Call, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the maxima, and their indices in the flattened spatial axes."""
    args, kwargs = call.args_and_kwargs
    pool = getattr(F, call.name)
    value, indices = pool(x, *args[1:], **{**kwargs, "return_indices": True})
    return value, indices


def _gather(x: Tensor, indices: Tensor) -> Tensor:
    lead = x.ndim - _count_spatial(indices)
    return x.flatten(lead).gather(lead, indices.flatten(lead)).view_as(indices)


def _scatter(values: Tensor, indices: Tensor, shape: torch.Size) -> Tensor:
    lead = len(shape) - _count_spatial(indices)
    empty = values.new_zeros(shape).flatten(lead)
    return empty.scatter_add(lead, indices.flatten(lead), values.flatten(lead)).view(shape)


def _count_spatial(indices: Tensor) -> int:
    """Return the number of spatial axes of a batched pool: all after batch and channel."""
    return indices.ndim - 2
