"""What travels with a result names things as a reader would."""

from __future__ import annotations

import torch

from samp.metrics.imputation import NoisyLinear
from samp.metrics.masked_forward import Settings, judging
from samp.metrics.provenance import shown, told


def test_fills_are_named_as_results_show_them() -> None:
    assert shown("black") == shown(0.0) == "Constant(value=0.0)"
    assert shown([0, torch.zeros(2, 3)]) == "[Constant(value=0.0), tensor of shape (2, 3)]"
    assert shown(NoisyLinear(noise=0)) == "NoisyLinear(noise=0, seed=0, tolerance=1e-05, iterations=256)"


def test_details_hold_the_problem_the_settings_and_what_was_spent() -> None:
    with judging(torch.nn.Linear(3, 2).eval(), torch.rand(2, 3), 1, None, "logit", Settings(seed=7)) as judge:
        judge.scores(judge.hiding(0.0), 4, lambda samples, numbers: torch.zeros(len(samples), 3).bool())
        details = told(judge, "logit", subsets=4)
        assert told(judge, torch.sigmoid)["score"] == repr(torch.sigmoid)
    expected = {"target": [1, 1], "groups": "Elements()", "subsets": 4, "score": "logit", "forwards": 4, "seed": 7}
    assert details.items() >= expected.items()
