"""WebDataset tars: every photo in them is an input. Nothing is unpacked: photos are read from within the tar.

`tar_members.py` lists the photos in a tar.
"""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from PIL import Image

from samp import images
from samp.batch.messages import error_line
from samp.batch.sources import Entry
from samp.batch.tar_members import Span, list_photos
from samp.images import UnreadableError

MOST_BYTES = 2**29  # of one photo's file, which is in memory while it is decoded


@dataclass(frozen=True)
class Tars:
    """Plain tars; a photo's id is its tar's stem and its own name without suffix, its class the content of its `.cls`.

    If two tars have the same stem, all ids begin with the tars' paths instead, relative to their common folder. A tar
    without compression is a sequence of its members, so each of them can be read alone, in any order.

    >>> import tarfile, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with tarfile.open(f"{folder}/a.tar", "w") as tar:
    ...         tar.add(images.example_photo(), "cups/1.jpg")
    ...     tars = Tars((Path(folder) / "a.tar",))
    ...     entry = tars.entries()[0]
    ...     entry.id, tars.read(entry).size
    ('a/cups/1', (480, 320))
    """

    by_threads: ClassVar[bool] = True

    files: tuple[Path, ...]

    def entries(self) -> list[Entry]:
        paths = self._relative_names(self._common)
        stems = [file.stem for file in self.files]
        # Paths keep their ".tar": else b/c in a.tar and c in a/b.tar would have one id.
        names = stems if len(set(stems)) == len(stems) else paths
        return [entry for file, name in zip(self.files, names, strict=True) for entry in list_photos(file, name)]

    def read(self, entry: Entry) -> Image.Image:
        span = Span(*entry.place)
        if span.size > MOST_BYTES:
            raise UnreadableError(
                f"{entry.id} in {span.tar} has {span.size:,} bytes, more than {MOST_BYTES:,}: make it smaller first."
            )
        with open(span.tar, "rb") as file:
            file.seek(span.first)
            return decode_photo(file.read(span.size), f"{entry.id} in {span.tar}")

    def describe(self) -> dict[str, Any]:
        return {"kind": "tars", "place": str(self._common), "files": self._relative_names(self._common)}

    @property
    def _common(self) -> Path:
        return Path(os.path.commonpath([file.parent for file in self.files]))

    def _relative_names(self, folder: Path) -> list[str]:
        return [file.relative_to(folder).as_posix() for file in self.files]


def decode_photo(data: bytes, name: str) -> Image.Image:
    """Return the photo in these bytes as RGB, as `samp.images.open_photo` does for a file; raises UnreadableError.

    >>> decode_photo(images.example_photo().read_bytes(), "cup").size
    (480, 320)
    """
    try:
        with Image.open(io.BytesIO(data)) as file:
            return images.upright(file)
    except Exception as error:  # Pillow raises many kinds for a damaged file
        why = error_line(error)
        raise UnreadableError(f"{name} cannot be read as an image ({why}): give a whole JPEG or PNG file.") from error
