"""Figures in the page: the file itself, with its size."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from samp.html.embed import EmbeddedImage, encode_picture
from samp_lab.report.shared_tables import picture_path
from samp_lab.sections import Picture


def embed_picture(figure: Picture, figures: Path) -> EmbeddedImage | str:
    """Return the picture of a figure, or the sentence that replaces it if it is missing or unreadable.

    >>> embed_picture(Picture("a.png", "Maps."), Path("no such folder"))
    'The figure a.png is not there.'
    """
    path = picture_path(figure, figures)
    if path is None:
        return f"The figure {figure.file} is not there."
    try:
        with Image.open(path) as image:
            image.verify()
            form, (width, height) = image.format or "PNG", image.size
    except (OSError, SyntaxError):  # a broken PNG raises the latter
        return f"The figure {figure.file} is no picture that can be read: draw it again."
    # The file's own bytes: encoded again they would be larger, and slower to make.
    return EmbeddedImage(encode_picture(path.read_bytes(), form), width, height)
