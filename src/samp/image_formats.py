"""Picture formats that Pillow cannot read by itself, and what a user can do about each."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path

HEIC, SVG, RAW, JXL = "HEIC", "SVG", "raw", "JPEG XL"
KINDS = {
    **dict.fromkeys((".heic", ".heif", ".hif"), HEIC),
    **dict.fromkeys((".svg", ".svgz"), SVG),
    **dict.fromkeys((".dng", ".cr2", ".cr3", ".nef", ".arw", ".orf", ".raf", ".rw2"), RAW),
    ".jxl": JXL,
}
ADVICE = {
    HEIC: "`pip install pillow-heif` brings a reader",
    SVG: "a drawing has no pixels: export it as PNG first",
    RAW: "what a camera's sensor saw: export it as JPEG or PNG first",
    JXL: "export it as PNG first",
}
BRANDS = {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"}  # in the header of HEIC files


def foreign_kind(path: str | os.PathLike[str]) -> str | None:
    """Return the kind of a picture that Pillow cannot read by itself, by its first bytes or its suffix, else None.

    The bytes come first because phones also save HEIC files with names that end in .jpg.

    >>> foreign_kind("a/photo.HEIC"), foreign_kind("drawing.svg"), foreign_kind("photo.jpg")
    ('HEIC', 'SVG', None)
    """
    try:
        with open(path, "rb") as file:
            head = file.read(12)
    except OSError:  # reading the picture later raises it again
        head = b""
    return foreign_kind_of(head, os.fspath(path))


def foreign_kind_of(head: bytes, name: str) -> str | None:
    """Return the same for a file of this name that begins with these 12 bytes.

    >>> foreign_kind_of(b"\\0\\0\\0\\x18ftypheic", "photo.jpg"), foreign_kind_of(b"", "photo.jpg")
    ('HEIC', None)
    """
    if head[4:8] == b"ftyp" and head[8:12] in BRANDS:
        return HEIC
    return KINDS.get(Path(name).suffix.lower())


@cache
def can_read_heic() -> bool:
    """Return whether pillow-heif is installed; if it is, register it so that Pillow reads HEIC from now on."""
    try:
        plugin = import_module("pillow_heif")
    except ImportError:
        return False
    plugin.register_heif_opener()
    return True


def is_unsupported(path: str | os.PathLike[str]) -> bool:
    """Return whether a file of this name in a folder is left out as a kind of picture that cannot be read here.

    >>> is_unsupported("drawing.svg"), is_unsupported("notes.txt"), is_unsupported("photo.jpg")
    (True, False, False)
    """
    kind = KINDS.get(Path(path).suffix.lower())
    return kind is not None and not Path(path).name.startswith(".") and not (kind == HEIC and can_read_heic())


def describe_unsupported(paths: Iterable[str | os.PathLike[str]]) -> str:
    """Return a text on how many of these files are left out and what to do about each kind; "" if none.

    >>> describe_unsupported(["a.svg", "b.svg", "c.jpg"])
    '2 SVG files are left out (a drawing has no pixels: export it as PNG first)'
    """
    counts = Counter(KINDS[Path(path).suffix.lower()] for path in paths if is_unsupported(path))
    return ", ".join(
        f"{count} {kind} file{'s are' if count > 1 else ' is'} left out ({ADVICE[kind]})"
        for kind, count in sorted(counts.items())
    )
