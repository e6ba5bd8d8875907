"""The space of a score: the model's output itself, its probability, log-probability, or accuracy (0 or 1)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from torch import Tensor

from samp.checks import check_real
from samp.lookup import look_up
from samp.model_output import extract_scores

ScoreSpace = Callable[[Any], Any]


def logit(output: object) -> object:
    """The model's output, unchanged.

    >>> logit([1, 2])
    [1, 2]
    """
    return output


def probability(output: object) -> Tensor:
    """The soft-max of b × classes logits.

    >>> import torch
    >>> probability(torch.zeros(1, 4)).tolist()
    [[0.25, 0.25, 0.25, 0.25]]
    """
    return _class_logits(output).softmax(1)


def log_probability(output: object) -> Tensor:
    """The logarithm of the soft-max of b × classes logits.

    >>> import torch
    >>> log_probability(torch.zeros(1, 2)).exp().tolist()
    [[0.5, 0.5]]
    """
    return _class_logits(output).log_softmax(1)


def accuracy(output: object) -> Tensor:
    """1 for the class with the largest logit (the first of several), 0 for all others.

    >>> import torch
    >>> accuracy(torch.tensor([[0.1, 0.9, 0.9]])).tolist()
    [[0.0, 1.0, 0.0]]
    """
    scores = _class_logits(output)
    return scores.new_zeros(scores.shape).scatter_(1, scores.argmax(1, keepdim=True), 1.0)


SPACES: dict[str, ScoreSpace] = {
    "logit": logit,
    "probability": probability,
    "log-probability": log_probability,
    "accuracy": accuracy,
}


def get_score_space(score: str | ScoreSpace) -> ScoreSpace:
    """Return the score space of this name, or the given callable (output → output).

    >>> get_score_space("logit") is logit
    True
    """
    if callable(score):
        return score
    if not isinstance(score, str):
        raise TypeError(f"a score space is a name or a callable output → output, not {type(score).__name__}.")
    return look_up(score, SPACES, "score space")


def _class_logits(output: object) -> Tensor:
    """Return the output in float32 or wider; raise ValueError unless it holds logits of several classes."""
    with suppress(TypeError):  # an output without scores gets the sentence below
        output = extract_scores(output)
    if isinstance(output, Tensor):
        check_real(output, "the model's output")
    if not isinstance(output, Tensor) or output.ndim < 2 or output.shape[1] < 2:
        came = f"shape {tuple(output.shape)}" if isinstance(output, Tensor) else type(output).__name__
        raise ValueError(
            f"probabilities need an output of shape b × classes with several classes, but the model gave {came}: "
            "pass score='logit', or a callable output → output."
        )
    return output.float() if output.element_size() < 4 else output
