"""Completeness (Eq. 2): does the credit sum to the change of the score?

The error of a map is |Σa − Δ|, Δ being f(image) − f(baseline), and the relative error is that over |Δ|. Where Δ is 0,
it is 0 if the credit sums to 0 too, else infinite. Errors are float64 where the device has it; those of an
`Attribution` are as exact as the dtype it was walked in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from samp.attribution import Attribution, Direction
from samp.devices import widen
from samp.engine.record import sum_rows
from samp.metrics.maps import Maps, as_float_tensor, feature_values


@dataclass(frozen=True, eq=False)
class Completeness:
    """The error of each map (b), in units of the score and relative to the score's change.

    >>> completeness(torch.tensor([[1.0, 2.0]]), torch.tensor([4.0]))
    Completeness(absolute=tensor([1.], dtype=torch.float64), relative=tensor([0.2500], dtype=torch.float64))
    """

    absolute: Tensor
    relative: Tensor


def completeness(maps: Maps, change: Tensor) -> Completeness:
    """The error of maps whose credit should sum to `change`: f(image) − f(baseline) of each sample (b).

    >>> completeness(torch.ones(2, 3, 4, 4), torch.tensor([48.0, 50.0])).relative
    tensor([0.0000, 0.0400], dtype=torch.float64)
    """
    credit = sum_rows(feature_values(maps))  # b
    changes = as_float_tensor(change).to(credit)
    if changes.shape != credit.shape:
        raise ValueError(
            f"there are {len(credit)} maps but changes of shape {tuple(changes.shape)}: give f(image) − f(baseline) of "
            "each sample."
        )
    return _errors(changes - credit, changes)


def completeness_of(result: Attribution) -> dict[Direction | Literal["both"], Completeness]:
    """The error of each direction that was walked, and of "both": what their sum misses of the summed changes.

    Errors of two directions may cancel in "both". A method whose credit is not meant to sum to any change (Grad-CAM,
    RISE) has NaN there and no direction: completeness does not apply to it.

    >>> import samp
    >>> result = samp.explain(torch.nn.Linear(4, 2).eval(), torch.rand(3, 4), target=1, method="ig")
    >>> errors = completeness_of(result)
    >>> list(errors), bool((errors["both"].absolute < 1e-5).all())
    (['to_image', 'both'], True)
    """
    if not isinstance(result, Attribution):
        raise TypeError(
            f"completeness_of reads an Attribution, not {type(result).__name__}: for maps alone, take "
            "completeness(maps, change) with f(image) − f(baseline) of each sample."
        )
    errors: dict[Direction | Literal["both"], Completeness] = {}
    change = torch.zeros_like(widen(result.residual))
    for direction, residual in result.residual_by_direction.items():
        errors[direction] = _errors(widen(residual), widen(result.score_change[direction]))
        change = change + result.score_change[direction]
    errors["both"] = _errors(widen(result.residual), change)
    return errors


def _errors(residual: Tensor, change: Tensor) -> Completeness:
    absolute = residual.abs()
    relative = torch.where(absolute == 0, 0, absolute / change.abs())  # x / 0 is infinite, 0 / 0 is none
    return Completeness(absolute, relative)
