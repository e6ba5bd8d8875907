"""How far two maps of one image agree: per pixel, and as regions, after averaging over squares of pixels.

Maps of two devices, two seeds or two precisions may differ in every pixel and agree in every region.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor

from samp.checks import check_whole
from samp.devices import widen
from samp.metrics.correlations import pearson, spearman
from samp.metrics.maps import Maps, pixel_maps


@dataclass(frozen=True, eq=False)
class MapAgreement:
    """The correlations of two maps of each sample (b each); NaN where one of them is constant.

    >>> import torch
    >>> map_agreement(torch.eye(3)[None], torch.ones(1, 3, 3)).pearson.tolist()
    [nan]
    """

    PER_SAMPLE: ClassVar = ("pearson", "spearman")

    pearson: Tensor
    spearman: Tensor


def map_agreement(a: Maps, b: Maps, pool: int = 1) -> MapAgreement:
    """Return Pearson's and Spearman's correlation of two maps of each image, averaged over pool × pool pixels first.

    The maps may lie on two devices. Squares at the right and lower border are smaller where `pool` does not divide the
    size. Raises ValueError unless both have the same shape.

    >>> import torch
    >>> maps = torch.rand(2, 8, 8)
    >>> map_agreement(maps, maps.exp()).spearman, map_agreement(maps, -maps, pool=4).spearman
    (tensor([1., 1.], dtype=torch.float64), tensor([-1., -1.], dtype=torch.float64))
    """
    size = check_whole("pool", pool, 1)
    first, second = pixel_maps(a), pixel_maps(b)
    if first.shape != second.shape:
        raise ValueError(f"the maps have shapes {tuple(first.shape)} and {tuple(second.shape)}: give two of one size.")
    if first.device != second.device:
        first, second = first.cpu(), second.cpu()
    flat = [_pool(maps, size).flatten(1) for maps in (first, second)]  # b n
    return MapAgreement(pearson(*flat), spearman(*flat))


def _pool(maps: Tensor, size: int) -> Tensor:
    """b h' w': means over squares of pixels; a square that reaches over the border is its part inside."""
    if size == 1:
        return maps
    return F.avg_pool2d(widen(maps)[:, None], size, ceil_mode=True, count_include_pad=False)[:, 0]
