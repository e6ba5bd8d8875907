"""Photos in the app: the embedded ones and what visitors upload, all in memory.

A photo's size is read from its header, and refused if it is too large, before a single pixel is decoded. Only formats
of plain pixels are opened: Pillow would run other programs for some others (Ghostscript for EPS).
"""

from __future__ import annotations

import io
import secrets
import threading
from dataclasses import dataclass
from urllib.parse import unquote

from PIL import Image

from samp.app.limits import Limits
from samp.app.refusals import RefusedError
from samp.html.embed import data_uri
from samp.image_formats import ADVICE, HEIC, can_read_heic, foreign_kind_of
from samp.images import EXAMPLE_NAMES, example_photo, upright

FORMATS = ("JPEG", "MPO", "PNG", "WEBP", "GIF", "BMP", "TIFF", "PPM", "JPEG2000", "AVIF", "HEIF")
THUMB, LARGE_THUMB = 160, 480  # pixels, the longer side; the page begins with the embedded ones
CREDITS = {
    "coffee": "Photograph by Rachel Michetti from Pikolo Espresso Bar, CC0.",
    "chelsea": "Chelsea the cat, photograph by Stéfan van der Walt, CC0.",
}
LONGEST_NAME = 120
GIVE = "give a whole JPEG or PNG file"


@dataclass(frozen=True, eq=False)
class StoredPhoto:
    """A photo as a file in memory."""

    id: str
    name: str
    content: bytes
    width: int
    height: int
    thumb: str
    """A data URI."""
    credit: str = ""

    @property
    def is_embedded(self) -> bool:
        """Whether it comes with samp."""
        return self.id in EXAMPLE_NAMES

    def read(self) -> Image.Image:
        """Return the photo as `samp.images.read` does: upright RGB."""
        return decode(self.content, self.name)

    def describe(self) -> dict[str, object]:
        """Return what the page is told of it."""
        known = {name: getattr(self, name) for name in ("id", "name", "width", "height", "thumb")}
        return {**known, "credit": self.credit} if self.credit else known


class Photos:
    """The photos that can be explained, by id; of those uploaded only the latest are kept."""

    def __init__(self, limits: Limits) -> None:
        self.limits, self.lock = limits, threading.Lock()
        self.embedded = {name: _embedded_photo(name) for name in EXAMPLE_NAMES}
        self.uploaded: dict[str, StoredPhoto] = {}

    def add(self, content: bytes, name: str) -> StoredPhoto:
        """Keep an uploaded photo, and return it; raise RefusedError if it is none or too large."""
        check_header(content, name, self.limits.pixels)
        photo = _make_photo(secrets.token_hex(8), content, name)
        with self.lock:
            self.uploaded[photo.id] = photo
            while len(self.uploaded) > self.limits.photos or self._kept_bytes() > self.limits.kept_bytes:
                self.uploaded.pop(next(iter(self.uploaded)))
        return photo

    def get(self, id: object) -> StoredPhoto:
        """Return the photo of this id; raise RefusedError if there is none."""
        with self.lock:
            photo = {**self.embedded, **self.uploaded}.get(str(id))
        if photo is None:
            raise RefusedError(404, "this photo is no longer here: add it again.")
        return photo

    def _kept_bytes(self) -> int:
        return sum(len(photo.content) for photo in self.uploaded.values())


def check_header(content: bytes, name: str, most_pixels: int) -> None:
    """Raise RefusedError unless these bytes begin as a photo of at most so many pixels; no pixel is decoded."""
    kind = foreign_kind_of(content[:12], name)
    if kind is not None and not (kind == HEIC and can_read_heic()):
        raise RefusedError(415, f"{name} is in {kind} format, which cannot be read here ({ADVICE[kind]}).")
    try:
        with _open(content) as file:
            width, height = file.size
    except Image.DecompressionBombError:
        raise _too_many_pixels(name, "far more pixels than can be read", most_pixels) from None
    except Exception as error:  # broken headers make Pillow's readers raise almost anything
        raise RefusedError(415, f"{name} is no photo that can be read here: {GIVE}.") from error
    if width * height > most_pixels:
        raise _too_many_pixels(name, f"{width:,} × {height:,} pixels", most_pixels)


def decode(content: bytes, name: str) -> Image.Image:
    """Return the photo in these bytes, upright RGB; raise RefusedError if they are not a whole one."""
    try:
        with _open(content) as file:
            return upright(file)
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise RefusedError(415, f"{name} cannot be read as a photo ({reason}): {GIVE}.") from error


def clean_name(quoted: str) -> str:
    """Return the name of a file, without folders and control characters, from a header that quotes it.

    >>> clean_name("..%2Fmy%20c%C3%A4t.jpg"), clean_name("a%0Ab.png"), clean_name("")
    ('my cät.jpg', 'ab.png', 'photo')
    """
    name = unquote(quoted).replace("\\", "/").rpartition("/")[2]
    return "".join(letter for letter in name if letter.isprintable()).strip()[-LONGEST_NAME:] or "photo"


def _open(content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(content), formats=_readable_formats())


def _readable_formats() -> list[str]:
    can_read_heic()  # which registers its reader
    Image.init()
    return [form for form in FORMATS if form in Image.OPEN]


def _too_many_pixels(name: str, came: str, most: int) -> RefusedError:
    megapixels = f"{most / 1e6:g} megapixels"
    return RefusedError(413, f"{name} has {came}, and up to {megapixels} are taken: make it smaller first.")


def _embedded_photo(name: str) -> StoredPhoto:
    path = example_photo(name)
    return _make_photo(name, path.read_bytes(), path.name, CREDITS[name])


def _make_photo(id: str, content: bytes, name: str, credit: str = "") -> StoredPhoto:
    image = decode(content, name)
    width, height = image.size
    side = LARGE_THUMB if id in EXAMPLE_NAMES else THUMB
    image.thumbnail((side, side))
    return StoredPhoto(id, name, content, width, height, data_uri(image, "JPEG"), credit)
