"""Correlations along the last axis, in float64; NaN where one side is constant."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from samp.devices import widen
from samp.lookup import look_up

CorrelationFunction = Callable[[Tensor, Tensor], Tensor]


def pearson(a: Tensor, b: Tensor) -> Tensor:
    """Pearson's correlation of a and b along the last axis; NaN where either is constant up to rounding.

    >>> a = torch.tensor([[1.0, 2.0, 3.0], [5.0, 5.0, 5.0]])
    >>> pearson(a, torch.tensor([-2.0, -4.0, -6.0])).tolist()
    [-1.0, nan]
    """
    undefined = _constant(a) | _constant(b)
    return _cosine(_centre(a), _centre(b)).masked_fill(undefined, torch.nan)


def spearman(a: Tensor, b: Tensor) -> Tensor:
    """Spearman's correlation along the last axis: Pearson's of the ranks, ties sharing their mean rank.

    >>> spearman(torch.tensor([1.0, 10.0, 100.0]), torch.tensor([-3.0, -2.0, 7.0])).item()
    1.0
    """
    undefined = _constant(a) | _constant(b)
    ranks = [_centre(mean_ranks(x)) for x in (a, b)]
    return _cosine(*ranks).masked_fill(undefined, torch.nan)


def mean_ranks(x: Tensor) -> Tensor:
    """Ranks from 1 along the last axis; equal values share the mean of theirs.

    >>> mean_ranks(torch.tensor([7.0, 3.0, 7.0, 9.0])).tolist()
    [2.5, 1.0, 2.5, 4.0]
    """
    ordered = x.sort(dim=-1).values.contiguous()
    below = torch.searchsorted(ordered, x.contiguous())
    up_to = torch.searchsorted(ordered, x.contiguous(), right=True)
    return (below + up_to + 1) / 2


CORRELATIONS: dict[str, CorrelationFunction] = {"pearson": pearson, "spearman": spearman}


def get_correlation(correlation: str | CorrelationFunction) -> CorrelationFunction:
    """Return the correlation of this name, or the given callable (a, b) → one number per row.

    >>> get_correlation("pearson") is pearson
    True
    """
    return correlation if callable(correlation) else look_up(correlation, CORRELATIONS, "correlation")


def _constant(x: Tensor) -> Tensor:
    """Rows that hold one value: integers exactly, floats up to the rounding of their dtype."""
    spread = x.amax(-1) - x.amin(-1)
    if not x.is_floating_point():
        return spread == 0
    return spread <= 4 * torch.finfo(x.dtype).eps * x.abs().amax(-1)


def _centre(x: Tensor) -> Tensor:
    """Deviations from the mean, scaled to at most 1 so that their squares neither underflow nor overflow."""
    wide = widen(x)
    wide = wide / _or_one(wide.abs().amax(-1, keepdim=True))
    deviation = wide - wide.mean(-1, keepdim=True)
    return deviation / _or_one(deviation.abs().amax(-1, keepdim=True))


def _or_one(x: Tensor) -> Tensor:
    return torch.where(x > 0, x, 1)


def _cosine(a: Tensor, b: Tensor) -> Tensor:
    lengths = (a.square().sum(-1) * b.square().sum(-1)).sqrt()
    return ((a * b).sum(-1) / lengths).clamp(-1, 1)
