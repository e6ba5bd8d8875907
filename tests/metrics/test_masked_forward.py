"""What travels with a result names things as a reader would."""

from __future__ import annotations

import torch

from samp.metrics.fills import describe_fill
from samp.metrics.imputation import NoisyLinear
from samp.metrics.masked_forward import ScoringOptions, open_scorer


def test_fills_are_named_as_results_show_them() -> None:
    assert describe_fill("black") == describe_fill(0.0) == "Constant(value=0.0)"
    assert describe_fill([0, torch.zeros(2, 3)]) == "[Constant(value=0.0), tensor of shape (2, 3)]"
    assert describe_fill(NoisyLinear(noise=0)) == "NoisyLinear(noise=0, seed=0, tolerance=1e-05, iterations=256)"


def test_details_hold_the_problem_the_settings_and_what_was_spent() -> None:
    with open_scorer(
        torch.nn.Linear(3, 2).eval(), torch.rand(2, 3), 1, None, "logit", ScoringOptions(seed=7)
    ) as scorer:
        scorer.scores(scorer.make_masker(0.0), 4, lambda samples, numbers: torch.zeros(len(samples), 3).bool())
        details = scorer.describe("logit", subsets=4)
        assert scorer.describe(torch.sigmoid)["score"] == repr(torch.sigmoid)
    expected = {"target": [1, 1], "groups": "Elements()", "subsets": 4, "score": "logit", "forwards": 4, "seed": 7}
    assert details.items() >= expected.items()
