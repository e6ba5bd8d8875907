"""What travels with the result of a metric that asks the model: how it was made."""

from __future__ import annotations

from typing import Any

from samp.methods._path_method import labelled, wrapped
from samp.metrics.masked_forward import Judge, depends_on_the_rest


def told(judge: Judge, score: Any, **settings: Any) -> dict[str, Any]:
    """These settings, and all that the judge knows."""
    spent = {"forwards": judge.forwards, "seed": judge.seed}
    return {
        **judge.problem.describe(),
        **settings,
        "score": score if isinstance(score, str) else repr(score),
        **spent,
    }


def shown(fill: Any) -> str:
    """A fill as results name it: a tensor by its shape.

    >>> import torch
    >>> shown(torch.zeros(1, 3))
    'tensor of shape (1, 3)'
    """
    return repr(fill if depends_on_the_rest(fill) else labelled(wrapped(fill)))
