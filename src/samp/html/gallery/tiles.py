"""Tiles: each input's photo beside its map, many in one picture file.

A file for each tile would be a hundred thousand files for 50,000 inputs, and one file for hundreds of tiles would be
decoded as a whole for a card that shows one of them. Sixteen tiles make a file of some 50 kB.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional as F

from samp.plots.shading import FULL_WHITE_QUANTILE

SIDE = 96  # pixels of a photo or map
ACROSS, DOWN = 4, 4  # tiles in a file
PER_FILE = ACROSS * DOWN
FOLDER_SIZE = 1000  # files in one folder
QUALITY = 82


def tile_file(number: int) -> str:
    """Return the path of the file of this number, relative to the folder of tiles.

    >>> tile_file(1234)
    '001/001234.jpg'
    """
    return f"{number // FOLDER_SIZE:03d}/{number:06d}.jpg"


def map_tiles(maps: Tensor) -> list[Image.Image | None]:
    """Return a picture of each map (b h w), None where it is NaN: the mean positive credit of its squares, in grey.

    As on every page, white is from the 99th percentile on, here of the squares. Credit of inputs that are no images is
    one row.

    >>> tiles = map_tiles(torch.stack([torch.eye(192), torch.full((192, 192), torch.nan)]))
    >>> tiles[0].size, tiles[0].getpixel((0, 0)), tiles[0].getpixel((0, 1)), tiles[1]
    ((96, 96), 255, 0, None)
    """
    whole = maps.reshape(len(maps), 1, -1) if maps.ndim != 3 else maps
    if 0 in whole.shape:
        return [None] * len(maps)
    positive = whole.float().clamp(min=0)[:, None]  # b 1 h w
    scale = SIDE / max(positive.shape[2:])
    if scale < 1:
        height, width = (max(round(side * scale), 1) for side in positive.shape[2:])
        positive = F.adaptive_avg_pool2d(positive, (height, width))
    flat = positive.flatten(1)
    largest = flat.amax(1)
    full = torch.quantile(flat, FULL_WHITE_QUANTILE, dim=1) if flat.shape[1] > 1 else largest
    full = torch.where(full > 0, full, largest).clamp(min=torch.finfo(torch.float32).tiny)
    shades = (255 * (positive[:, 0] / full.view(-1, 1, 1)).clamp(max=1)).nan_to_num().round().to(torch.uint8).numpy()
    missing = whole.flatten(1).isnan().any(1).tolist()
    return [None if gone else Image.fromarray(shade) for gone, shade in zip(missing, shades, strict=True)]


def fit_tile(picture: Image.Image) -> Image.Image:
    """Return the picture at the size of a tile: smaller ones grow by a whole factor, with squares for pixels.

    >>> fit_tile(Image.new("L", (28, 28))).size, fit_tile(Image.new("L", (480, 320))).size
    ((84, 84), (96, 64))
    """
    longer = max(picture.size)
    if longer <= SIDE:
        return picture.resize([side * (SIDE // longer) for side in picture.size], Image.Resampling.NEAREST)
    return picture.resize([max(round(side * SIDE / longer), 1) for side in picture.size], Image.Resampling.BOX)


class TileWriter:
    """Collects tiles in order, and writes a file whenever one is full; leaving it writes the last one."""

    def __init__(self, folder: Path, *, with_photos: bool) -> None:
        self.folder, self.with_photos = folder, with_photos
        self.width = SIDE * (2 if with_photos else 1)
        self.count = 0
        self.canvas = self._blank()

    def __enter__(self) -> TileWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self.count % PER_FILE:
            self._write((self.count - 1) // PER_FILE)

    def add(self, photo: Image.Image | None, credit: Image.Image | None) -> None:
        """Add the tile of the next input; what is None stays black."""
        place = self.count % PER_FILE
        left, top = place % ACROSS * self.width, place // ACROSS * SIDE
        for picture, offset in ((photo if self.with_photos else None, 0), (credit, self.width - SIDE)):
            if picture is not None:
                tile = fit_tile(picture.convert("RGB"))
                where = (left + offset + (SIDE - tile.width) // 2, top + (SIDE - tile.height) // 2)
                self.canvas.paste(tile, where)
        self.count += 1
        if self.count % PER_FILE == 0:
            self._write(self.count // PER_FILE - 1)

    def _write(self, number: int) -> None:
        path = self.folder / tile_file(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        self.canvas.save(path, "JPEG", quality=QUALITY)
        self.canvas = self._blank()

    def _blank(self) -> Image.Image:
        return Image.new("RGB" if self.with_photos else "L", (ACROSS * self.width, DOWN * SIDE))
