"""Sentences that stand in more than one place: a terminal, a picture, a page."""

from __future__ import annotations


def score_source(kind: str, model: str) -> str:
    """What stands behind a score: what it is, where that says more than "score", and whose.

    >>> score_source("logit", "net"), score_source("score", "net")
    ('logit, net', 'net')
    """
    return model if kind == "score" else f"{kind}, {model}"


def format_residual(residual: float, change: float) -> str:
    """What the credit misses of the change of the score, with what it sums to.

    >>> format_residual(-0.5, 2.0)
    '-0.500 of a score change of 2.000 (credit sums to 2.500)'
    """
    return f"{residual:+z.3f} of a score change of {change:.3f} (credit sums to {change - residual:.3f})"
