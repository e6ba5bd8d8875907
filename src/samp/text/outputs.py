"""Reading a text model's output: class scores, the scores at one token, or the mean of the hidden states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

Pooling = Literal["mean", "first"]


class NoScoresError(TypeError):
    """The model gives hidden states and no scores, so there is no answer to explain."""


def read_whole(output: Any, inputs: Mapping[str, Tensor], position: Tensor) -> Any:
    """Return the output itself: a target function reads it."""
    return output


def read_classes(output: Any, inputs: Mapping[str, Tensor], position: Tensor) -> Tensor:
    """Return the scores of the classes (r k)."""
    scores = find_scores(output)
    if scores is None:
        raise _no_scores(output)
    return scores


def read_position(output: Any, inputs: Mapping[str, Tensor], position: Tensor) -> Tensor:
    """Return the scores at each text's position (r k), out of those of all tokens or of the needed ones (r l k)."""
    scores = find_scores(output)
    if scores is None:
        raise _no_scores(output)
    length = next(iter(inputs.values())).shape[1]
    where = position if scores.shape[1] == length else torch.unique(position, return_inverse=True)[1]
    return scores[torch.arange(len(scores), device=scores.device), where]


@dataclass(frozen=True)
class ReadPooled:
    """Reads the hidden states pooled over the text (r e): their mean over tokens that are no padding, or the first."""

    pooling: Pooling

    def __call__(self, output: Any, inputs: Mapping[str, Tensor], position: Tensor) -> Tensor:
        hidden = output if isinstance(output, Tensor) else getattr(output, "last_hidden_state", None)
        if hidden is None and isinstance(output, tuple | list):
            hidden = output[0]
        if not isinstance(hidden, Tensor) or hidden.ndim != 3:
            raise TypeError(
                f"the model returns {type(output).__name__} without hidden states (b l e), which a similarity of texts "
                "is computed from: load the model without its head, as transformers.AutoModel does."
            )
        if self.pooling == "first":
            return hidden[:, 0]
        seen = inputs.get("attention_mask")
        weights = torch.ones(hidden.shape[:2]).to(hidden) if seen is None else seen.to(hidden.dtype)
        return (hidden * weights[..., None]).sum(1) / weights.sum(1, keepdim=True).clamp(min=1)


def find_scores(output: Any) -> Tensor | None:
    """Return the scores in an output: itself, its `logits`, or the first of a tuple; None if there are none.

    >>> find_scores({"logits": torch.zeros(1, 2)}).shape, find_scores("text")
    (torch.Size([1, 2]), None)
    """
    if isinstance(output, Mapping):
        output = output.get("logits")
    elif hasattr(output, "logits"):
        output = output.logits
    elif isinstance(output, tuple | list) and output:
        output = output[0]
    return output if isinstance(output, Tensor) else None


def _no_scores(output: Any) -> NoScoresError:
    return NoScoresError(
        f"the model returns {type(output).__name__} without scores (logits): pass target=samp.text.Similarity('another "
        "text'), a target function output -> b, or a model with a head."
    )
