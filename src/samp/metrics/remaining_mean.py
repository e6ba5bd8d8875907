"""A fill made of what is left to see: the mean of the remaining elements (DiffID's)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from samp.engine.record import sum_rows


@dataclass(frozen=True)
class RemainingMean:
    """One number for all hidden elements of a sample: the mean of those that still show, over all channels and pixels.

    So the fill changes from point to point of a curve, and follows what is shown: with the brightest half of an image
    inserted, the rest is bright too. Where nothing shows, it is the mean of the whole sample. It is what public codes
    of DiffID fill with (Local Path Integration's and Spectral IG's); `ChannelMeans` is the same at every point.

    >>> RemainingMean().fill_elements(torch.tensor([[1.0, 3.0, 8.0]]), torch.tensor([[False, False, True]])).tolist()
    [[1.0, 3.0, 2.0]]
    """

    def fill_elements(self, x: Tensor, missing: Tensor) -> Tensor:
        """r n: x with its missing elements (r n, bool) filled."""
        remaining = (~missing).sum(1)
        shown = sum_rows(x.masked_fill(missing, 0)) / remaining.clamp(min=1)
        mean = torch.where(remaining > 0, shown, sum_rows(x) / x.shape[1])  # r
        return torch.where(missing, mean.to(x.dtype)[:, None], x)
