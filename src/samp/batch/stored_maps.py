"""Maps as they are stored: each divided by its largest magnitude, since float16 alone would lose small credit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from samp.batch.tables import Row


@dataclass(frozen=True, eq=False)
class StoredMap:
    """A map divided by `scale`, its largest magnitude."""

    map: Tensor
    scale: Tensor


RowAndMap = tuple[Row, StoredMap | None]
"""The row of an input, and its map unless the input failed."""


def encode_maps(maps: Tensor, dtype: torch.dtype) -> list[StoredMap]:
    """Return each of these maps (b *d) as it is stored, on the CPU; the arithmetic is done on the device of `maps`.

    >>> [one.map.tolist() for one in encode_maps(torch.tensor([[1e-9, 2e-9], [0.0, 0.0]]), torch.float16)]
    [[0.5, 1.0], [0.0, 0.0]]
    """
    full = maps.detach()
    full = full.to(torch.promote_types(full.dtype, torch.float32))
    largest = full.abs().flatten(1).nan_to_num().amax(1) if full.numel() else full.new_zeros(len(full))
    scale = torch.where(largest > 0, largest, 1.0)
    divided = (full / scale.view(-1, *[1] * (full.ndim - 1))).to(dtype)
    return [StoredMap(*one) for one in zip(divided.cpu(), scale.cpu(), strict=True)]


def stack_maps(maps: Sequence[StoredMap | None], dtype: torch.dtype) -> dict[str, Tensor]:
    """Return maps of one shape as one tensor `maps`, with NaN where there is none, and their scales as `scale`.

    >>> stack_maps([*encode_maps(torch.tensor([[1.0, 2.0]]), torch.float16), None], torch.float16)["maps"]
    tensor([[0.5000, 1.0000],
            [   nan,    nan]], dtype=torch.float16)
    """
    shape = next((one.map.shape for one in maps if one is not None), torch.Size((0,)))
    missing = StoredMap(torch.full(shape, torch.nan, dtype=dtype), torch.tensor(1.0))
    each = [one or missing for one in maps]
    return {"maps": torch.stack([one.map for one in each]), "scale": torch.cat([one.scale[None] for one in each])}
