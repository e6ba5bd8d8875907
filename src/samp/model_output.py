"""The scores in what a model returns: a tensor, or one of the tensors of a tuple, a dict or a package's own class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

NAMES = ("logits", "out")  # transformers' name for the scores of classes, and that of torchvision's segmentation nets
INSTEAD = "pass a target function output -> b that takes what is to be explained from it"


def extract_scores(output: Any, names: Sequence[str] = NAMES) -> Tensor:
    """Return the scores in a model's output.

    - A tensor is returned as it is.
    - Of a dict, or of an object such as transformers' ModelOutput, it is the one entry of these names, else its only
      tensor.
    - Of a tuple or list, it is the first tensor: auxiliary outputs come after it.

    Raises TypeError if there is none, or if nothing tells which it is: several tensors of these names, or in a dict
    under others, or a tuple with another tensor of another shape that has two axes (b k) or as many as the first, as
    features beside logits have.

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
    named = {name: entry for name in names if isinstance(entry := read_entry(output, name), Tensor)}
    if len(named) == 1:
        return next(iter(named.values()))
    tensors = named or _list_tensors(output)
    if not tensors:
        raise TypeError(f"the model returns {type(output).__name__}, not a tensor: {INSTEAD}.")
    first = next(iter(tensors.values()))
    ordered = isinstance(output, tuple | list) and 0 in tensors
    others = [tensor for tensor in tensors.values() if tensor is not first]
    if others and not (ordered and not any(_may_be_scores(other, first) for other in others)):
        shapes = [f"{name} ({' × '.join(map(str, tensor.shape))})" for name, tensor in tensors.items()]
        raise TypeError(
            f"the model returns {type(output).__name__} with tensors {', '.join(shapes[:-1])} and {shapes[-1]}, and "
            f"which of them holds the scores is not known: {INSTEAD}."
        )
    return first


def read_entry(output: Any, name: str) -> Any:
    """Return the entry of a mapping or the attribute of this name, or None.

    >>> read_entry({"logits": 1}, "logits"), read_entry((), "logits")
    (1, None)
    """
    return output.get(name) if isinstance(output, Mapping) else getattr(output, name, None)


def describe_output(output: Any) -> str:
    """Return words for an output: its type, with the shape of a tensor or the names or entries of a container.

    >>> describe_output([{"boxes": torch.ones(3, 4)}])
    'a list of 1, first dict(boxes: shape (3, 4))'
    """
    if isinstance(output, Tensor):
        return f"shape {tuple(output.shape)}"
    if isinstance(output, Mapping):
        return f"{type(output).__name__}({', '.join(f'{key}: {describe_output(one)}' for key, one in output.items())})"
    if isinstance(output, tuple | list):
        first = f", first {describe_output(output[0])}" if output else ""
        return f"a {type(output).__name__} of {len(output)}{first}"
    return type(output).__name__


def _may_be_scores(other: Tensor, first: Tensor) -> bool:
    """Return whether a tensor behind the first of a tuple could be the scores as well."""
    return other.ndim in (2, first.ndim) and other.shape != first.shape


def _list_tensors(output: Any) -> dict[str | int, Tensor]:
    """Return the tensors directly in a mapping or sequence by their name or place."""
    if isinstance(output, Mapping):
        return {str(name): value for name, value in output.items() if isinstance(value, torch.Tensor)}
    entries = output if isinstance(output, tuple | list) else ()
    return {place: value for place, value in enumerate(entries) if isinstance(value, torch.Tensor)}
