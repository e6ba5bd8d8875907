"""Reading a text model's output: class scores, the scores at one token, or the mean of the hidden states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from samp.model_output import NAMES, extract_scores

HIDDEN = ("last_hidden_state", "pooler_output")  # transformers' names
Pooling = Literal["mean", "first"]


class NoScoresError(TypeError):
    """The model gives hidden states and no scores, so there is no answer to explain."""


def read_whole(output: Any, inputs: Mapping[str, Tensor], position: Tensor) -> Any:
    """Return the output itself: a target function reads it."""
    return output


def read_classes(output: Any, inputs: Mapping[str, Tensor], position: Tensor) -> Tensor:
    """Return the scores of the classes (r k)."""
    return find_scores(output)


@dataclass(frozen=True)
class ReadPosition:
    """Reads the scores at each text's position (r k), out of those of all tokens (r l k).

    A model that `keeps_logits` was asked for the needed positions alone, and may have given those, in rising order.
    """

    keeps_logits: bool

    def __call__(self, output: Any, inputs: Mapping[str, Tensor], position: Tensor) -> Tensor:
        scores = find_scores(output)
        given, length = scores.shape[1], next(iter(inputs.values())).shape[1]
        kept, place = torch.unique(position, return_inverse=True)
        if given == length:
            place = position
        elif not (self.keeps_logits and given == len(kept)):
            raise ValueError(
                f"the model gives scores for {given} tokens of a text of {length}, so it is not known which belong to "
                "the explained token: pass a target function output -> b."
            )
        return scores[torch.arange(len(scores), device=scores.device), place]


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


def find_scores(output: Any) -> Tensor:
    """Return the scores in an output, as `extract_scores` finds them.

    Raises NoScoresError for hidden states (by name, or the first of several tensors, b l e), and TypeError where there
    is no tensor or nothing tells which of several it is.

    >>> find_scores({"logits": torch.zeros(1, 2)}).shape
    torch.Size([1, 2])
    """
    if has_hidden_states(output):
        raise no_scores(output)
    try:
        return extract_scores(output)
    except TypeError:
        if isinstance(output, tuple | list) and isinstance(output[0], Tensor) and output[0].ndim == 3:
            raise no_scores(output) from None
        raise


def has_scores(output: Any) -> bool:
    """Return whether an output has scores by their name.

    >>> has_scores({"logits": torch.zeros(1, 2)}), has_scores(torch.zeros(1, 2))
    (True, False)
    """
    return any(_entry(output, name) is not None for name in NAMES)


def has_hidden_states(output: Any) -> bool:
    """Return whether an output has hidden states by their name, and no scores.

    >>> has_hidden_states({"last_hidden_state": torch.zeros(1, 5, 2)})
    True
    """
    return not has_scores(output) and any(_entry(output, name) is not None for name in HIDDEN)


def _entry(output: Any, name: str) -> Any:
    return output.get(name) if isinstance(output, Mapping) else getattr(output, name, None)


def no_scores(output: Any) -> NoScoresError:
    """Return the error for an output without scores."""
    return NoScoresError(
        f"the model returns {type(output).__name__} without scores (logits): pass target=samp.text.Similarity('another "
        "text'), a target function output -> b, or a model with a head."
    )
