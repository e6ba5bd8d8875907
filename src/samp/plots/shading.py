"""How credit becomes brightness or colour, as arrays: what Pillow and pages draw."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from samp.attribution import Attribution
from samp.plots.palette import SIGNED, rgb
from samp.region import block_sigma, resolution_of, smooth_credit

Array = np.ndarray[Any, np.dtype[Any]]
FULL_WHITE_QUANTILE = 0.99  # the share of pixels below full white, which the captions state
DIM = 0.45  # the photo's brightness under an overlay
COARSEST = 16  # blocks along the longer side, in the coarsest drawing


def brightness(credit: torch.Tensor) -> Array:
    """Return h w in [0, 1]: positive credit, 1 from its 99th percentile on; negative credit and maps of zeros are 0.

    >>> brightness(torch.tensor([[-1.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    positive = credit.detach().double().clamp(min=0).cpu().numpy()
    full = _full(positive)
    return np.clip(positive / full, 0, 1) if full > 0 else positive


def signed_colours(credit: torch.Tensor) -> Array:
    """Return h w 3 from 0 to 255: white is no credit, orange for, blue against, full at ± its 99th percentile.

    >>> signed_colours(torch.zeros(1, 1)).tolist()
    [[[255.0, 255.0, 255.0]]]
    """
    values = credit.detach().double().cpu().numpy()
    full = _full(np.abs(values)) or 1.0
    return blend_colours(SIGNED, (np.clip(values / full, -1, 1) + 1) / 2)


def blend_colours(colours: Sequence[str], shade: Array) -> Array:
    """Return h w 3 from 0 to 255: these colours, evenly spread, for shades (h w) from 0 to 1.

    >>> blend_colours(SIGNED, np.array([[0.5]])).tolist()
    [[[255.0, 255.0, 255.0]]]
    """
    stops = np.linspace(0, 1, len(colours))
    return np.stack([np.interp(shade, stops, channel) for channel in zip(*map(rgb, colours), strict=True)], -1)


def drawable_map(result: Attribution, sample: int = 0) -> tuple[torch.Tensor, str]:
    """Return the map of one sample (h w) at the resolution at which it is reproducible, and what was done, in words.

    It is smoothed by the Gaussian that is as wide as a block of that side, but no coarser than 1/16 of the longer side:
    beyond that, the eye has nothing left to see. Unchanged, and no words, if the resolution is not known.
    """
    credit, resolution = result.map[sample], resolution_of(result, sample)
    if result.resolution is None or resolution == 1:
        return credit, ""
    side = min(resolution or math.inf, max(credit.shape) / COARSEST)
    words = f"Blurred to {side:.3g} pixels: finer detail is not reproducible."
    if resolution is None:
        words = f"Blurred to {side:.3g} pixels; not reproducible at any resolution tried: take more walks."
    elif side < resolution:
        words = f"Blurred to {side:.3g} pixels; only the mean over {resolution:g} is reproducible."
    return smooth_credit(credit, block_sigma(side)), words


def full_amount(credit: torch.Tensor, signed: bool = False) -> float:
    """Return the credit that `brightness`, or `signed_colours`, draws in full; 0 if there is none to draw.

    >>> full_amount(torch.tensor([[-4.0, 2.0]])), full_amount(torch.tensor([[-4.0, -4.0]]), signed=True)
    (1.98, 4.0)
    """
    values = credit.detach().double().cpu()
    return _full((values.abs() if signed else values.clamp(min=0)).numpy())


def _full(amount: Array) -> float:
    """Return the amount at full brightness: its percentile, or its maximum where that is 0, as of a few pixels."""
    return float(np.quantile(amount, FULL_WHITE_QUANTILE)) or float(amount.max())
