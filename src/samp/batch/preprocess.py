"""Read the inputs of a data set and prepare them for the net: the work of readers, which needs no net."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

from samp.batch.messages import error_line
from samp.batch.sources import Entry, Source
from samp.images import upright
from samp.models import Classifier

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Sample:
    """An input that was read, or the error that prevented it."""

    id: str
    target: str | None
    array: Array | None
    """The cropped photo (h w or h w c, 8 bits), or the net's input itself (floats)."""
    error: str | None = None
    kept: bool = False
    """Whether it was not read because its row of an earlier run is reused."""


def floating_parameter(classifier: Classifier) -> Tensor:
    """Return a parameter that has the device and dtype of the net's inputs; float32 on the CPU for a net without any.

    >>> floating_parameter(Classifier(nn.Linear(1, 1).double(), "net", 2, 0.5, 0.5, ())).dtype
    torch.float64
    """
    return next((p for p in classifier.net.parameters() if p.is_floating_point()), torch.empty(0))


def without_net(classifier: Classifier) -> Classifier:
    """Return the classifier without its net: how photos are cropped and normalised, which is all that a reader needs.

    >>> without_net(Classifier(nn.Linear(1, 1), "net", 2, 0.5, 0.5, ())).net
    Identity()
    """
    return replace(classifier, net=nn.Identity())


def read_samples(
    source: Source, entries: Sequence[Entry], preprocessor: Classifier, kept: Container[str] = frozenset()
) -> list[Sample]:
    """Return a sample for each entry, in order; one that cannot be read holds the error.

    Entries whose ids are in `kept` are not read.
    """
    return [
        Sample(entry.id, entry.target, None, kept=True)
        if entry.id in kept
        else _read_sample(source, entry, preprocessor)
        for entry in entries
    ]


def stack_inputs(arrays: Sequence[Array], preprocessor: Classifier, like: Tensor) -> Tensor:
    """Return a batch of the net's inputs (b c h w, or whatever the data set gave), with the device and dtype of `like`.

    Photos are sent to the device in 8 bits and normalised there, all at once.

    >>> tiny = Classifier(nn.Identity(), "tiny", 2, 0.5, 0.5, ())
    >>> stack_inputs([np.full((2, 2, 3), 255, np.uint8)], tiny, torch.empty(0)).unique()
    tensor([1.])
    """
    if all(one.dtype == np.uint8 for one in arrays):
        pixels = torch.from_numpy(np.stack([np.atleast_3d(one) for one in arrays]))
        return preprocessor.to_input(pixels.to(like.device)).to(like)
    floats = [
        stack_inputs([one], preprocessor, like)[0] if one.dtype == np.uint8 else torch.from_numpy(one) for one in arrays
    ]
    return torch.stack([one.to(like) for one in floats])


def _read_sample(source: Source, entry: Entry, preprocessor: Classifier) -> Sample:
    try:
        item = source.read(entry)
        item, target = item if isinstance(item, tuple) else (item, None)
        return Sample(entry.id, entry.target if entry.target is not None else target, _prepare_item(item, preprocessor))
    except Exception as error:  # the caller's data set may raise anything
        return Sample(entry.id, entry.target, None, error_line(error))


def _prepare_item(item: Any, preprocessor: Classifier) -> Array:
    if isinstance(item, Image.Image):
        return np.asarray(preprocessor.crop(upright(item)))
    if isinstance(item, np.ndarray) and item.dtype == np.uint8:
        return np.asarray(preprocessor.crop(upright(Image.fromarray(item))))
    numbers = item.detach().cpu().numpy() if isinstance(item, Tensor) else item
    if not isinstance(numbers, np.ndarray) or not np.issubdtype(numbers.dtype, np.floating):
        kind = f"{type(item).__name__} of {numbers.dtype}" if isinstance(numbers, np.ndarray) else type(item).__name__
        raise TypeError(f"an item is a {kind}: give a PIL image, h w c bytes, or floats as the net takes them.")
    return numbers
