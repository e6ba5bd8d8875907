"""What a result keeps of its inputs to show itself in a notebook: small copies of the first samples, and names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

MOST_SAMPLES = 8  # kept, and shown by a notebook
LARGEST_SIDE = 256  # pixels of an image that is kept
MOST_NUMBERS = 4096  # of a sample that is no image
COLOUR_CHANNELS = (1, 3)


@dataclass(frozen=True, eq=False)
class Preview:
    """Copies of the first samples' inputs, images no larger than `LARGEST_SIDE`, and the names of classes and columns.

    >>> make_preview([torch.rand(20, 3, 1000, 500)]).inputs[0].shape
    torch.Size([8, 3, 250, 125])
    """

    inputs: tuple[Tensor | None, ...] = ()
    """Per input its first samples, float32 or wider on its own device; None if it is no image and too large to show."""
    classes: Mapping[int, str] = field(default_factory=dict)
    """The names of classes by their index."""
    columns: tuple[str, ...] = ()
    """The names of the features of a b × n input."""


def make_preview(
    inputs: Sequence[Tensor], classes: Mapping[int, str] | None = None, columns: Sequence[str] = ()
) -> Preview:
    """Return the preview of these inputs (b *d); it does not wait for their device."""
    with torch.no_grad():
        return Preview(tuple(map(_shrink, inputs)), dict(classes or {}), tuple(columns))


def configured_names(model: Any) -> dict[int, str]:
    """Return the names of classes in the config of a net of transformers, by their index; empty if there are none.

    Its placeholders, LABEL_0 and so on, are no names.

    >>> configured_names(torch.nn.Linear(2, 2))
    {}
    """
    names = getattr(getattr(model, "config", None), "id2label", None)
    if not isinstance(names, Mapping):
        return {}
    known = {index: str(name) for index, name in names.items() if isinstance(index, int)}
    return {} if all(name == f"LABEL_{index}" for index, name in known.items()) else known


def _shrink(x: Tensor) -> Tensor | None:
    first = x[:MOST_SAMPLES].detach()
    if x.ndim != 4 or x.shape[1] not in COLOUR_CHANNELS:
        return _copy(first) if first[:1].numel() <= MOST_NUMBERS else None
    factor = -(-max(x.shape[2:]) // LARGEST_SIDE)
    if factor == 1:
        return _copy(first)
    # cut so that the blocks of pixels fit, but for images thinner than one block
    blocks = tuple(min(factor, side) for side in x.shape[2:])
    return torch.cat([F.avg_pool2d(_copy(one), blocks) for one in torch.split(first, 1)])  # one by one, to save memory


def _copy(x: Tensor) -> Tensor:
    """Return a copy in float32 or wider: not all devices average halves."""
    return x.to(torch.promote_types(x.dtype, torch.float32), copy=True)
