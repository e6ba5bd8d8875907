"""Class numbers and tuple indices, checked and laid out with one row per sample."""

from __future__ import annotations

import operator
import reprlib
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from samp.checks import check_real
from samp.targets.objectives import TargetIndex

ClassIndex = int | Tensor | Sequence[int] | Sequence[tuple[int, ...]] | tuple[int, ...]
"""A class number or a tuple index for every sample, or a list or tensor with one for each."""


def resolve_index(index: Tensor, device: torch.device | str) -> TargetIndex:
    """Return the objective at these indices (b k); raises ValueError for a negative one."""
    if (index < 0).any():
        raise ValueError(f"target {int(index.min())} is out of range: classes count from 0.")
    return TargetIndex(index.to(device), tuple(index.amax(0).tolist()))


def as_index(target: Any, batch: int) -> Tensor:
    """Return the indices (b × k) on the CPU, where checking them does not wait for the device."""
    if isinstance(target, Tensor):
        check_real(target, "the target")
        index = target.detach().cpu()
        index = index.reshape(1).expand(batch) if index.numel() == 1 else index
    else:
        index = _targets_to_tensor(target, batch)
    if len(index) != batch:
        raise ValueError(f"there are {len(index)} targets for {batch} samples: give one for all or one for each.")
    if index.dtype == torch.bool or index.is_floating_point():
        raise TypeError(f"targets are class numbers, but these have dtype {index.dtype}: cast them with .long().")
    return index.reshape(batch, -1).long()


def _targets_to_tensor(target: Any, batch: int) -> Tensor:
    """Return a list of targets, one per sample, as a tensor; a tuple or a single number applies to all samples."""
    try:
        for_all = isinstance(target, tuple) or not isinstance(target, Iterable)
        return torch.tensor([_as_integers(one) for one in ([target] * batch if for_all else target)])
    except (TypeError, ValueError):
        raise TypeError(
            "a target is a class number, a tuple of numbers, a list or tensor with one of these per sample, "
            f"or a callable output -> b, not {reprlib.repr(target)}."
        ) from None


def _as_integers(entry: Any) -> Any:
    if isinstance(entry, bool):
        raise TypeError("True is no class number")
    return [operator.index(i) for i in entry] if isinstance(entry, tuple | list) else operator.index(entry)
