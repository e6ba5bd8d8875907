"""Targets by name are the scores that they say, of each sample's own data; what does not fit gets a sentence."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import samp
from laws import CLOSE, assert_same, differs, images, net
from samp.targets import Class, Detection, Regression, Segmentation, Similarity, Token, YOLOBoxes, resolve_target

B = 3
X = images(0, B, 1, 4, 3)
X[1, :, 1:] = 0  # leaves walks early, so that rows of a batch are no longer the samples in order
MAPS = net(1, features=12, classes=24)  # 2 classes on 4 × 3 pixels, or 6 positions of 4 tokens
MASKS = torch.tensor(np.random.default_rng(0).random((B, 4, 3)) < 0.5)
MASKS[:, 0, 0] = True
EMBEDDINGS = images(3, B, 24) - 0.3
WEIGHTS = images(4, B, 4, 3)
VALUES = [1, -4, 2.5]
BOXES = torch.tensor([[0.0, 0.0, 2.0, 3.0], [1.0, 1.0, 2.0, 2.0], [0.5, 0.0, 3.0, 1.0]])


def segment(x: Tensor) -> Tensor:
    return MAPS(x).view(-1, 2, 4, 3)


def speak(x: Tensor) -> Tensor:
    return MAPS(x).view(-1, 6, 4)


def detect(x: Tensor) -> Tensor:
    """4 candidates as YOLO: boxes that overlap all of `BOXES`, and the scores of two classes."""
    values = MAPS(x).view(-1, 4, 6)
    return torch.cat([1 + values[..., :2].tanh() / 4, 2 + values[..., 2:4].tanh(), values[..., 4:].sigmoid()], -1)


# The model, the target of each sample's own data, and the score of sample i by hand.
CASES: dict[str, tuple[Any, Any, Any]] = {
    "class": (MAPS, Class([3, 1, 7], "log_probability"), lambda y, i: y.log_softmax(0)[[3, 1, 7][i]]),
    "probability": (MAPS, Class(torch.tensor([3, 1, 7]), "probability"), lambda y, i: y.softmax(0)[[3, 1, 7][i]]),
    "mean": (segment, Segmentation([0, 1, 1], MASKS), lambda y, i: y[[0, 1, 1][i]][MASKS[i]].mean()),
    "sum": (segment, Segmentation([0, 1, 1], MASKS, "sum"), lambda y, i: y[[0, 1, 1][i]][MASKS[i]].sum()),
    "weights": (segment, Segmentation(1, WEIGHTS), lambda y, i: (y[1] * WEIGHTS[i]).sum() / WEIGHTS[i].sum()),
    "cosine": (MAPS, Similarity(EMBEDDINGS), lambda y, i: y @ EMBEDDINGS[i] / y.norm() / EMBEDDINGS[i].norm()),
    "dot": (MAPS, Similarity(EMBEDDINGS, "dot"), lambda y, i: y @ EMBEDDINGS[i]),
    "number": (MAPS, Regression([5, 0, 9]), lambda y, i: y[[5, 0, 9][i]]),
    "absolute": (MAPS, Regression(2, to=VALUES), lambda y, i: -(y[2] - VALUES[i]).abs()),
    "squared": (MAPS, Regression(2, torch.tensor(VALUES), "squared"), lambda y, i: -((y[2] - VALUES[i]) ** 2)),
    "token": (speak, Token([0, 5, -2], [3, 0, 1]), lambda y, i: y[[0, 5, 4][i], [3, 0, 1][i]]),
    "next": (speak, Token(-1, [3, 0, 1], "log_probability"), lambda y, i: y[5].log_softmax(0)[[3, 0, 1][i]]),
    "best box": (detect, Detection(BOXES, [0, 1, 1], YOLOBoxes(False)), lambda y, i: max(_box_scores(y, i))),
    "all boxes": (detect, Detection(BOXES, [0, 1, 1], YOLOBoxes(False), "sum"), lambda y, i: sum(_box_scores(y, i))),
}  # fmt: skip


def _box_scores(candidates: Tensor, sample: int) -> list[Tensor]:
    """Score × overlap of each candidate with the sample's box, in plain arithmetic."""
    x1, y1, x2, y2 = BOXES[sample].tolist()
    scores = []
    for cx, cy, w, h, *classes in candidates:
        wide = min(x2, cx + w / 2) - max(x1, cx - w / 2)
        high = min(y2, cy + h / 2) - max(y1, cy - h / 2)
        shared = wide * high if wide > 0 and high > 0 else 0 * wide
        scores.append(classes[[0, 1, 1][sample]] * shared / ((x2 - x1) * (y2 - y1) + w * h - shared))
    return scores


