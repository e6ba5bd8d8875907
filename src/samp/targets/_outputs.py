"""Finding the tensor that a target is about in what a model returns, and describing an output that has none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor


def find_tensor(output: Any, names: Sequence[str], target: str, expected: str) -> Tensor:
    """Return the output if it is a tensor, else its entry of one of these names, else the first of a tuple.

    Names are keys of a mapping or attributes, as of the outputs of Hugging Face. Raises TypeError if there is no such
    tensor, or more than one of these names.

    >>> import torch
    >>> find_tensor({"out": torch.ones(2), "aux": torch.zeros(2)}, ("out", "logits"), "Segmentation", "b classes h w")
    tensor([1., 1.])
    """
    if isinstance(output, Tensor):
        return output
    entries = [entry for entry in (read_entry(output, name) for name in names) if isinstance(entry, Tensor)]
    if len(entries) == 1:
        return entries[0]
    if not entries and isinstance(output, tuple | list) and output and isinstance(output[0], Tensor):
        return output[0]
    known = " or ".join(map(repr, names))
    raise TypeError(
        f"{target} explains an output of shape {expected}, alone, first in a tuple, or as one entry named {known}, but "
        f"the model gave {describe_output(output)}: pass as the model a function that returns that tensor."
    )


def read_entry(output: Any, name: str) -> Any:
    """Return the entry of a mapping or the attribute of this name, or None."""
    return output.get(name) if isinstance(output, Mapping) else getattr(output, name, None)


def describe_output(output: Any) -> str:
    """Return words for an output: its type, with the shape of a tensor or the names or entries of a container.

    >>> import torch
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
