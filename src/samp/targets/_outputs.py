"""Finding the tensor that a target is about in what a model returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from samp.model_output import NAMES, extract_scores


def find_tensor(output: Any, target: str, expected: str, names: Sequence[str] = NAMES) -> Tensor:
    """Return the tensor that `samp.model_output.extract_scores` finds; its TypeError names the target.

    >>> import torch
    >>> find_tensor({"out": torch.ones(2), "aux": torch.zeros(2)}, "Segmentation", "b classes h w")
    tensor([1., 1.])
    """
    try:
        return extract_scores(output, names)
    except TypeError as error:
        known = " or ".join(map(repr, names))
        raise TypeError(
            f"{target} explains an output of shape {expected}, alone, first in a tuple, or as one entry named {known}, "
            f"but {error}"
        ) from error
