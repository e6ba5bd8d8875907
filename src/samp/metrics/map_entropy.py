"""The entropy of a map's values: how complex it is (Hedström et al., 2024)."""

from __future__ import annotations

import torch
from torch import Tensor

from samp.checks import check_whole
from samp.devices import widen
from samp.metrics.maps import Maps, pixel_maps


def map_entropy(maps: Maps, bins: int = 100) -> Tensor:
    """b: −Σ p log p over a histogram of each map's values, with bins of equal width from its smallest to its largest.

    In nats: 0 for a constant map, at most log(bins).

    >>> map_entropy(torch.tensor([[[0.0, 1.0]], [[5.0, 5.0]]]), 2).tolist()
    [0.6931471805599453, 0.0]
    """
    count = check_whole("bins", bins, 2)
    values = widen(pixel_maps(maps).flatten(1))  # b n
    low, high = values.amin(1, keepdim=True), values.amax(1, keepdim=True)
    width = (high - low).where(high > low, 1)
    places = ((values - low) / width * count).long().clamp(max=count - 1)  # the largest belongs to the last bin
    counts = values.new_zeros(len(values), count).scatter_add_(1, places, torch.ones_like(values))
    shares = counts / values.shape[1]
    entropy: Tensor = torch.special.entr(shares).sum(1).abs()  # not −0
    return entropy
