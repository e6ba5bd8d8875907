"""What a result says of itself in words: its score, its residual, its walks and their resolution."""

from __future__ import annotations

import torch
from torch import Tensor


def score_source(kind: str, model: str) -> str:
    """Return a label for a score: its kind, unless that is only "score", and its model.

    >>> score_source("logit", "net"), score_source("score", "net")
    ('logit, net', 'net')
    """
    return model if kind == "score" else f"{kind}, {model}"


def format_residual(residual: float, change: float, absorbed: float | None = None) -> str:
    """Return a text with the residual, what the credit is to sum to, and its sum.

    That is the score change, or with `absorbed` the score less what biases absorb.

    >>> format_residual(-0.5, 2.0)
    '-0.500 of a score change of 2.000 (credit sums to 2.500)'
    >>> format_residual(0.0, 2.0, absorbed=7.0)
    '+0.000 of the score less 7.000 that biases absorb (credit sums to 2.000)'
    """
    whole = name_sum(f"{change:.3f}", None if absorbed is None else f"{absorbed:.3f}")
    return f"{residual:+z.3f} of {whole} (credit sums to {change - residual:.3f})"


def name_sum(change: str, absorbed: str | None) -> str:
    """Return what the credit is to sum to.

    >>> name_sum("2", None), name_sum("2", "7")
    ('a score change of 2', 'the score less 7 that biases absorb')
    """
    return f"a score change of {change}" if absorbed is None else f"the score less {absorbed} that biases absorb"


def resolution_words(resolution: Tensor) -> str:
    """Return the coarsest resolution of several samples in words; 0 is the coarsest of all."""
    if bool((resolution == 0).any()):
        return "not reproducible at any resolution tried"
    return f"reproducible at {int(resolution.max())} px"


def format_walks(walks: int | None, pixels: int | None) -> str:
    """Return of how many walks a map is the mean, and the resolution in pixels if it is known; "" if it is no mean.

    >>> format_walks(4, 8), format_walks(1, None), format_walks(None, None)
    ('mean of 4 walks, reproducible at 8 px', '1 walk', '')
    >>> format_walks(2, 0)
    'mean of 2 walks, not reproducible at any resolution tried'
    """
    if walks is None:
        return ""
    known = "" if pixels is None else f", {resolution_words(torch.tensor([pixels]))}"
    return ("1 walk" if walks == 1 else f"mean of {walks} walks") + known
