"""The region of a map: the smallest area that holds half of its positive credit, once that is smoothed.

Single pixels of a map differ from one run to the next, and nobody sees an object in them. The region is what a person
is shown first, and what the model is asked about: is the answer in it?
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from samp.attribution import Attribution
from samp.baselines import Blurred

HALF = 0.5
SIDE_PER_SIGMA = 40  # credit is smoothed by a Gaussian whose σ is this part of the longer side: 5.6 of 224 pixels


@dataclass(frozen=True, eq=False)
class Region:
    """The smallest area that holds a share of a map's smoothed positive credit.

    >>> region = find_region(torch.tensor([[4.0, 1.0], [-9.0, 3.0]]), sigma=0)
    >>> region.mask.tolist(), region.share_of_picture, region.threshold
    ([[True, False], [False, False]], 0.25, 4.0)
    """

    mask: Tensor  # h w, bool, on the CPU
    smooth: Tensor  # h w, float64: the smoothed positive credit, whose largest values are in the mask
    share_of_credit: float
    sigma: float
    """Of the Gaussian that smoothed the credit, in pixels."""

    @property
    def share_of_picture(self) -> float:
        """The share of the pixels that lie in it; 0 for a map without positive credit."""
        return float(self.mask.double().mean())

    @property
    def is_empty(self) -> bool:
        """Whether there is no region, as no credit is positive."""
        return not bool(self.mask.any())

    @property
    def threshold(self) -> float:
        """The smallest smoothed credit in the region, infinite if it is empty."""
        return math.inf if self.is_empty else float(self.smooth[self.mask].min())


def region_of(result: Attribution, sample: int = 0, share: float = HALF) -> Region:
    """Return the region of one sample of a result, smoothed at least to the result's own resolution where it has one.

    Raises ValueError if the result is not of images.

    >>> import samp
    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 2)).eval()
    >>> region_of(samp.explain(net, torch.rand(1, 3, 4, 4), target=0)).mask.shape
    torch.Size([4, 4])
    """
    if result.map.ndim != 3:
        raise ValueError(f"a region is part of an image, but the map has shape {tuple(result.map.shape)}, not b h w.")
    height, width = result.map.shape[1:]
    return find_region(result.map[sample], share, smoothing_width(height, width, resolution_of(result, sample)))


def find_region(credit: Tensor, share: float = HALF, sigma: float | None = None) -> Region:
    """Return the region of a map (h w); arguments and errors are those of `region_mask`.

    >>> find_region(torch.ones(10, 10), share=0.3).share_of_picture
    0.3
    """
    mask = region_mask(credit, share, sigma)
    width = smoothing_width(credit.shape[0], credit.shape[1]) if sigma is None else sigma
    return Region(mask, smooth_credit(credit.clamp(min=0), width), share, width)


def region_mask(credit: Tensor, share: float = HALF, sigma: float | None = None) -> Tensor:
    """Return h w bool: the fewest pixels that together hold `share` of the smoothed positive credit of a map (h w).

    `sigma` is that of the Gaussian in pixels, 1/40 of the longer side if None; 0 does not smooth. Of equal pixels the
    first are taken. The mask is empty if no credit is positive. Raises ValueError for a share outside (0, 1], a
    negative sigma, and a map of another shape or with NaN or Inf.

    >>> region_mask(torch.tensor([[4.0, 1.0], [-9.0, 3.0]]), share=0.75, sigma=0).tolist()
    [[True, False], [False, True]]
    """
    if not 0 < share <= 1:
        raise ValueError(f"a region holds a share of the credit above 0 and up to 1, not {share}.")
    if credit.ndim != 2:
        raise ValueError(f"a map of one image has shape h w, not {tuple(credit.shape)}: pass one of them.")
    width = smoothing_width(credit.shape[0], credit.shape[1]) if sigma is None else sigma
    smooth = smooth_credit(credit.detach().clamp(min=0), width)
    amounts, order = smooth.flatten().sort(descending=True, stable=True)
    held = amounts.cumsum(0)
    mask = torch.zeros(smooth.numel(), dtype=torch.bool)
    if held[-1] > 0:
        # the sum of rounded numbers may end just below what it is compared with
        fewest = int((held < share * held[-1] * (1 - 1e-12)).sum()) + 1
        mask[order[:fewest]] = True
    return mask.view(smooth.shape)


def smooth_credit(credit: Tensor, sigma: float) -> Tensor:
    """Return the map (h w) under a Gaussian of this σ in pixels, reflected at the border: float64 on the CPU.

    Raises ValueError for a negative sigma, and a map of another shape or with NaN or Inf.

    >>> float(smooth_credit(torch.ones(5, 5), sigma=2.0).sub(1).abs().max()) < 1e-12
    True
    """
    if credit.ndim != 2 or not credit.numel():
        raise ValueError(f"the map of one sample has shape h w, not {tuple(credit.shape)}: take one of result.map.")
    if not sigma >= 0:
        raise ValueError(f"sigma is the width of a Gaussian in pixels and at least 0, not {sigma}.")
    wide = credit.detach().cpu().double()
    if not torch.isfinite(wide).all():
        raise ValueError("the map holds NaN or Inf, so no area holds a share of it: replace them by torch.nan_to_num.")
    if sigma == 0:
        return wide
    return Blurred(kernel=2 * math.ceil(3 * sigma) + 1, sigma=sigma)(wide[None, None])[0, 0]


def smoothing_width(height: int, width: int, resolution: float | None = None) -> float:
    """Return the σ in pixels by which a region of an image of this size is smoothed.

    That is 1/40 of the longer side, or the Gaussian as wide as a block of the resolution, if that is known and wider.

    >>> smoothing_width(224, 224), round(smoothing_width(224, 224, resolution=24.0), 2)
    (5.6, 6.93)
    """
    return max(max(height, width) / SIDE_PER_SIGMA, block_sigma(resolution or 0.0))


def block_sigma(side: float) -> float:
    """Return the σ of the Gaussian that is as wide as a block of this side: both have the same variance.

    >>> round(block_sigma(12), 3)
    3.464
    """
    return side / 12**0.5


def resolution_of(result: Attribution, sample: int = 0) -> float | None:
    """Return the side in pixels of the blocks in which a sample's map comes out the same twice; None if there is none.

    >>> import samp
    >>> resolution_of(samp.explain(torch.nn.Linear(4, 2).eval(), torch.rand(1, 4), target=0)) is None
    True
    """
    return None if result.resolution is None else float(result.resolution[sample]) or None
