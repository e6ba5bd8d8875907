"""WebDataset tars: members of one stem are one sample. Nothing is unpacked; a photo is read from where it lies."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

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

    Where two tars have the same stem, the ids of all begin with their paths instead, from the folder that holds all.
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

    by_threads: ClassVar[bool] = True

    files: tuple[Path, ...]

    def entries(self) -> list[Entry]:
        paths = self._from(self._common)
        stems = [file.stem for file in self.files]
        names = stems if len(set(stems)) == len(stems) else paths  # with their .tar, or a.tar's b/c were a/b.tar's c
        return [entry for file, name in zip(self.files, names, strict=True) for entry in _samples(file, name)]

    def read(self, entry: Entry) -> Image.Image:
        span = Span(*entry.place)
        with open(span.tar, "rb") as file:
            file.seek(span.first)
            return decoded(file.read(span.size), f"{entry.id} in {span.tar}")

    def describe(self) -> dict[str, Any]:
        return {"kind": "tars", "place": str(self._common), "files": self._from(self._common)}

    @property
    def _common(self) -> Path:
        return Path(os.path.commonpath([file.parent for file in self.files]))

    def _from(self, folder: Path) -> list[str]:
        return [file.relative_to(folder).as_posix() for file in self.files]


def decoded(data: bytes, name: str) -> Image.Image:
    """The photo in these bytes as RGB, as `samp.photos.opened` makes it of a file.

    >>> decoded(photos.embedded().read_bytes(), "cup").size
    (480, 320)
    """
    try:
        with Image.open(io.BytesIO(data)) as file:
            return upright(file)
    except Exception as error:  # as in photos.opened
        said = " ".join(str(error).split()) or type(error).__name__
        raise UnreadableError(f"{name} cannot be read as an image ({said}): give a whole JPEG or PNG file.") from error


def upright(photo: Image.Image) -> Image.Image:
    """A photo that is open already as RGB: turned by its EXIF tag, 8 bits, transparency over white.

    >>> upright(Image.new("LA", (1, 1))).getpixel((0, 0))
    (255, 255, 255)
    """
    return photos._over_white(photos._eight_bits(ImageOps.exif_transpose(photo))).convert("RGB")


def _samples(file: Path, name: str) -> Iterator[Entry]:
    """The samples of a tar in the order of their first members."""
    try:
        with tarfile.open(file, "r:") as tar:
            found = _spans(tar, file)
            _check_end(tar, file)
            classes = {stem: _text(tar, member) for stem, member in found.classes.items()}
    except (tarfile.TarError, OSError) as error:
        raise ValueError(
            f"{file} cannot be read as a plain tar ({error}): give whole tars without compression."
        ) from error
    return (Entry(legible(f"{name}/{stem}"), tuple(span), classes.get(stem)) for stem, span in found.photos.items())


@dataclass(frozen=True)
class _Found:
    """What lies in a tar, by stem."""

    photos: dict[str, Span] = field(default_factory=dict)
    classes: dict[str, tarfile.TarInfo] = field(default_factory=dict)


def _spans(tar: tarfile.TarFile, file: Path) -> _Found:
    found, seen = _Found(), dict[str, tarfile.TarInfo]()
    for member in tar:
        stem, suffix = _named(member.name)
        data = seen.get(member.linkname) if member.islnk() else member  # the same file under a second name
        if data is None or not data.isfile() or not stem:
            continue
        if member.name in seen:
            raise ValueError(f"{file} holds {legible(member.name)} twice: give each photo a name of its own.")
        seen[member.name] = data
        if suffix == "cls":
            found.classes[stem] = data
        elif f".{suffix}" in photos.SUFFIXES:
            found.photos.setdefault(stem, Span(str(file), data.offset_data, data.size))
    return found


def _check_end(tar: tarfile.TarFile, file: Path) -> None:
    """A damaged header ends a tar as its end mark does, and what lies behind would be left out without a word."""
    with file.open("rb") as raw:
        raw.seek(tar.offset)
        while block := raw.read(2**20):
            if block.count(0) != len(block):
                raise ValueError(
                    f"{file} goes on behind its end at byte {tar.offset}: it is damaged, or several in one; give whole "
                    "tars, each in a file of its own."
                )


def _text(tar: tarfile.TarFile, member: tarfile.TarInfo) -> str:
    data = tar.extractfile(member)
    return data.read().decode("utf-8", "replace").strip() if data else ""


def _named(member: str) -> tuple[str, str]:
    """A member's stem and suffix, the way WebDataset splits: at the first dot of its own name."""
    folder, _, name = member.removeprefix("./").rpartition("/")
    stem, _, suffix = name.partition(".")
    return (f"{folder}/{stem}" if folder else stem), suffix.lower()
