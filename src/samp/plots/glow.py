"""Credit glowing on the photo, drawn with Pillow in a moment: for maps that change while one looks."""

from __future__ import annotations

import numpy as np
from PIL import Image
from torch import Tensor

from samp.plots.palette import HEAT
from samp.plots.shading import DIM, blend_colours, brightness


def glow(photo: Image.Image, credit: Tensor) -> Image.Image:
    """Return the photo in dim grey with the positive credit (h w) of its pixels glowing on it, at the size of the map.

    Colour is linear in credit, opacity grows with its square root, as in `samp.plots.Glow`.

    >>> import torch
    >>> glow(Image.new("RGB", (4, 4), "white"), torch.eye(2)).getpixel((0, 0))
    (252, 255, 164)
    """
    height, width = credit.shape
    grey = np.asarray(photo.convert("L").resize((width, height), Image.Resampling.BICUBIC), dtype=float)[..., None]
    shade = brightness(credit)
    cover = np.sqrt(shade)[..., None]
    shown = DIM * grey * (1 - cover) + blend_colours(HEAT, shade) * cover
    return Image.fromarray(shown.round().clip(0, 255).astype(np.uint8))
