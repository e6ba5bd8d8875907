"""What kind of numbers a net's outputs are, as far as the numbers show it."""

from __future__ import annotations

from torch import Tensor


def output_kind(outputs: Tensor) -> str:
    """Return what each output (k n) is: a "probability", a "logit", or a "score" if neither is certain.

    Rows of several numbers that sum to 1 are probabilities, and rows with some negative numbers are logits. A single
    output, or a sigmoid for each class, may be anything.

    >>> import torch
    >>> tuple(output_kind(torch.tensor([scores])) for scores in ([0.2, 0.8], [-1.0, 3.0], [0.5]))
    ('probability', 'logit', 'score')
    """
    if outputs.shape[1] < 2:
        return "score"
    if is_within_unit(outputs) and bool(((outputs.sum(1) - 1).abs() < 1e-3).all()):
        return "probability"
    return "logit" if bool((outputs < 0).any()) else "score"


def is_within_unit(outputs: Tensor) -> bool:
    """Return whether all outputs lie from 0 to 1, as probabilities do; rows need not sum to 1.

    >>> import torch
    >>> is_within_unit(torch.tensor([[0.9, 0.8]])), is_within_unit(torch.tensor([[0.9, 1.8]]))
    (True, False)
    """
    return bool(((outputs >= 0) & (outputs <= 1)).all())
