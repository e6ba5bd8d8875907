"""WebDataset tars: members of one stem are one sample. Nothing is unpacked; a photo is read from where it lies."""

from __future__ import annotations

import io
import tarfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image, ImageOps

from samp import photos
from samp.photos import UnreadableError
from samp.runs.sources import Entry, legible


class Span(NamedTuple):
    """Where the bytes of a member lie."""

    tar: str
    first: int
    size: int


@dataclass(frozen=True)
class Tars:
    """Plain tars; a sample's id is its tar's stem and its own, its class the number in its `.cls` member if any.

    A tar without compression is its members one after the other, so each can be read alone, in any order.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with tarfile.open(f"{folder}/a.tar", "w") as tar:
    ...         tar.add(photos.embedded(), "cups/1.jpg")
    ...     tars = Tars((Path(folder) / "a.tar",))
    ...     entry = tars.entries()[0]
    ...     entry.id, tars.read(entry).size
    ('a/cups/1', (480, 320))
    """

    files: tuple[Path, ...]

    def entries(self) -> list[Entry]:
        return [entry for file in self.files for entry in _samples(file)]

    def read(self, entry: Entry) -> Image.Image:
        span = Span(*entry.place)
        with open(span.tar, "rb") as file:
            file.seek(span.first)
            return decoded(file.read(span.size), f"{entry.id} in {span.tar}")

    def describe(self) -> dict[str, Any]:
        return {"kind": "tars", "place": str(self.files[0].parent), "files": [file.name for file in self.files]}


def decoded(data: bytes, name: str) -> Image.Image:
    """The photo in these bytes as RGB, as `samp.photos.read` makes it of a file.

    >>> decoded(photos.embedded().read_bytes(), "cup").size
    (480, 320)
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(data)) as file:
                return upright(file)
    except Exception as error:  # as in photos.read
        said = " ".join(str(error).split()) or type(error).__name__
        raise UnreadableError(f"{name} cannot be read as an image ({said}): give a whole JPEG or PNG file.") from error


def upright(photo: Image.Image) -> Image.Image:
    """A photo that is open already as RGB: turned by its EXIF tag, 8 bits, transparency over white.

    >>> upright(Image.new("LA", (1, 1))).getpixel((0, 0))
    (255, 255, 255)
    """
    return photos._over_white(photos._eight_bits(ImageOps.exif_transpose(photo))).convert("RGB")


def _samples(file: Path) -> Iterator[Entry]:
    """The samples of a tar in the order of their first members."""
    spans: dict[str, Span] = {}
    classes: dict[str, str] = {}
    try:
        with tarfile.open(file, "r:") as tar:
            for member in tar:
                stem, suffix = _named(member.name)
                if not member.isfile() or not stem:
                    continue
                if suffix == "cls" and (data := tar.extractfile(member)):
                    classes[stem] = data.read().decode("utf-8", "replace").strip()
                elif f".{suffix}" in photos.SUFFIXES:
                    spans.setdefault(stem, Span(str(file), member.offset_data, member.size))
    except (tarfile.TarError, OSError) as error:
        raise ValueError(
            f"{file} cannot be read as a plain tar ({error}): give whole tars without compression."
        ) from error
    return (Entry(legible(f"{file.stem}/{stem}"), tuple(span), classes.get(stem)) for stem, span in spans.items())


def _named(member: str) -> tuple[str, str]:
    """A member's stem and suffix, the way WebDataset splits: at the first dot of its own name."""
    folder, _, name = member.removeprefix("./").rpartition("/")
    stem, _, suffix = name.partition(".")
    return (f"{folder}/{stem}" if folder else stem), suffix.lower()
