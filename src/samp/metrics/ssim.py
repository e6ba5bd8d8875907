"""SSIM (Wang et al., IEEE TIP 2004), the structural similarity of two maps from 0 to 1."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from samp.devices import widen

WINDOW, SIGMA = 11, 1.5
SMALL = (0.01**2, 0.03**2)  # C1, C2 for values from 0 to 1


def ssim(a: Tensor, b: Tensor) -> Tensor:
    """b: the mean over windows of SSIM of two b h w maps whose values go from 0 to 1; NaN below 11 × 11 pixels.

    The windows are Gaussian (11 × 11, σ 1.5), as published, and lie inside the map.

    >>> maps = torch.rand(2, 16, 16)
    >>> ssim(maps, maps).tolist(), ssim(maps[:, :5], maps[:, :5]).isnan().all().item()
    ([1.0, 1.0], True)
    """
    if min(a.shape[1:]) < WINDOW:
        return widen(a.new_full((len(a),), torch.nan))
    x, y = widen(a)[:, None], widen(b)[:, None]
    mean_x, mean_y, mean_xx, mean_yy, mean_xy = (_smooth(one) for one in (x, y, x * x, y * y, x * y))
    variances = mean_xx - mean_x**2 + mean_yy - mean_y**2
    covariance = mean_xy - mean_x * mean_y
    brightness = (2 * mean_x * mean_y + SMALL[0]) / (mean_x**2 + mean_y**2 + SMALL[0])
    return (brightness * (2 * covariance + SMALL[1]) / (variances + SMALL[1])).mean((1, 2, 3))


def _smooth(maps: Tensor) -> Tensor:
    """b 1 h-10 w-10: Gaussian means over the windows inside the maps."""
    line = torch.arange(WINDOW, device=maps.device, dtype=maps.dtype) - WINDOW // 2
    weights = torch.exp(-0.5 * (line / SIGMA) ** 2)
    weights = weights / weights.sum()
    return F.conv2d(F.conv2d(maps, weights.view(1, 1, -1, 1)), weights.view(1, 1, 1, -1))
