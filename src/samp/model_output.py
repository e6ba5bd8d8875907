"""The scores in what a model returns: a tensor, or one of the tensors of a tuple, a dict or a package's own class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

NAMES = ("logits", "out")  # transformers' name for the scores of classes, and that of torchvision's segmentation nets
INSTEAD = "pass a target function output -> b that takes what is to be explained from it"


def extract_scores(output: Any) -> Tensor:
    """Return the scores in a model's output.

    - A tensor is returned as it is.
    - Of a dict, or of an object such as transformers' ModelOutput, it is `logits`, else `out`, else its only tensor.
    - Of a tuple or list, it is the first tensor: auxiliary outputs come after it.

    Raises TypeError if there is none, or if nothing tells which it is: several tensors in a dict under other names, or
    a tuple with another tensor of two axes (b k) and of another shape, as features beside logits are.

    >>> extract_scores({"logits": torch.zeros(1, 2), "hidden": torch.zeros(1, 5, 3)}).shape
    torch.Size([1, 2])
    >>> extract_scores((torch.zeros(1, 2), None)).shape
    torch.Size([1, 2])
    >>> extract_scores((torch.zeros(1, 512), torch.zeros(1, 10)))
    Traceback (most recent call last):
    ...
    TypeError: the model returns tuple with tensors 0 (1 × 512) and 1 (1 × 10), and which of them holds the scores is
    not known: pass a target function output -> b that takes what is to be explained from it.
    """
    if isinstance(output, Tensor):
        return output
    for name in NAMES:
        value = output.get(name) if isinstance(output, Mapping) else getattr(output, name, None)
        if isinstance(value, Tensor):
            return value
    tensors = _list_tensors(output)
    if not tensors:
        raise TypeError(f"the model returns {type(output).__name__}, not a tensor: {INSTEAD}.")
    first = next(iter(tensors.values()))
    ordered = isinstance(output, tuple | list) and 0 in tensors
    others = [tensor for tensor in tensors.values() if tensor is not first]
    if others and not (ordered and all(other.ndim != 2 or other.shape == first.shape for other in others)):
        shapes = [f"{name} ({' × '.join(map(str, tensor.shape))})" for name, tensor in tensors.items()]
        raise TypeError(
            f"the model returns {type(output).__name__} with tensors {', '.join(shapes[:-1])} and {shapes[-1]}, and "
            f"which of them holds the scores is not known: {INSTEAD}."
        )
    return first


def _list_tensors(output: Any) -> dict[str | int, Tensor]:
    """Return the tensors directly in a mapping or sequence by their name or place."""
    if isinstance(output, Mapping):
        return {str(name): value for name, value in output.items() if isinstance(value, torch.Tensor)}
    entries = output if isinstance(output, tuple | list) else ()
    return {place: value for place, value in enumerate(entries) if isinstance(value, torch.Tensor)}
