"""Pictures of one sample of a result, drawn with Pillow: the photo, a glow over it, the map in two colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor

from samp.attribution import Attribution
from samp.plots.palette import HEAT
from samp.plots.reading import Array, Photo, photo_of
from samp.plots.region_view import enlarge
from samp.plots.shading import blend_colours, brightness, drawable_map, signed_colours

SIDE = 336  # pixels: what smaller photos are enlarged to
SQUARES = 3  # from this enlargement on, pixels are shown as the squares that they are
DIM = 0.45  # the photo's brightness under a glow, as in figures


def signed_picture(result: Attribution, sample: int = 0) -> Image.Image:
    """Return the map of one sample at its own size: white is 0, orange for, blue against."""
    return to_image(signed_colours(image_map(result, sample)))


def glow_picture(result: Attribution, sample: int = 0, photo: Photo | None = None) -> Image.Image:
    """Return positive credit as a glow over the photo in dim grey, at least `SIDE` pixels in its longer side.

    Credit is at the resolution at which it is reproducible. Raises ValueError if there is no photo.
    """
    check_sample(result, sample)
    if photo is None and (photo := kept_photo(result, sample)) is None:
        raise ValueError(
            f"the result keeps no photo of sample {sample}: pass it, result.overlay(photo, sample={sample}), as the "
            "model was shown it."
        )
    pixels, credit = photo_of(photo, sample).pixels, image_map(result, sample)
    _check_shape(pixels.shape[:2], credit.shape)
    room = max(SIDE, *pixels.shape[:2])
    base = np.asarray(enlarge(to_image(255 * pixels), (room, room)), dtype=float)
    return glow(drawable_map(result, sample)[0], base)


def glow(credit: Tensor, base: Array) -> Image.Image:
    """Return a map (h w) as a glow over a photo (h w 3, from 0 to 255) of any size: linear in colour, and opaque by the
    square root.
    """
    height, width = base.shape[:2]
    shade = enlarge_map(brightness(credit), (width, height))
    dim = DIM * base @ np.array([[0.299], [0.587], [0.114]])
    opacity = np.sqrt(shade)[..., None]
    return to_image(dim * (1 - opacity) + blend_colours(HEAT, shade) * opacity)


def image_map(result: Attribution, sample: int) -> Tensor:
    """Return the map of one sample (h w); raise ValueError if the result is not of images, IndexError without it."""
    check_sample(result, sample)
    if result.map.ndim != 3:
        raise ValueError(
            f"the credit has shape {tuple(result.map.shape)}, which is no picture: see result.top() or result.values."
        )
    return result.map[sample]


def _check_shape(photo: Sequence[int], credit: Sequence[int]) -> None:
    """Raise ValueError if the photo has another shape than the map: glow would lie in the wrong places."""
    if abs(photo[1] / photo[0] - credit[1] / credit[0]) > 1.5 * credit[1] / credit[0] / min(*photo, *credit):
        raise ValueError(
            f"the photo is {photo[1]}×{photo[0]} pixels and the map {credit[1]}×{credit[0]}, which is another shape: "
            "give the part of the photo that the model was shown."
        )


def check_sample(result: Attribution, sample: int) -> None:
    """Raise IndexError if the result has no such sample."""
    count = len(result.gradients)
    if not -count <= sample < count:
        raise IndexError(f"there is no sample {sample}: the result has {count}, counted from 0.")


def kept_photo(result: Attribution, sample: int, part: int = 0) -> Tensor | None:
    """Return the copy of one sample of an input that is an image of 1 or 3 channels (c h w); None if there is none."""
    kept = kept_input(result, sample, part)
    return kept if kept is not None and kept.ndim == 3 and kept.shape[0] in (1, 3) else None


def kept_input(result: Attribution, sample: int, part: int = 0) -> Tensor | None:
    """Return the copy of one sample of an input, *d; None if there is none."""
    kept: Any = result.preview.inputs if result.preview is not None else ()
    if part >= len(kept) or kept[part] is None:
        return None
    place = range(len(result.gradients))[sample]  # counted from the end if negative
    return kept[part][place] if place < len(kept[part]) else None


def shrink_map(credit: Tensor, side: int) -> Tensor:
    """Return a map (h w) of at most `side` pixels a side, each the mean of those it stands for.

    >>> shrink_map(torch.tensor([[1.0, 3.0], [0.0, 0.0]]), 1)
    tensor([[1.]])
    """
    factor = max(credit.shape) / side
    if factor <= 1:
        return credit
    size = (max(round(credit.shape[0] / factor), 1), max(round(credit.shape[1] / factor), 1))
    return F.adaptive_avg_pool2d(credit[None, None], size)[0, 0]


def enlarge_map(shade: Array, size: tuple[int, int]) -> Array:
    """Return values from 0 to 1 (h w) at another size (width, height): pixels of small maps stay visible as squares."""
    squares = size[0] >= SQUARES * shade.shape[1]
    filtering = Image.Resampling.NEAREST if squares else Image.Resampling.BICUBIC
    scaled = Image.fromarray(shade.astype(np.float32)).resize(size, filtering)
    return np.asarray(scaled, dtype=float).clip(0, 1)


def enlarge_squares(image: Image.Image, side: int) -> Image.Image:
    """Return the picture at most `side` pixels large: small ones by a whole number, so that pixels are equal squares.

    >>> enlarge_squares(Image.new("RGB", (28, 20)), 100).size, enlarge_squares(Image.new("RGB", (200, 50)), 100).size
    ((84, 60), (100, 25))
    """
    factor = side // max(image.size)
    if factor >= SQUARES:
        return image.resize((factor * image.width, factor * image.height), Image.Resampling.NEAREST)
    return enlarge(image, (side, side))


def to_image(levels: Array) -> Image.Image:
    """Return h w 3 from 0 to 255 as a picture."""
    return Image.fromarray(levels.round().clip(0, 255).astype(np.uint8))


def as_wide(credit: Tensor) -> Tensor:
    """Return the credit on the CPU in float32 or wider."""
    return credit.detach().cpu().to(torch.promote_types(credit.dtype, torch.float32))
