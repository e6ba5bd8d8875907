"""What travels with the result of a metric that asks the model: how it was made."""

from __future__ import annotations

from typing import Any

from samp.baselines import label_baseline, wrap_tensors
from samp.metrics.masked_forward import MaskedScorer, depends_on_visible


def describe_scoring(scorer: MaskedScorer, score: Any, **settings: Any) -> dict[str, Any]:
    """These settings, and all that the judge knows."""
    spent = {"forwards": scorer.forwards, "seed": scorer.seed}
    return {
        **scorer.problem.describe(),
        **settings,
        "score": score if isinstance(score, str) else repr(score),
        **spent,
    }


def describe_fill(fill: Any) -> str:
    """A fill as results name it: a tensor by its shape.

    >>> import torch
    >>> describe_fill(torch.zeros(1, 3))
    'tensor of shape (1, 3)'
    """
    return repr(fill if depends_on_visible(fill) else label_baseline(wrap_tensors(fill)))