def by_hand(name: str) -> Any:
    """The same target as a function of the output and the samples."""
    score = CASES[name][2]
    return lambda output, samples: torch.stack([score(y, int(i)) for y, i in zip(output, samples, strict=True)])


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("method", [samp.SAMP(1), "ig"], ids=["samp", "ig"])
def test_a_target_is_the_score_that_it_says(name: str, method: Any) -> None:
    model, target, _ = CASES[name]
    result = samp.explain(model, X, target=target, method=method)
    assert_same(result, samp.explain(model, X, target=by_hand(name), method=method), rtol=1e-7, atol=1e-9)
    assert result.details["target"] == repr(target)


@pytest.mark.parametrize("name", CASES)
def test_a_batch_is_explained_as_each_sample_alone(name: str) -> None:
    model, target, _ = CASES[name]
    batch = samp.explain(model, X, target=target, method=samp.SAMP(1), batch_size=2)
    for i in range(B):

        def own(output: Any, samples: Tensor, i: int = i) -> Tensor:
            return by_hand(name)(output, torch.full_like(samples, i))

        alone = samp.explain(model, X[i : i + 1], target=own, method=samp.SAMP(1))
        torch.testing.assert_close(batch.values[i : i + 1], alone.values, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_the_default_accounts_for_the_change_of_the_score(name: str) -> None:
    model, target, _ = CASES[name]
    assert (samp.explain(model, X, target=target).residual.abs() < 1e-9).all()


def test_a_class_by_name_is_the_class() -> None:
    assert_same(samp.explain(MAPS, X, target=Class(2)), samp.explain(MAPS, X, target=2), **CLOSE)
    assert samp.explain(MAPS, X, target=Class([2, 0, 1]), method="ig").details["target"] == [2, 0, 1]


def test_without_a_mask_the_pixels_are_those_that_are_predicted_in_the_image_itself() -> None:
    predicted = segment(X).argmax(1) == 1
    assert predicted.flatten(1).any(1).all()
    assert not predicted.all()
    black = segment(0 * X).argmax(1) == 1
    assert (black != predicted).any()  # a mask of each point would be another
    free = samp.explain(segment, X, target=Segmentation(1))
    assert_same(free, samp.explain(segment, X, target=Segmentation(1, predicted)), **CLOSE)
    assert differs(free, samp.explain(segment, X, target=Segmentation(1, black | True)))
    assert free.details["target"] == "Segmentation(of=1, mask=None, reduce='mean')"
    one = samp.explain(segment, X, target=Segmentation(1), batch_size=1)
    assert_same(one, free, **CLOSE)


def test_pixels_of_a_single_channel_are_those_above_zero() -> None:
    free = samp.explain(lambda x: segment(x)[:, :1], X, target=Segmentation(0), method="ig")
    masked = samp.explain(segment, X, target=Segmentation(0, segment(X)[:, 0] > 0), method="ig")
    assert_same(free, masked, **CLOSE)


def test_metrics_take_targets_by_name() -> None:
    target = Segmentation(1)
    result = samp.explain(segment, X, target=target, method="ig")
    curves = samp.metrics.deletion_insertion(segment, X, result, target=target)
    again = samp.metrics.deletion_insertion(segment, X, result, target=Segmentation(1, segment(X).argmax(1) == 1))
    torch.testing.assert_close(curves.deletion, again.deletion, equal_nan=True)
    assert curves.deletion.isfinite().any()
    with pytest.raises(ValueError, match="a function of the output, which it does not hold: pass target="):
        samp.metrics.deletion_insertion(segment, X, result)


@pytest.mark.parametrize(
    ("wrap", "target"),
    [
        (lambda y: {"out": y.view(-1, 2, 4, 3), "aux": y}, Segmentation(1, MASKS)),
        (lambda y: SimpleNamespace(logits=y.view(-1, 2, 4, 3), loss=None), Segmentation(1, MASKS)),
        (lambda y: (y.view(-1, 2, 4, 3), [y]), Segmentation(1, MASKS)),
        (lambda y: {"maps": y.view(-1, 2, 4, 3)}, Segmentation(1, MASKS)),
        (lambda y: SimpleNamespace(logits=y.view(-1, 6, 4)), Token(2, 3)),
        (lambda y: SimpleNamespace(pooler_output=y, last_hidden_state=y[:, None]), Similarity(EMBEDDINGS)),
        (lambda y: y[:, :, None, None], Similarity(EMBEDDINGS)),
        (lambda y: SimpleNamespace(logits=y), Regression(3)),
        (lambda y: {"logits": y}, Class(3, "probability")),
    ],
)
def test_outputs_of_torchvision_and_hugging_face_are_understood(wrap: Any, target: Any) -> None:
    plain = {Segmentation: segment, Token: speak}.get(type(target), MAPS)
    result = samp.explain(lambda x: wrap(MAPS(x)), X, target=target, method="ig")
    assert_same(result, samp.explain(plain, X, target=target, method="ig"), **CLOSE)


def test_reprs_say_which_data_they_hold() -> None:
    assert repr(Segmentation([0, 1, 1], MASKS)).startswith("Segmentation(of=(0, 1, 1), mask=<3×4×3 bool, sha256 ")
    assert repr(Similarity(EMBEDDINGS)) != repr(Similarity(2 * EMBEDDINGS))
    assert Similarity(EMBEDDINGS) == Similarity(EMBEDDINGS.clone())
    assert repr(Detection((0, 1, 2, 3), np.int64(4))) == (
        "Detection(box=(0.0, 1.0, 2.0, 3.0), label=4, output=None, combine='max')"
    )
    assert repr(Token(-1, torch.tensor([3, 1]))) == "Token(position=-1, id=(3, 1), score='logit')"


@pytest.mark.parametrize(
    ("model", "target", "sentence"),
    [
        (MAPS, Segmentation(1), r"explains an output of shape b classes h w, but the model gave \(3, 24\)"),
        (segment, Segmentation(2), "class 2 is out of range: the output has classes 0 to 1"),
        (segment, Segmentation([0, 1]), "class of a segmentation has 2 entries for 3 samples: give one for all or one"),
        (segment, Segmentation(1, MASKS[:2]), "the mask of a segmentation has 2 entries for 3 samples"),
        (segment, Segmentation(1, MASKS[:, :2]), "the mask has 2×3 pixels but the model's output 4×3: resize the mask"),
        (segment, Segmentation(1, ~MASKS & MASKS), "the mask has no pixel for class 1 in sample 0"),
        (lambda x: segment(x) + torch.tensor([0.0, -99]).view(2, 1, 1), Segmentation(1), "no pixel is given class 1"),
        (lambda x: {"a": segment(x), "b": x}, Segmentation(1), r"'logits' or 'out', but .* dict with tensors a \("),
        (MAPS, Similarity(EMBEDDINGS[:, :9]), r"gave shape \(\d, 24\) for .* the embedding .* has 9 numbers"),
        (MAPS, Similarity(EMBEDDINGS[:2]), "the embedding has 2 entries for 3 samples"),
        (speak, Similarity(EMBEDDINGS), r"the model gave shape \(\d, 6, 4\)"),
        (MAPS, Token(0, 1), r"output of shape b positions vocabulary, but the model gave \(\d, 24\): .* target=id"),
        (speak, Token(6, 1), "position 6 is out of range: the output has 6 positions"),
        (speak, Token([0, 0, -7], 1), "position -7 is out of range"),
        (speak, Token(0, 4), "token 4 is out of range: the output has ids 0 to 3"),
        (MAPS, Regression(24), "target 24 is out of range"),
        (MAPS, Regression(0, to=[1, 2]), "the value of a regression has 2 entries for 3 samples"),
        (lambda x: MAPS(x)[:, 0], Class(0, "probability"), "no soft-max over classes: take score='logit'"),
        (detect, Detection(BOXES, 0), r"gave shape \(\d, 4, 6\), which does not say .*YOLOBoxes\(objectness=…\)"),
        (detect, Detection(BOXES, 2, YOLOBoxes(False)), "label 2 is out of range: the output has classes 0 to 1"),
        (detect, Detection(BOXES, 1, YOLOBoxes(True)), "label 1 is out of range: the output has classes 0 to 0"),
        (detect, Detection(BOXES[:2], 1, YOLOBoxes(True)), "the box of a detection has 2 entries for 3 samples"),
    ],
)  # fmt: skip
def test_what_does_not_fit_gets_a_sentence(model: Any, target: Any, sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence) as caught:
        samp.explain(model, X, target=target, method="ig")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Class(1, "odds"), "score is 'logit' or 'probability' or 'log_probability', not 'odds'"),
        (lambda: Segmentation("cat"), "the class of a segmentation is a whole number, or a list .*, not 'cat'"),
        (lambda: Segmentation(-1), "counts from 0, but -1 was given"),
        (lambda: Segmentation(True), "is a whole number"),
        (lambda: Segmentation(1, torch.ones(1, 2, 3, 4)), r"shape h w or b h w, not \(1, 2, 3, 4\)"),
        (lambda: Segmentation(1, -torch.ones(2, 3)), "weights of at least 0"),
        (lambda: Segmentation(1, "all"), "the mask of a segmentation is a tensor or an array, not 'all'"),
        (lambda: Segmentation(1, reduce="max"), "reduce is 'mean' or 'sum', not 'max'"),
        (lambda: Similarity(torch.zeros(4)), "an embedding of zeros has no direction"),
        (lambda: Similarity(torch.ones(2, 3, 4)), r"an embedding has shape d, or b d .*, not \(2, 3, 4\)"),
        (lambda: Similarity([torch.nan, 1]), "the embedding holds NaN or Inf"),
        (lambda: Similarity(torch.ones(4), "angle"), "measure is 'cosine' or 'dot', not 'angle'"),
        (lambda: Regression(to="12"), "the value of a regression is a number, .*, not '12'"),
        (lambda: Regression(to=torch.inf), "the value of a regression is finite"),
        (lambda: Regression(distance="L3"), "distance is 'absolute' or 'squared', not 'L3'"),
        (lambda: Token(0.5, 1), "the position of a token is a whole number"),
        (lambda: Detection((0, 0, 5), 1), r"four corners x1, y1, x2, y2, .* but has shape \(3,\)"),
        (lambda: Detection((4, 4, 2, 2), 1), r"x1 < x2 and y1 < y2, not \[4.0, 4.0, 2.0, 2.0\]"),
        (lambda: Detection((0, 0, 1, 1), 1, output="yolo"), "output is samp.targets.TorchvisionBoxes"),
        (lambda: Detection((0, 0, 1, 1), 1, combine="mean"), "combine is 'max' or 'sum', not 'mean'"),
    ],
)
def test_wrong_fields_get_a_sentence(make: Any, sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        make()


def test_the_score_must_be_settled_by_a_prediction_first() -> None:
    objective = resolve_target(Segmentation(1), batch=3)
    with pytest.raises(RuntimeError, match=re.escape("needs the model's prediction first")):
        objective(segment(X), torch.arange(3))


def test_speed_fast_takes_a_target_by_name() -> None:
    conv = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 2, 3, padding=1)).eval()
    x, target = X.float(), Segmentation(1, MASKS)
    fast = samp.explain(conv, x, target=target, method="coupled", speed="fast")
    exact = samp.explain(conv, x, target=target, method="coupled")
    assert "bfloat16" in str(fast.details["speed"])
    torch.testing.assert_close(fast.score_change["to_image"], exact.score_change["to_image"], rtol=0.05, atol=0.02)
