"""Transfer: a thin layer over Deletion and Insertion that must not mix up judges, inputs and classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

import samp
from laws import images, linear, net
from samp.metrics.deletion_insertion import Curves, deletion_insertion
from samp.metrics.protocols import PROTOCOLS, Protocol
from samp.metrics.transfer import transfer

STEPS = Protocol(step=1)
FINDER, OTHER = net(0, 2 * 4 * 4), net(1, 2 * 4 * 4)
RISE = replace(PROTOCOLS["rise"], step=2)


def same(a: Curves, b: Curves) -> bool:
    return torch.equal(a.deletion_curve, b.deletion_curve) and torch.equal(a.insertion_curve, b.insertion_curve)


def test_equals_brute_force_on_four_features() -> None:
    weights = torch.tensor([3.0, -1.0, 2.0, 0.5], dtype=torch.float64)
    x, values = images(0, 2, 4), images(1, 2, 4)
    found = transfer({"judge": linear(weights)}, x, values, 0, STEPS)["judge"]
    for i in range(2):
        left, scores = x[i].clone(), [float(x[i] @ weights)]
        for feature in sorted(range(4), key=lambda j: -values[i, j]):
            left[feature] = 0
            scores.append(float(left @ weights))
        assert found.deletion_curve[i].tolist() == pytest.approx(scores)
        assert found.deletion[i].item() == pytest.approx(sum(scores) / 5)
    torch.testing.assert_close(found.difference, found.insertion - found.deletion)


def test_each_judge_gives_its_own_verdict_under_its_name() -> None:
    x, maps = images(2, 3, 2, 4, 4), images(3, 3, 4, 4)
    found = transfer({"own": FINDER, "other": OTHER}, x, maps, [0, 1, 2], RISE, batch_size=5)
    assert list(found) == ["own", "other"]
    for name, judge in (("own", FINDER), ("other", OTHER)):
        assert same(found[name], deletion_insertion(judge, x, maps, [0, 1, 2], RISE, batch_size=5))
    assert not torch.allclose(found["own"].deletion, found["other"].deletion)


def test_best_map_of_one_model_is_best_for_one_like_it_and_worst_for_its_opposite() -> None:
    x = images(4, 3, 4) + 0.1
    weights = torch.tensor([4.0, 3.0, 2.0, 1.0], dtype=torch.float64)
    maps = x * weights
    judges = {"like": linear(2 * weights), "opposite": linear(-weights)}
    good, bad = transfer(judges, x, maps, 0, STEPS), transfer(judges, x, -maps, 0, STEPS)
    assert (good["like"].difference > bad["like"].difference).all()
    assert (good["opposite"].difference < bad["opposite"].difference).all()


def test_inputs_maps_and_targets_may_be_given_by_name() -> None:
    x, small = images(5, 2, 2, 4, 4), images(5, 2, 2, 2, 2)
    judges = {"a": FINDER, "b": net(2, 2 * 2 * 2)}
    maps = {"a": images(6, 2, 4, 4), "b": images(7, 2, 2, 2)}
    found = transfer(judges, {"a": x, "b": small}, maps, {"a": 0, "b": [1, 2]}, RISE)
    assert same(found["a"], deletion_insertion(FINDER, x, maps["a"], 0, RISE))
    assert same(found["b"], deletion_insertion(judges["b"], small, maps["b"], [1, 2], RISE))


def test_attribution_brings_its_own_classes_and_not_the_judges() -> None:
    x = images(8, 6, 2, 4, 4)
    found = samp.explain(FINDER, x, method="ig")
    own, theirs = FINDER(x).argmax(1), OTHER(x).argmax(1)
    assert not torch.equal(own, theirs)
    judged = transfer(OTHER, x, found, protocol=RISE)
    assert list(judged) == ["Sequential"]
    assert judged["Sequential"].details["target"] == own.tolist()
    assert same(judged["Sequential"], deletion_insertion(OTHER, x, found, own, RISE))
    given = transfer(OTHER, x, found, 1, RISE)
    assert given["Sequential"].details["target"] == [1] * 6


def test_places_in_larger_outputs_are_kept_as_they_are() -> None:
    def deep(x: Tensor) -> Tensor:
        return FINDER(x)[:, :, None]

    x = images(8, 2, 2, 4, 4)
    found = samp.explain(deep, x, target=[(1, 0), (2, 0)], method="ig")
    score = Protocol(step=4, name="steps of 4")
    expected = deletion_insertion(deep, x, found, [(1, 0), (2, 0)], score)
    assert same(transfer({"deep": deep}, x, found, protocol=score)["deep"], expected)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"judges": {}}, "there are no judges: give at least one net"),
        ({"target": None}, "the maps do not say which class they explain: pass target"),
        ({"inputs": {"a": torch.ones(1, 4)}}, "inputs has no entry for b: give one for each judge, or one for all"),
        ({"maps": {}}, "maps has no entry for a, b"),
        ({"target": {"b": 1}}, "target has no entry for a"),
        ({"maps": torch.ones(1, 9)}, r"the maps have shape \(1, 9\) but the input has \(1, 4\)"),
    ],
)
def test_bad_arguments_get_a_sentence(change: dict[str, Any], sentence: str) -> None:
    judge = linear(torch.ones(4))
    asked: dict[str, Any] = {
        "maps": torch.ones(1, 4), "judges": {"a": judge, "b": judge}, "inputs": torch.ones(1, 4), "target": 0,
        "protocol": STEPS,
    }  # fmt: skip
    with pytest.raises(ValueError, match=sentence):
        transfer(**{**asked, **change})


def test_function_targets_of_an_attribution_must_be_given_again() -> None:
    x = images(8, 2, 2, 4, 4)
    found = samp.explain(FINDER, x, target=lambda out: out.sum(1), method="ig")
    with pytest.raises(ValueError, match="which it does not hold"):
        transfer(OTHER, x, found, protocol=RISE)
