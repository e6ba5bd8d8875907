"""Figures in the page: the file itself, with its size and what it shows."""

from __future__ import annotations

import base64
from html import escape
from pathlib import Path

from PIL import Image

from samp_lab.report.shared_tables import picture_path
from samp_lab.sections import Picture


def embed_picture(figure: Picture, figures: Path) -> str:
    """A figure as HTML, the picture in it; a sentence where it is not there or is no picture.

    >>> embed_picture(Picture("a.png", "Maps."), Path("no such folder"))
    '<p class="note">The figure a.png is not there.</p>'
    """
    path = picture_path(figure, figures)
    if path is None:
        return f'<p class="note">The figure {escape(figure.file)} is not there.</p>'
    try:
        with Image.open(path) as image:
            image.verify()
            form, (width, height) = (image.format or "PNG").lower(), image.size
    except (OSError, SyntaxError):  # the latter is what a broken PNG gives
        return f'<p class="note">The figure {escape(figure.file)} is no picture that can be read: draw it again.</p>'
    # The bytes as they are: written again they would be larger, and slower to make.
    source = f"data:image/{form};base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"
    caption = escape(figure.caption)
    image_tag = f'<img width="{width}" height="{height}" alt="{caption}" src="{source}">'
    return f"<figure>{image_tag}<figcaption>{caption}</figcaption></figure>"
