"""Parts of a self-contained page: pictures as data URIs, and a policy that admits nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import io
from dataclasses import dataclass

from PIL import Image

TINY = 100  # pixels: smaller pictures are enlarged as squares rather than blurred


@dataclass(frozen=True)
class EmbeddedImage:
    """A picture inside a page."""

    uri: str
    width: int
    height: int

    @property
    def is_tiny(self) -> bool:
        """Whether the page enlarges it as squares."""
        return max(self.width, self.height) < TINY


def embed_image(image: Image.Image, form: str = "PNG") -> EmbeddedImage:
    """Return the picture as a part of a page, as PNG or JPEG.

    >>> embed_image(Image.new("RGB", (2, 1))).width
    2
    """
    return EmbeddedImage(data_uri(image, form), image.width, image.height)


def data_uri(image: Image.Image, form: str = "PNG", quality: int = 88) -> str:
    """Return the picture as a data URI, as PNG or, with this quality, as JPEG.

    >>> data_uri(Image.new("RGB", (1, 1)))[:22]
    'data:image/png;base64,'
    """
    file = io.BytesIO()
    image.save(file, form, optimize=True, **({"quality": quality} if form == "JPEG" else {}))
    return encode_picture(file.getvalue(), form)


def encode_picture(content: bytes, form: str) -> str:
    """Return the bytes of a picture file of this format as a data URI.

    >>> encode_picture(b"abc", "PNG")
    'data:image/png;base64,YWJj'
    """
    return f"data:image/{form.lower()};base64,{base64.b64encode(content).decode('ascii')}"


def content_security_policy(script: str, style: str, images: str = "data:") -> str:
    """Return the policy of a page: nothing from anywhere, no style but this one, and no script but this one, if any.

    `images` says where pictures may come from: from within the page, if left out.

    >>> content_security_policy("", "").split("; ")
    ["default-src 'none'", 'img-src data:', "style-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"]
    """
    scripts = [f"script-src {_hash_source(script)}"] if script else []
    return "; ".join(["default-src 'none'", f"img-src {images}", *scripts, f"style-src {_hash_source(style)}"])


def _hash_source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
