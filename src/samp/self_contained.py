"""What self-contained HTML pages share: data that is never taken for markup, and a policy that lets nothing else in."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any


def as_json(data: Any) -> str:
    """JSON for a script element, which no HTML parser mistakes for a tag, whatever names are in it.

    >>> as_json(["</script>", 1])
    '["\\\\u003c/script\\\\u003e",1]'
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def policy(script: str, style: str) -> str:
    """A content security policy: nothing from anywhere, no script and no style but these two.

    >>> policy("", "").split("; ")[:2]
    ["default-src 'none'", 'img-src data:']
    """
    ours = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style))
    return "default-src 'none'; img-src data:; script-src 'sha256-{}'; style-src 'sha256-{}'".format(*ours)
