"""Scores are found in what models return, by `samp.explain` as by nets that samp loads."""

from __future__ import annotations

from collections import namedtuple
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import samp
from samp.metrics import Protocol, deletion_insertion
from samp.model_output import extract_scores

NET = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 3)).eval()
X = torch.randn(2, 3, 2, 2, generator=torch.Generator().manual_seed(0))
Named = namedtuple("Named", ["hidden", "logits"])
OUTPUTS = {
    "tuple": lambda y: (y, y.new_zeros(len(y), 5, 7), None),
    "list": lambda y: [y, y + 1],
    "dict": lambda y: {"loss": None, "logits": y, "features": y.new_zeros(len(y), 9)},
    "segmentation": lambda y: {"aux": y.new_zeros(len(y), 9), "out": y},
    "one entry": lambda y: {"scores": y},
    "object": lambda y: SimpleNamespace(logits=y, features=y.new_zeros(len(y), 9)),
    "named tuple": lambda y: Named(y.new_zeros(len(y), 9), y),
}


class Wrapped(torch.nn.Module):
    """The net with another kind of output."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind, self.net, self.training = kind, NET, False

    def forward(self, x: torch.Tensor) -> Any:
        return OUTPUTS[self.kind](self.net(x))


@pytest.mark.parametrize("kind", OUTPUTS)
@pytest.mark.parametrize("target", [None, 2, samp.Margin(0, against=1)], ids=["predicted", "class", "margin"])
def test_credit_is_that_of_the_tensor_alone(kind: str, target: Any) -> None:
    for method in ("consensus", "ig", "ig2", "rise"):
        found, want = (samp.explain(net, X, target=target, method=method) for net in (Wrapped(kind), NET))
        assert torch.equal(found.values, want.values), method
        assert found.details["target"] == want.details["target"]


@pytest.mark.parametrize("score", ["logit", "probability"])
def test_metrics_take_the_same_outputs(score: str) -> None:
    result = samp.explain(NET, X, target=1, method="ig")
    protocol = Protocol(score=score)
    found, want = (deletion_insertion(net, X, result, 1, protocol) for net in (Wrapped("dict"), NET))
    assert torch.equal(found.deletion, want.deletion)


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ((torch.zeros(1, 512), torch.zeros(1, 3)), r"tuple with tensors 0 \(1 × 512\) and 1 \(1 × 3\)"),
        ((torch.zeros(1, 5, 7), torch.zeros(1, 3)), r"tuple with tensors 0 \(1 × 5 × 7\) and 1 \(1 × 3\)"),
        ((torch.zeros(1, 4, 6), torch.zeros(1, 4, 9)), r"tuple with tensors 0 \(1 × 4 × 6\) and 1 \(1 × 4 × 9\)"),
        ({"logits": torch.zeros(1, 3), "out": torch.zeros(1, 3)}, r"dict with tensors logits \(1 × 3\) and out"),
        ((None, torch.zeros(1, 3), torch.zeros(1, 3)), r"tuple with tensors 1 \(1 × 3\) and 2 \(1 × 3\)"),
        ({"a": torch.zeros(1, 3), "b": torch.zeros(1, 3)}, r"dict with tensors a \(1 × 3\) and b \(1 × 3\)"),
        ([{"boxes": torch.zeros(1, 4)}], "returns list, not a tensor"),
        (None, "returns NoneType, not a tensor"),
    ],
)
def test_what_does_not_tell_its_scores_is_refused(output: Any, sentence: str) -> None:
    with pytest.raises(TypeError, match=f"{sentence}.*: pass a target function output -> b"):
        extract_scores(output)


def test_a_target_function_gets_the_whole_output() -> None:
    found = samp.explain(lambda x: (NET(x), NET(x)), X, target=lambda output: output[1][:, 0], method="ig")
    assert torch.equal(found.values, samp.explain(NET, X, target=0, method="ig").values)


BY_NAME = [
    samp.targets.Class(1),
    samp.targets.Class(1, score="probability"),
    samp.targets.Class(1, score="log_probability"),
    samp.targets.Regression(1),
]


@pytest.mark.parametrize("target", BY_NAME, ids=repr)
@pytest.mark.parametrize("kind", OUTPUTS)
def test_targets_by_name_find_the_same_tensor(kind: str, target: Any) -> None:
    found, want = (samp.explain(net, X, target=target, method="gradient").values for net in (Wrapped(kind), NET))
    assert torch.equal(found, want)


@pytest.mark.parametrize("target", BY_NAME, ids=repr)
def test_targets_by_name_do_not_take_features_for_scores(target: Any) -> None:
    with pytest.raises(TypeError, match=r"0 \(\d × 6\) and 1 \(\d × 3\).*: pass a target function output -> b"):
        samp.explain(lambda x: (x.flatten(1)[:, :6], NET(x)), X, target=target, method="gradient")


def test_a_token_is_not_looked_up_in_hidden_states() -> None:
    head = torch.nn.Linear(2, 9).eval()
    with pytest.raises(TypeError, match=r"Token explains .* b positions vocabulary, .* target function"):
        samp.explain(lambda x: (x, head(x)), X[0], target=samp.targets.Token(1, 1), method="gradient")
