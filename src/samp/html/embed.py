"""What self-contained HTML pages share: data never taken for markup, pictures, a policy that lets nothing else in."""

from __future__ import annotations

import base64
import hashlib
import io
import json
from typing import Any

from PIL import Image


def as_json(data: Any) -> str:
    """JSON for a script element, which no HTML parser mistakes for a tag, whatever names are in it.

    >>> as_json(["</script>", 1])
    '["\\\\u003c/script\\\\u003e",1]'
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def data_uri(image: Image.Image, form: str = "PNG", quality: int = 88) -> str:
    """The picture itself as an address, as a PNG or, with this quality, as a JPEG.

    >>> data_uri(Image.new("RGB", (1, 1)))[:22]
    'data:image/png;base64,'
    """
    file = io.BytesIO()
    image.save(file, form, optimize=True, **({"quality": quality} if form == "JPEG" else {}))
    return f"data:image/{form.lower()};base64,{base64.b64encode(file.getvalue()).decode('ascii')}"


def content_security_policy(script: str, style: str) -> str:
    """A content security policy: nothing from anywhere, no script and no style but these two.

    >>> content_security_policy("", "").split("; ")[:2]
    ["default-src 'none'", 'img-src data:']
    """
    ours = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style))
    return "default-src 'none'; img-src data:; script-src 'sha256-{}'; style-src 'sha256-{}'".format(*ours)
