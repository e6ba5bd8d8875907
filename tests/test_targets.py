"""Every way to say which score, and what is said of those that are none."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import samp
from laws import CLOSE, assert_same, differs, images, net
from samp.targets import resolve_target

X = images(0, 3, 12)
MODEL = net(0, classes=4)
PREDICTED = MODEL(X).argmax(1)


@pytest.mark.parametrize(
    "target",
    [
        2,
        np.int64(2),
        torch.tensor(2),
        torch.tensor([2]),
        torch.tensor([2, 2, 2]),
        torch.tensor([[2], [2], [2]]),
        torch.tensor([2, 2, 2], dtype=torch.int32),
        [2, 2, 2],
        np.array([2, 2, 2]),
        [np.int32(2)] * 3,
        [torch.tensor(2)] * 3,
        (2,),
        [(2,), (2,), (2,)],
        pytest.param(lambda output: output[:, 2], id="a function"),
        pytest.param(
            lambda output, samples: output[torch.arange(len(output)), torch.tensor([2, 2, 2])[samples]],
            id="a function of the samples",
        ),
        pytest.param(lambda output, column=2: output[:, column], id="a function with a default"),
        pytest.param(lambda *outputs: outputs[0][:, 2], id="a function of anything"),
    ],
    ids=str,
)
def test_every_way_to_say_class_2_means_class_2(target: Any) -> None:
    expected = samp.explain(lambda x: MODEL(x)[:, 2], X)
    assert_same(samp.explain(MODEL, X, target=target), expected, **CLOSE)


def test_one_target_per_sample_stays_with_its_sample() -> None:
    targets = [3, 0, 1]
    x = X.clone()
    x[1, 1:] = 0  # leaves the batch early
    ways: list[Any] = [targets, torch.tensor(targets), [(t,) for t in targets], _picked(targets)]
    expected = [samp.explain(MODEL, x[i : i + 1], target=targets[i], method=samp.SAMP(1)) for i in range(3)]
    for target in ways:
        result = samp.explain(MODEL, x, target=target, method=samp.SAMP(1))
        torch.testing.assert_close(result.values, torch.cat([one.values for one in expected]), **CLOSE)


def _picked(targets: list[int]) -> Any:
    def pick(output: Tensor, samples: Tensor) -> Tensor:
        return output[torch.arange(len(output)), torch.tensor(targets)[samples]]

    return pick


def test_none_explains_the_predicted_class_of_each_sample() -> None:
    assert_same(samp.explain(MODEL, X), samp.explain(MODEL, X, target=PREDICTED), **CLOSE)
    assert len(set(PREDICTED.tolist())) > 1


@pytest.mark.parametrize("target", [None, 0])
@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_one_score_per_sample_needs_no_class(shape: tuple[int, ...], target: Any) -> None:
    result = samp.explain(lambda x: MODEL(x)[:, 1].reshape(shape), X, target=target)
    assert_same(result, samp.explain(MODEL, X, target=1), **CLOSE)


def test_larger_outputs_take_tuples() -> None:
    deep = lambda x: MODEL(x).view(-1, 2, 1, 2)  # noqa: E731  # class 2 sits at (1, 0, 0)
    expected = samp.explain(MODEL, X, target=2)
    assert_same(samp.explain(deep, X, target=(1, 0, 0)), expected, **CLOSE)
    assert_same(samp.explain(deep, X, target=[(1, 0, 0)] * 3), expected, **CLOSE)
    assert_same(samp.explain(deep, X, target=torch.tensor([[1, 0, 0]] * 3)), expected, **CLOSE)
    mixed = samp.explain(deep, X, target=[(0, 0, 0), (0, 0, 1), (1, 0, 1)])
    assert_same(mixed, samp.explain(MODEL, X, target=[0, 1, 3]), **CLOSE)


@pytest.mark.parametrize("wrap", [lambda y: (y, None), lambda y: {"logits": y}, lambda y: y.T[None]])
def test_outputs_of_any_kind_are_fine_for_a_target_function(wrap: Any) -> None:
    """Tuples, dicts, tensors whose first axis is not the batch."""

    def target(output: Any) -> Tensor:
        if isinstance(output, dict):
            return output["logits"][:, 2]
        return output[0][:, 2] if isinstance(output, tuple) else output[0, 2]

    result = samp.explain(lambda x: wrap(MODEL(x)), X, target=target)
    assert_same(result, samp.explain(MODEL, X, target=2), **CLOSE)


def test_a_module_may_be_the_target_function() -> None:
    class Margin(nn.Module):
        def forward(self, output: Tensor) -> Tensor:
            return output[:, 0] - output[:, 1]

    result = samp.explain(MODEL, X, target=Margin())
    assert differs(result, samp.explain(MODEL, X, target=0))
    assert "Margin" in str(result.details["target"])


@pytest.mark.parametrize(
    ("target", "error", "sentence"),
    [
        (4, ValueError, "target 4 is out of range: the model's output goes from 0 to 3"),
        ([0, 1, 9], ValueError, "target 9 is out of range: the model's output goes from 0 to 3"),
        (-1, ValueError, "target -1 is out of range: classes count from 0"),
        ([0, -2, 1], ValueError, "target -2 is out of range: classes count from 0"),
        ([0, 1], ValueError, "there are 2 targets for 3 samples: give one for all or one for each"),
        (torch.tensor([0, 1, 2, 3]), ValueError, "there are 4 targets for 3 samples"),
        ([], ValueError, "there are 0 targets for 3 samples"),
        (torch.tensor([0.0, 1.0, 2.0]), TypeError, r"class numbers, but .* dtype torch.float32: cast them with \.long"),
        (torch.tensor([True, False, True]), TypeError, "class numbers, but these have dtype torch.bool"),
        (True, TypeError, "a target is a class number, .*, not True"),
        (1.0, TypeError, r"a target is a class number, .* or a callable output -> b, not 1\.0\."),
        ([1.0, 2.0, 0.0], TypeError, r"a target is a class number, .*, not \[1\.0, 2\.0, 0\.0\]"),
        ("cat", TypeError, "a target is a class number, .*, not 'cat'"),
        ([(1, 2), (1,), (0,)], TypeError, "a target is a class number"),
        (np.array(2.5), TypeError, "a target is a class number"),
        (
            (1, 2),
            ValueError,
            r"output has shape \(4,\), so a target needs 1 number, but it has 2: pass a class number",
        ),
        (lambda y: y, ValueError, r"gave shape \(\d, 4\) for \d samples: return one score for each, shape \(b,\)"),
        (lambda y: y.sum(), ValueError, r"the target function gave shape \(\) for"),
        (lambda y: 3.0, ValueError, "the target function gave float for"),
    ],
)
def test_targets_that_are_none_get_a_sentence(target: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence) as caught:
        samp.explain(MODEL, X, target=target)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("wrap", "target", "error", "sentence"),
    [
        (lambda y: (y[:, :2], y), None, TypeError, "which of them holds the scores is not known: pass a target"),
        (lambda y: {"y": "y"}, 0, TypeError, "the model returns dict, not a tensor: pass a target function"),
        (lambda y: y.view(-1, 2, 2), None, ValueError, r"shape \(3, 2, 2\), which has no single predicted class: pass"),
        (lambda y: y.view(-1, 2, 2), 1, ValueError, "so a target needs 2 numbers, but it has 1"),
        (lambda y: y.view(-1, 2, 2), (1, 2), ValueError, r"target \(1, 2\) is out of range: .* from 0 to \(1, 1\)"),
        (lambda y: y.sum(), None, ValueError, r"the model gave shape \(\) for 3 samples: axis 0 must be the batch"),
        (lambda y: y.sum(), 0, ValueError, r"the model gave shape \(\) for 3 samples: axis 0 must be the batch"),
        (lambda y: y.T, 0, ValueError, r"the model gave shape \(4, 3\) for 3 samples"),
        (lambda y: y.flatten(), None, ValueError, r"the model gave shape \(12,\) for 3 samples"),
    ],
)
def test_outputs_that_do_not_fit_the_target_get_a_sentence(
    wrap: Any, target: Any, error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        samp.explain(lambda x: wrap(MODEL(x)), X, target=target)


def test_a_built_in_without_signature_serves_as_target_function() -> None:
    assert resolve_target(torch.ravel, 3)(torch.ones(3), torch.arange(3)).tolist() == [1, 1, 1]
    assert repr(resolve_target(lambda y: y, 3)).endswith("<lambda>(output)")


# Margins: why one class rather than another.


@pytest.mark.parametrize("method", ["coupled", "samp++", "ig", "gradcam", "gradient", "deeplift"])
def test_a_margin_is_the_difference_of_two_scores(method: str) -> None:
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 4)).eval()
    x = images(1, 3, 64).view(3, 1, 8, 8).float()
    margin = samp.explain(model, x, target=samp.Margin([3, 0, 1], against=2), method=method)
    expected = samp.explain(
        model, x, target=lambda o, samples: o[range(len(o)), torch.tensor([3, 0, 1])[samples]] - o[:, 2], method=method
    )
    assert_same(margin, expected, rtol=1e-5, atol=1e-5)  # the same float32 numbers, indexed in another way
    assert margin.details["target"] == {"of": [3, 0, 1], "against": [2, 2, 2]}


def test_a_margin_the_other_way_round_has_the_opposite_credit() -> None:
    there, back = (samp.explain(MODEL, X, target=samp.Margin(*pair), method="ig") for pair in ((1, 2), (2, 1)))
    torch.testing.assert_close(there.values, -back.values, **CLOSE)
    assert differs(there, samp.explain(MODEL, X, target=1, method="ig"))


def test_a_margin_of_entries_of_a_larger_output() -> None:
    def model(x: Tensor) -> Tensor:
        return MODEL(x).view(-1, 2, 2)

    result = samp.explain(model, X, target=samp.Margin((1, 0), [(0, 1)] * 3), method="ig")
    assert_same(result, samp.explain(MODEL, X, target=samp.Margin(2, 1), method="ig"), **CLOSE)
    assert result.details["target"] == {"of": [[1, 0]] * 3, "against": [[0, 1]] * 3}


@pytest.mark.parametrize("saved", [False, True])
def test_metrics_judge_a_margin_by_the_margin(saved: bool, tmp_path: Path) -> None:
    result = samp.explain(MODEL, X, target=samp.Margin([3, 0, 1], 2), method="ig")
    result = samp.Attribution.load(result.save(tmp_path / "margin.samp")) if saved else result
    protocol = samp.metrics.Protocol(step=3)
    found = samp.metrics.deletion_insertion(MODEL, X, result, protocol=protocol)
    told = samp.metrics.deletion_insertion(MODEL, X, result, target=samp.Margin([3, 0, 1], 2), protocol=protocol)
    score = MODEL(X)[range(3), [3, 0, 1]] - MODEL(X)[:, 2]
    torch.testing.assert_close(found.deletion_curve[:, 0].float(), score.detach().float(), **CLOSE)
    torch.testing.assert_close(found.deletion, told.deletion)


def test_a_margin_is_explained_fast_too() -> None:
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 4)).eval()
    x = images(2, 2, 64).view(2, 1, 8, 8).float()
    exact, fast = (samp.explain(model, x, target=samp.Margin(1, 3), method="ig", speed=s) for s in ("exact", "fast"))
    assert "channels last" in fast.details["speed"]
    torch.testing.assert_close(fast.group_values, exact.group_values, rtol=0.05, atol=0.02)  # bfloat16 has three digits


def test_rise_weighs_masks_by_the_difference_of_probabilities() -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 3)).eval()
    x, rise = images(3, 1, 64).view(1, 1, 8, 8).float(), samp.methods.resolve_method("rise")
    rise = replace(rise, masks=20)
    margin, first, second = (samp.explain(model, x, target=t, method=rise) for t in (samp.Margin(0, 1), 0, 1))
    torch.testing.assert_close(margin.map, first.map - second.map, rtol=1e-4, atol=1e-5)  # float32


@pytest.mark.parametrize(
    ("margin", "error", "words"),
    [
        (samp.Margin(1, 1), ValueError, "but in sample 0 both are 1: give two classes."),
        (samp.Margin([0, 1, 2], 2), ValueError, "but in sample 2 both are 2: give two classes."),
        (samp.Margin(1, 4), ValueError, "target 4 is out of range: the model's output goes from 0 to 3."),
        (samp.Margin(-1, 2), ValueError, "target -1 is out of range: classes count from 0."),
        (samp.Margin([0, 1], 2), ValueError, "there are 2 targets for 3 samples"),
        (samp.Margin(None, 2), TypeError, "a target is a class number"),  # type: ignore[arg-type]  # on purpose
        (samp.Margin((1, 2), 0), ValueError, "so a target needs 1 number, but it has 2"),
    ],
    ids=str,
)
def test_what_is_no_margin_is_refused(margin: samp.Margin, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=re.escape(words)):
        samp.explain(MODEL, X, target=margin)
