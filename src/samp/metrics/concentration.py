"""Concentration: on how few features does an attribution lie?

A feature is a pixel for b h w and b c h w maps (channels summed), an element for any other b *d, and a group for an
`Attribution`. Group numbers that no element of a sample has are no features of that sample, where the attribution
knows how many there are. Results are float64 where the device has it, since the variance of large credit leaves
float32's range; all three depend on one sample alone.

| map of d features | variance | Gini | top share p |
|---|---|---|---|
| all zero | 0 | 0 | ⌈p·d⌉ / d |
| constant | 0 | 0 | ⌈p·d⌉ / d |
| one feature has it all, C | C² (d − 1) / d² | 1 − 1/d | 1 |
| d = 1 | 0 | 0 | 1 |
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from samp.attribution import Attribution
from samp.checks import check_share
from samp.devices import widen
from samp.metrics.maps import Maps, feature_values

TOP = 0.1


@dataclass(frozen=True, eq=False)
class Concentration:
    """How concentrated each map is (b each), by three measures.

    >>> concentration(torch.tensor([[0.7, 0.2, 0.1], [0.4, 0.3, 0.3]])).gini
    tensor([0.4000, 0.0667], dtype=torch.float64)
    """

    variance: Tensor
    gini: Tensor
    top_share: Tensor
    """The share of the credit on the top 10 % of features."""


def concentration(maps: Maps) -> Concentration:
    """Variance (Def. 1), Gini coefficient and share of the top 10 %, of each map.

    >>> concentration(torch.eye(10)).top_share[0]
    tensor(1., dtype=torch.float64)
    """
    return Concentration(*_measure_each(maps, _all_measures).unbind(1))


def variance(maps: Maps) -> Tensor:
    """b: Var(a) = 1/d Σ (a_i − ā)², which Def. 1 of the paper maximises.

    It grows with the square of the map's scale, so it ranks maps of one sum: those of a complete method, or maps that
    were divided by their sum.

    >>> variance(torch.tensor([[0.7, 0.2, 0.1], [0.4, 0.3, 0.3]]))  # Def. 1's own example
    tensor([0.0689, 0.0022], dtype=torch.float64)
    """
    return _measure_each(maps, _variance)


def gini(maps: Maps) -> Tensor:
    """b: the Gini coefficient of |a|, from 0 (all equal) to 1 − 1/d (one feature has it all).

    G = Σ_i (2i − d − 1) |a|_(i) / (d Σ|a|), |a|_(i) being the i-th smallest. Negative credit counts by its size: a map
    and its negative are equally concentrated. 0 for a map of zeros.

    >>> gini(torch.tensor([[0.0, 0.0, 0.0, -2.0], [1.0, -1.0, 1.0, 1.0]]))
    tensor([0.7500, 0.0000], dtype=torch.float64)
    """
    return _measure_each(maps, lambda values: _gini(_scale_and_sort(values)))


def top_share(maps: Maps, share: float = TOP) -> Tensor:
    """b: the share of Σ|a| held by the ⌈share·d⌉ features with the largest |a|.

    A map of zeros counts as a constant map.

    >>> top_share(torch.tensor([[4.0, -4.0, 1.0, 1.0]]), 0.5)
    tensor([0.8000], dtype=torch.float64)
    """
    part = check_share(share)
    return _measure_each(maps, lambda values: _top_share(_scale_and_sort(values), part))


def _measure_each(maps: Maps, measure: Callable[[Tensor], Tensor]) -> Tensor:
    """b, or b k: this measure (b d → b, or b k) of the features that each sample has."""
    values = feature_values(maps)
    counts = _counts(maps, values)
    if min(counts) == values.shape[1]:
        return measure(values)
    ordered = values.gather(1, values.abs().argsort(1, descending=True))  # numbers without an element hold 0: last
    return torch.cat([measure(row[None, :count]) for row, count in zip(ordered, counts, strict=True)])


def _counts(maps: Maps, values: Tensor) -> list[int]:
    """How many features each sample has: as an attribution states it, else as many as there are values."""
    known = maps.details.get("features") if isinstance(maps, Attribution) else None
    counts: list[int] = known or [values.shape[1]]
    return counts * len(values) if len(counts) == 1 else counts


def _all_measures(values: Tensor) -> Tensor:
    """b 3: all three measures, with one sort, which is most of the work."""
    sizes = _scale_and_sort(values)
    return torch.stack([_variance(values), _gini(sizes), _top_share(sizes, TOP)], 1)


def _variance(values: Tensor) -> Tensor:
    return widen(values).var(1, correction=0)


def _gini(sizes: Tensor) -> Tensor:
    d = sizes.shape[1]
    weights = 2 * torch.arange(1, d + 1, device=sizes.device) - d - 1
    whole = sizes.sum(1)
    return ((weights * sizes).sum(1) / (d * whole).where(whole > 0, 1)).clamp(min=0)


def _top_share(sizes: Tensor, share: float) -> Tensor:
    count = math.ceil(round(share * sizes.shape[1], 6))
    whole = sizes.sum(1)
    return torch.where(whole > 0, sizes[:, -count:].sum(1) / whole, count / sizes.shape[1])


def _scale_and_sort(values: Tensor) -> Tensor:
    """b d: |a| from small to large, the largest at 1, so that no sum overflows or vanishes."""
    sizes = widen(_sort_rows(values.abs()))
    largest = sizes[:, -1:]
    return sizes / largest.where(largest > 0, 1)


def _sort_rows(sizes: Tensor) -> Tensor:
    """b d, the smallest first."""
    # on a CPU NumPy is faster: torch computes the indices too
    if sizes.device.type == "cpu" and sizes.dtype in (torch.float32, torch.float64):
        return torch.from_numpy(np.sort(sizes.detach().numpy(), 1))
    return sizes.sort(1).values
