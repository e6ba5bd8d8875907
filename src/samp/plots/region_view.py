"""Pictures of the region: outlined on the photo in colour, and alone with all else blurred. Drawn with Pillow."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from PIL import Image

from samp.models.answers import split_by_region
from samp.plots.palette import INK, PAPER, rgb
from samp.region import Region

Array = np.ndarray[Any, np.dtype[Any]]
Box = tuple[float, float, float, float]
"""Left, top, right and bottom, in pixels of the photo."""

AROUND = 0.6  # of the side of what the model is shown: so much of the photo is shown beyond it
SQUARES = 4  # from this enlargement on, pixels are shown as the squares that they are
FINE = 2  # outlines are drawn at so many times the size, and shrunk, for smooth lines
LINE = 2.0  # pixels: the width of each of the two lines of an outline, light inside and dark outside
DIM, NEAR = 0.60, 0.18  # brightness of the photo where there is no credit, and how much more at the edge of the region
COLOUR_LEFT = 0.40  # of the colours outside the region
UNSEEN = 0.60  # of white over what the model is not shown, in grey


def outline_region(photo: Image.Image, region: Region, room: tuple[int, int], box: Box | None = None) -> Image.Image:
    """Return the photo, scaled to fit the room (width, height): the region in colour with an outline, the rest dim.

    `box` is the part of the photo that the map is of, all of it if None; what lies outside of it is grey and faded to
    white, and cut off far from it. The photo of an empty region is dim all over.

    >>> from samp.region import find_region
    >>> outline_region(Image.new("RGB", (40, 20)), find_region(torch.eye(4)), room=(400, 300)).size
    (400, 200)
    """
    part = box or (0.0, 0.0, float(photo.width), float(photo.height))
    window = shown_window(photo.size, part)
    size = fit_size((window[2] - window[0], window[3] - window[1]), room)
    scale = (size[0] / (window[2] - window[0]), size[1] / (window[3] - window[1]))
    left, top, right, bottom = (round((edge - window[i % 2]) * scale[i % 2]) for i, edge in enumerate(part))
    shown = np.asarray(_resize(photo.convert("RGB").crop(window), size), dtype=float)
    faded = _grey(shown).repeat(3, 2) * (1 - UNSEEN) + np.array(rgb(PAPER)) * UNSEEN
    inner = (max(right - left, 1), max(bottom - top, 1))
    faded[top : top + inner[1], left : left + inner[0]] = _light_region(
        shown[top : top + inner[1], left : left + inner[0]], region
    )
    return Image.fromarray(faded.round().clip(0, 255).astype(np.uint8))


def blur_parts(crop: Image.Image, region: Region) -> tuple[Image.Image, Image.Image]:
    """Return what the model is shown with all but the region blurred, and with the region blurred, as it is asked."""
    pixels = torch.from_numpy(np.array(crop.convert("RGB"))).permute(2, 0, 1)[None].double()
    alone, without = (
        Image.fromarray(part[0].permute(1, 2, 0).round().clamp(0, 255).to(torch.uint8).numpy())
        for part in split_by_region(pixels, region.mask)
    )
    return alone, without


def shown_window(size: tuple[int, int], box: Box) -> tuple[int, int, int, int]:
    """Return the part of a photo of this size (width, height) that is shown with the box: all of it, unless it is long.

    Left, top, right and bottom, in whole pixels. Of a panorama, in which the box would be tiny, it is the surroundings.

    >>> shown_window((150, 100), (31, 6, 119, 94)), shown_window((1000, 100), (456, 6, 544, 94))
    ((0, 0, 150, 100), (403, 0, 597, 100))
    """
    wide, high = (AROUND * (box[2] - box[0]), AROUND * (box[3] - box[1]))
    left, top = max(math.floor(box[0] - wide), 0), max(math.floor(box[1] - high), 0)
    return left, top, min(math.ceil(box[2] + wide), size[0]), min(math.ceil(box[3] + high), size[1])


def fit_size(size: tuple[int, int], room: tuple[int, int]) -> tuple[int, int]:
    """Return width and height of a picture of this size, scaled to fit into a room.

    >>> fit_size((200, 100), (50, 50)), fit_size((1, 1000), (50, 50))
    ((50, 25), (1, 50))
    """
    fit = min(room[0] / size[0], room[1] / size[1])
    return max(round(size[0] * fit), 1), max(round(size[1] * fit), 1)


def enlarge(image: Image.Image, room: tuple[int, int]) -> Image.Image:
    """Return the image scaled to fit the room; the pixels of a small one stay visible as squares."""
    return _resize(image.convert("RGB"), fit_size(image.size, room))


def _resize(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    squares = size[0] >= SQUARES * image.width
    return image.resize(size, Image.Resampling.NEAREST if squares else Image.Resampling.BICUBIC)


def _light_region(shown: Array, region: Region) -> Array:
    """Return the photo (h w 3) in full colour within the region, dim around it, with an outline between."""
    height, width = shown.shape[:2]
    dim = dim_photo(shown, region)
    inside = _scale_mask(region, (FINE * width, FINE * height))
    lit = _shrink(inside)
    picture: Array = shown * lit + dim * (1 - lit)
    light = _grow(inside, FINE * LINE)
    dark = _grow(light, FINE * LINE)
    for line, colour in ((dark & ~light, INK), (light & ~inside, PAPER)):
        cover = _shrink(line)
        picture = picture * (1 - cover) + np.array(rgb(colour)) * cover
    return picture


def dim_photo(pixels: Array, region: Region) -> Array:
    """Return the photo (h w 3) paler and darker, most of all where there is no credit."""
    # where the region is all of the credit, what lies outside of it has none
    edge = region.threshold if region.threshold > 0 else np.inf
    near = np.clip(_scale_map(region.smooth.numpy(), pixels.shape[1::-1]) / edge, 0, 1)[..., None]
    dim: Array = (COLOUR_LEFT * pixels + (1 - COLOUR_LEFT) * _grey(pixels)) * (DIM + NEAR * near)
    return dim


def _scale_map(credit: Array, size: tuple[int, int]) -> Array:
    """Return the map (h w) at another size (width, height), in between linear."""
    squares = size[0] >= SQUARES * FINE * credit.shape[1]
    filtering = Image.Resampling.NEAREST if squares else Image.Resampling.BICUBIC
    return np.asarray(Image.fromarray(credit.astype(np.float32)).resize(size, filtering))


def _scale_mask(region: Region, size: tuple[int, int]) -> Array:
    """Return the mask at a larger size (width, height): smooth, as the credit is, or as squares if pixels are so."""
    if size[0] >= SQUARES * FINE * region.mask.shape[1]:
        return np.asarray(Image.fromarray(region.mask.numpy()).resize(size, Image.Resampling.NEAREST))
    if region.is_empty:
        return np.zeros(size[::-1], dtype=bool)
    # Of credit that is level (all in the region, or the same everywhere) no contour line is drawn at the threshold.
    inside: Array = _scale_map(region.smooth.numpy() * (1 + 1e-6), size) >= region.threshold
    return inside


def _grey(pixels: Array) -> Array:
    """Return the luma (h w 1) of pixels (h w 3)."""
    luma: Array = pixels @ np.array([[0.299], [0.587], [0.114]])
    return luma


def _shrink(mask: Array) -> Array:
    """Return the share of each pixel (h w 1) that a mask of `FINE` times its size covers."""
    high, wide = mask.shape
    cover: Array = mask.reshape(high // FINE, FINE, wide // FINE, FINE).mean((1, 3))[..., None]
    return cover


def _grow(mask: Array, radius: float) -> Array:
    """Return the mask with everything within `radius` pixels of it."""
    reach = int(radius)
    padded = np.pad(mask, reach)
    grown = np.zeros_like(mask)
    for down in range(-reach, reach + 1):
        for right in range(-reach, reach + 1):
            if down**2 + right**2 <= radius**2:
                rows, columns = reach + down, reach + right
                grown |= padded[rows : rows + mask.shape[0], columns : columns + mask.shape[1]]
    return grown
