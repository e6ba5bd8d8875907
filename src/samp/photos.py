"""Photos: read one whatever its format, and cut out what a model is shown."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

from PIL import Image, ImageOps, UnidentifiedImageError

EMBEDDED = ("coffee", "chelsea")


def embedded(name: str = "coffee") -> Path:
    """A photo that comes with the package: a cup or a cat (`data/CREDITS.md` says whose they are).

    >>> read(embedded()).size, read(embedded("chelsea")).size
    ((480, 320), (451, 300))
    """
    return Path(str(files("samp") / "data" / f"{name}.jpg"))


def read(path: str | os.PathLike[str]) -> Image.Image:
    """The photo as RGB: turned upright by its EXIF tag, transparency laid over white, or a sentence on why not."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path} is not a file.")
    try:
        with Image.open(path) as file:
            return _over_white(ImageOps.exif_transpose(file)).convert("RGB")
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, SyntaxError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as an image ({error}): give a whole JPEG or PNG file.") from error


def centre(photo: Image.Image, size: int, margin: float = 0.875) -> Image.Image:
    """The centre square of a photo at `size`×`size` pixels; it spans `margin` of the shorter side.

    >>> centre(Image.new("RGB", (640, 480)), 224).size
    (224, 224)
    """
    side = margin * min(photo.size)
    left, top = (photo.width - side) / 2, (photo.height - side) / 2
    return photo.resize((size, size), Image.Resampling.BICUBIC, box=(left, top, left + side, top + side))


def _over_white(photo: Image.Image) -> Image.Image:
    if "A" not in photo.getbands() and "transparency" not in photo.info:
        return photo
    layered = photo.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", layered.size, "white"), layered)
