"""How fine a map is: the mean spatial frequency of its power spectrum; and its contours, without its pixel noise."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

CELLS = 28  # across: contours are those of a map averaged over squares, 8 pixels wide at 224


def mean_frequency(maps: Tensor) -> Tensor:
    """Return b: the mean frequency of each map (b h w) in cycles per pixel, weighed by its power without the mean.

    The finer the structures, the higher it is: about 0.38 for white noise. It has no threshold and does not depend on
    the map's scale. It does not tell fine detail from noise; no measure of a map alone does. NaN for a constant map.

    >>> stripes = torch.tensor([1.0, 0.0, -1.0, 0.0]).repeat(1, 8, 2)  # four pixels to a cycle
    >>> mean_frequency(stripes).round(decimals=6)
    tensor([0.2500], dtype=torch.float64)
    """
    values = maps.double()
    values = values - values.mean((1, 2), keepdim=True)
    values = values / values.abs().amax((1, 2), keepdim=True)  # NaN for a constant map; else no square overflows
    power: Tensor = torch.fft.fft2(values).abs() ** 2
    down, across = (torch.fft.fftfreq(n, dtype=torch.float64, device=maps.device) for n in maps.shape[1:])
    frequency: Tensor = (down[:, None] ** 2 + across**2).sqrt()
    return (power * frequency).sum((1, 2)) / power.sum((1, 2))


def contours(maps: Tensor) -> Tensor:
    """Return maps (… h w) as the strength of their edges: the length of the gradient of means over squares.

    A viewer's contours are of areas, and single pixels of a map are noisy: it is averaged over 28 × 28 squares first.

    >>> step = torch.cat([torch.zeros(28, 14), torch.ones(28, 14)], 1)
    >>> contours(step).amax(0).nonzero().flatten().tolist()  # the edge between columns 13 and 14
    [13]
    """
    height, width = (min(CELLS, side) for side in maps.shape[-2:])
    flat = maps.double().reshape(-1, 1, *maps.shape[-2:])
    coarse = F.adaptive_avg_pool2d(flat, (height, width))[:, 0]
    down, across = coarse.diff(dim=1)[:, :, :-1], coarse.diff(dim=2)[:, :-1]
    edges = (down**2 + across**2).sqrt()
    return edges.reshape(*maps.shape[:-2], *edges.shape[1:])
