"""A small net with something to play: what the tests of the path player share."""

from __future__ import annotations

import json
import re
from typing import Any

import torch
from torch import nn

import samp
from samp.models import Classifier

EVIL = """</script><script>document.title = "hit"</script><img src=x onerror='document.title = "hit"'>"'&lt;&"""
SIDE = 8


class Bumpy(nn.Module):
    """Six classes whose order changes along a path: each likes its own part of the image, in its own curve."""

    def __init__(self, channels: int = 3, side: int = SIDE) -> None:
        super().__init__()
        weights = torch.randn(6, channels, side, side, generator=torch.Generator().manual_seed(0))
        self.weights = nn.Parameter(weights)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.einsum("bchw,kchw->bk", x + 0.5 * torch.sin(4 * x), self.weights)


def tiny(net: nn.Module | None = None, **changed: Any) -> Classifier:
    names = ("cup", "cat", EVIL, "dog", "a spotted dog", "gong")
    return Classifier(
        net or Bumpy(), **{"name": "tiny", "size": SIDE, "mean": 0.5, "std": 0.25, "classes": names} | changed
    )


def image(channels: int = 3) -> torch.Tensor:
    """Smooth, and from black to white as `tiny` is fed."""
    across = torch.linspace(-2, 2, SIDE).expand(SIDE, SIDE)
    return torch.stack([across, across.T, -across][:channels])[None]


def explain_tiny(method: Any = "samp++", **more: Any) -> samp.Attribution:
    return samp.explain(Bumpy().eval(), image(), target=2, method=method, keep_points=True, **more)


def data_of(page: str) -> dict[str, Any]:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)
    return json.loads(text)
