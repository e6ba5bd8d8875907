"""PNG files small enough for a report."""

from __future__ import annotations

from io import BytesIO

import numpy as np
from PIL import Image

LARGEST = 400_000  # bytes
# Tried in this order until the file is small enough: scale, and levels of grey. Noisy maps do not compress.
ATTEMPTS = ((1.0, 64), (1.0, 32), (0.85, 32), (0.75, 32), (0.65, 32), (0.5, 32))


def small_png(image: Image.Image, largest: int = LARGEST) -> bytes:
    """Return the picture as PNG with a palette: with fewer greys, then fewer pixels, until it has `largest` bytes.

    >>> Image.open(BytesIO(small_png(Image.new("RGB", (20, 10), "red")))).size
    (20, 10)
    """
    made = b""
    for scale, greys in ATTEMPTS:
        size = (max(round(image.width * scale), 1), max(round(image.height * scale), 1))
        shown = image.convert("RGB").resize(size, Image.Resampling.LANCZOS) if scale < 1 else image.convert("RGB")
        file = BytesIO()
        _few_greys(shown, greys).quantize(256).save(file, "PNG", optimize=True)
        made = file.getvalue()
        if len(made) <= largest:
            break
    return made


def _few_greys(image: Image.Image, levels: int) -> Image.Image:
    """Return the picture with its greys reduced to a few levels, so that the palette has room for colours."""
    pixels = np.asarray(image)
    grey = (pixels == pixels[..., :1]).all(2, keepdims=True)
    few = np.round(np.round(pixels / 255 * (levels - 1)) / (levels - 1) * 255).astype(np.uint8)
    return Image.fromarray(np.where(grey, few, pixels))
