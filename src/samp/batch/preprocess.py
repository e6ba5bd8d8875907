"""From an input of a data set to what the net is shown: the reader's side of the work, which needs no net."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

from samp.batch.sources import Entry, Source
from samp.batch.tars import upright
from samp.models import Classifier

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Sample:
    """An input that was read, or what hindered it."""

    id: str
    target: str | None
    shown: Array | None
    """What the net is shown: the cut photo (h w or h w c, 8 bits), or its input itself (floats)."""
    error: str | None = None
    kept: bool = False
    """Whether it was not read, since its row of an earlier run stands."""


def without_net(classifier: Classifier) -> Classifier:
    """How a photo is cut and fed, without the weights: all that a reader needs.

    >>> without_net(Classifier(nn.Linear(1, 1), "net", 2, 0.5, 0.5, ())).net
    Identity()
    """
    return replace(classifier, net=nn.Identity())


def read_samples(
    source: Source, entries: Sequence[Entry], feeding: Classifier, kept: Container[str] = frozenset()
) -> list[Sample]:
    """A sample for each entry, in order; one that cannot be read says why, and the others go on.

    Those whose ids are in `kept` are not read.
    """
    return [
        Sample(entry.id, entry.target, None, kept=True) if entry.id in kept else _read_sample(source, entry, feeding)
        for entry in entries
    ]


def stack_inputs(shown: Sequence[Array], feeding: Classifier, like: Tensor) -> Tensor:
    """The net's inputs (b c h w, or whatever the data set gave) out of what a reader made, where `like` lies and in its
    dtype. Photos go there as they are: a byte a number, and fed in one go.

    >>> tiny = Classifier(nn.Identity(), "tiny", 2, 0.5, 0.5, ())
    >>> stack_inputs([np.full((2, 2, 3), 255, np.uint8)], tiny, torch.empty(0)).unique()
    tensor([1.])
    """
    if all(one.dtype == np.uint8 for one in shown):
        pixels = torch.from_numpy(np.stack([np.atleast_3d(one) for one in shown]))
        return feeding.to_input(pixels.to(like.device)).to(like)
    floats = [
        stack_inputs([one], feeding, like)[0] if one.dtype == np.uint8 else torch.from_numpy(one) for one in shown
    ]
    return torch.stack([one.to(like) for one in floats])


def _read_sample(source: Source, entry: Entry, feeding: Classifier) -> Sample:
    try:
        found = source.read(entry)
        item, target = found if isinstance(found, tuple) else (found, None)
        return Sample(entry.id, entry.target if entry.target is not None else target, _prepare_item(item, feeding))
    except Exception as error:  # a data set of the user's may raise anything
        said = " ".join(str(error).split()) or type(error).__name__
        return Sample(entry.id, entry.target, None, said)


def _prepare_item(item: Any, feeding: Classifier) -> Array:
    if isinstance(item, Image.Image):
        return np.asarray(feeding.crop(upright(item)))
    if isinstance(item, np.ndarray) and item.dtype == np.uint8:
        return np.asarray(feeding.crop(upright(Image.fromarray(item))))
    numbers = item.detach().cpu().numpy() if isinstance(item, Tensor) else item
    if not isinstance(numbers, np.ndarray) or not np.issubdtype(numbers.dtype, np.floating):
        kind = f"{type(item).__name__} of {numbers.dtype}" if isinstance(numbers, np.ndarray) else type(item).__name__
        raise TypeError(f"an item is a {kind}: give a PIL image, h w c bytes, or floats as the net takes them.")
    return numbers
