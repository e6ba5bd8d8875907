"""Photos: find them, read them in any format, and crop them to the input size of a model."""

from __future__ import annotations

import difflib
import glob
import os
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageOps

from samp.image_formats import ADVICE, HEIC, KINDS, can_read_heic, describe_unsupported, foreign_kind

EXAMPLE_NAMES = ("coffee", "chelsea")
SUFFIXES = {".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".apng", ".webp", ".gif", ".bmp", ".tif", ".tiff"}
SUFFIXES |= {".ppm", ".pgm", ".jp2", ".avif", ".tga"}
STRIP = 2**18  # pixels of more than 8 bits that are converted at once
Array = np.ndarray[Any, Any]


class UnreadableError(ValueError):
    """A file is not a complete photo of a kind that can be read here."""


def example_photo(name: str = "coffee") -> Path:
    """Return the path of a photo that comes with the package: a cup or a cat (credits are in `data/CREDITS.md`).

    >>> read(example_photo()).size, read(example_photo("chelsea")).size
    ((480, 320), (451, 300))
    """
    return Path(str(files("samp") / "data" / f"{name}.jpg"))


def find(places: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Return the photos in these places, each once: files, the photos directly in a folder, the matches of a glob.

    A place without photos stays in the list itself, so that reading it raises the error.

    >>> [path.name for path in find([example_photo().parent])]
    ['chelsea.jpg', 'coffee.jpg']
    """
    return list(dict.fromkeys(path for place in places for path in _photos_in(Path(place))))


def is_photo(path: str | os.PathLike[str]) -> bool:
    """Return whether `find` takes a file of this name for a photo: it has a photo's suffix and is not hidden.

    >>> is_photo("a/cat.JPG"), is_photo("a/.cat.jpg"), is_photo("a/notes.txt")
    (True, False, False)
    """
    suffix = Path(path).suffix.lower()
    known = suffix in SUFFIXES or (KINDS.get(suffix) == HEIC and can_read_heic())
    return known and not Path(path).name.startswith(".")


def describe_skipped(places: Iterable[str | os.PathLike[str]]) -> str:
    """Return a text on how many pictures directly in these folders `find` leaves out and why; "" if none.

    >>> describe_skipped([example_photo().parent])
    ''
    """
    folders = [Path(place) for place in places if Path(place).is_dir()]
    return describe_unsupported(path for folder in folders for path in folder.iterdir())


def check_readable(path: str | os.PathLike[str]) -> None:
    """Raise FileNotFoundError if this is no file, and UnreadableError for a kind of picture that cannot be read here.

    >>> check_readable(example_photo())
    """
    if not Path(path).is_file():
        raise FileNotFoundError(_why_missing(Path(path)))
    kind = foreign_kind(path)
    if kind is None or (kind == HEIC and can_read_heic()):
        return
    try:
        with Image.open(path):  # its suffix may be wrong, and some raw files are TIFF
            return
    except Exception as error:
        raise UnreadableError(f"{path} is in {kind} format, which cannot be read here ({ADVICE[kind]}).") from error


def read(path: str | os.PathLike[str]) -> Image.Image:
    """Return the photo as RGB: its first frame, turned upright by its EXIF tag, transparent parts over white.

    Raises FileNotFoundError if it is no file, and UnreadableError if it cannot be read as a photo.

    >>> read(example_photo()).mode
    'RGB'
    """
    with ignore_pillow_warnings():
        return open_photo(path)


@contextmanager
def ignore_pillow_warnings() -> Iterator[None]:
    """Within this context, suppress Pillow's warnings of large photos and odd tags, which are read all the same.

    It acts on all threads at once. Only one thread may enter it: several would restore each other's filters.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="PIL")
        yield


def open_photo(path: str | os.PathLike[str]) -> Image.Image:
    """Return the photo as `read` does, without `ignore_pillow_warnings`: for threads, which may not enter it.

    >>> open_photo(example_photo()).size
    (480, 320)
    """
    check_readable(path)
    try:
        with Image.open(path) as file:
            return upright(file)
    except Image.DecompressionBombError as error:
        most = 2 * (Image.MAX_IMAGE_PIXELS or 0)
        raise UnreadableError(f"{path} has more than {most:,} pixels: make it smaller first.") from error
    except Exception as error:  # broken files make Pillow's readers raise almost anything
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UnreadableError(
            f"{path} cannot be read as an image ({reason}): give a whole JPEG or PNG file."
        ) from error


def upright(photo: Image.Image) -> Image.Image:
    """Return an open photo as 8-bit RGB: turned by its EXIF tag, transparency over white.

    >>> upright(Image.new("LA", (1, 1))).getpixel((0, 0))
    (255, 255, 255)
    """
    return _composite_over_white(_to_eight_bits(ImageOps.exif_transpose(photo))).convert("RGB")


def crop_centre(
    photo: Image.Image,
    size: int | tuple[int, int],
    margin: float | None = 0.875,
    resample: Image.Resampling = Image.Resampling.BICUBIC,
) -> Image.Image:
    """Return the centre of a photo at `size` pixels (height and width; one number for a square), not stretched.

    It spans `margin` of the largest crop of that shape; None takes the whole photo, stretched.

    >>> photo = Image.new("RGB", (640, 480))
    >>> crop_centre(photo, 224).size, crop_centre(photo, (30, 40), None).size
    ((224, 224), (40, 30))
    """
    height, width = (size, size) if isinstance(size, int) else size
    return photo.resize((width, height), resample, box=centre_box(photo.size, size, margin))


def centre_box(
    photo_size: tuple[int, int], size: int | tuple[int, int], margin: float | None = 0.875
) -> tuple[float, float, float, float]:
    """Return left, top, right and bottom, in pixels of the photo (width, height), of the part that `crop_centre` takes.

    >>> centre_box((400, 300), 224, margin=1.0), centre_box((400, 300), 224, margin=None)
    ((50.0, 0.0, 350.0, 300.0), (0.0, 0.0, 400.0, 300.0))
    """
    wide, high = photo_size
    if margin is None:
        return 0.0, 0.0, float(wide), float(high)
    height, width = (size, size) if isinstance(size, int) else size
    scale = margin * min(wide / width, high / height)
    # rounding may put an edge of the box beyond the photo, which Pillow refuses
    left, top = max((wide - scale * width) / 2, 0.0), max((high - scale * height) / 2, 0.0)
    return left, top, min(left + scale * width, wide), min(top + scale * height, high)


def _photos_in(place: Path) -> list[Path]:
    """Return the photos that a file, folder or glob stands for; the place itself if there are none."""
    if place.is_dir():
        return sorted(path for path in place.iterdir() if is_photo(path) and path.is_file()) or [place]
    if not place.exists() and glob.has_magic(str(place)):
        matches = (Path(match) for match in sorted(glob.glob(str(place), recursive=True)))
        return [path for path in matches if path.is_file()] or [place]
    return [place]


def _why_missing(path: Path) -> str:
    """Return the message for a path that is not a file."""
    inside = _photos_in(path)
    if inside != [path]:
        return f"{path} stands for {len(inside)} photos: give one of them, such as {inside[0]}."
    if path.is_dir():
        others = describe_skipped([path])
        return f"there are no photos in the folder {path}: {others or 'give another'}."
    if glob.has_magic(str(path)):
        return f"no file matches {path}: check the pattern and the folder it starts from."
    return f"{path} is not a file: check its name and folder{_suggest_similar(path)}."


def _suggest_similar(path: Path) -> str:
    """Return a question that suggests a file of a similar name in the same folder, or "" if there is none."""
    try:
        siblings = os.listdir(path.parent)
    except OSError:  # no such folder, or no permission to list it
        return ""
    similar = difflib.get_close_matches(path.name, siblings, 1, 0.8)
    return f" (did you mean {path.with_name(similar[0])}?)" if similar else ""


def _to_eight_bits(photo: Image.Image) -> Image.Image:
    """Return grey of more than 8 bits scaled to 8, other photos unchanged; Pillow would clip all values above 255.

    Integers are taken for 16-bit and floats for [0, 1], unless one is larger. NaN and infinities are black.
    """
    if not photo.mode.startswith(("I", "F")):
        return photo
    usual = 1.0 if photo.mode == "F" else 65535.0
    full = max([usual, *(float(values.max(initial=0.0)) for _, values in _strips(photo))])
    grey = Image.new("L", photo.size)
    for top, values in _strips(photo):
        scaled = np.rint(255 * (np.clip(values, 0, full) / full)).astype(np.uint8)
        grey.paste(Image.fromarray(scaled), (0, top))
    return grey


def _strips(photo: Image.Image) -> Iterator[tuple[int, Array]]:
    """Yield first row and finite values of each strip of the photo: float64 of all at once would take 8 bytes each."""
    rows = max(STRIP // max(photo.width, 1), 1)
    for top in range(0, photo.height, rows):
        strip = photo.crop((0, top, photo.width, min(top + rows, photo.height)))
        yield top, np.nan_to_num(np.asarray(strip, dtype=np.float64), posinf=0.0, neginf=0.0)


def _composite_over_white(photo: Image.Image) -> Image.Image:
    """Return a photo with transparency laid over white, other photos unchanged."""
    if "A" not in photo.getbands() and "a" not in photo.getbands() and "transparency" not in photo.info:
        return photo
    layered = photo.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", layered.size, "white"), layered)
