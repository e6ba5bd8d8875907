"""Overlap and candidates of detectors, against plain arithmetic and a real DETR of Hugging Face."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import samp
from samp.targets import Detection, DETRBoxes, TorchvisionBoxes, YOLOBoxes, overlap
from samp.targets.boxes import guess_format

SCORES = torch.tensor([[[0.1, 0.9], [0.3, 0.2]]], dtype=torch.float64)  # 1 2 candidates, 2 classes
CENTRED = torch.tensor([[[5.0, 5.0, 4.0, 2.0], [1.0, 2.0, 2.0, 2.0]]], dtype=torch.float64)
CORNERS = torch.tensor([[[3.0, 4.0, 7.0, 6.0], [0.0, 1.0, 2.0, 3.0]]], dtype=torch.float64)
LABEL = torch.tensor([1])


def test_overlap_is_the_share_of_common_cells() -> None:
    """On a grid of cells: the cells of both over the cells of either."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        boxes = [np.concatenate([low, low + rng.integers(1, 6, 2)]) for low in rng.integers(0, 6, (2, 2))]
        cells = np.zeros((2, 12, 12), bool)
        for one, (x1, y1, x2, y2) in zip(cells, boxes, strict=True):
            one[y1:y2, x1:x2] = True
        expected = (cells[0] & cells[1]).sum() / (cells[0] | cells[1]).sum()
        a, b = (torch.tensor(box, dtype=torch.float64) for box in boxes)
        assert overlap(a[None], b[None, None]).item() == pytest.approx(expected, abs=1e-12)


def test_overlap_has_the_gradient_of_its_arithmetic() -> None:
    box = torch.tensor([[0.0, 0.0, 4.0, 4.0]], dtype=torch.float64)
    boxes = torch.tensor([[[1.0, 1.0, 5.0, 3.0], [-1.0, 2.0, 3.0, 9.0]]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda b: overlap(box, b), boxes)


@pytest.mark.parametrize(
    ("kind", "output"),
    [
        (YOLOBoxes(objectness=False), torch.cat([CENTRED, SCORES], -1)),
        (YOLOBoxes(objectness=False), (torch.cat([CENTRED, SCORES], -1), [])),
        (YOLOBoxes(objectness=False, corners=True), torch.cat([CORNERS, SCORES], -1)),
        (YOLOBoxes(objectness=False, values_first=True), torch.cat([CENTRED, SCORES], -1).mT),
        (YOLOBoxes(objectness=False, activation="sigmoid"), torch.cat([CENTRED, SCORES.logit()], -1)),
        (YOLOBoxes(objectness=True), torch.cat([CENTRED, torch.full((1, 2, 1), 0.5), 2 * SCORES], -1)),
        (DETRBoxes("none"), (SCORES, CENTRED)),
        (DETRBoxes("sigmoid"), {"pred_logits": SCORES.logit(), "pred_boxes": CENTRED}),
        (DETRBoxes(), {"logits": torch.cat([SCORES, 1 - SCORES.sum(-1, True)], -1).log(), "pred_boxes": CENTRED}),
    ],
    ids=str,
)
def test_each_kind_of_output_holds_the_same_candidates(kind: Any, output: Any) -> None:
    boxes, scores = kind.read(output, LABEL)
    torch.testing.assert_close(boxes, CORNERS)
    torch.testing.assert_close(scores, SCORES[..., 1])


def test_candidates_of_torchvision_have_one_label_each_and_any_number() -> None:
    first = {"boxes": CORNERS[0], "scores": torch.tensor([0.9, 0.3]), "labels": torch.tensor([1, 0])}
    none = {"boxes": torch.zeros(0, 4), "scores": torch.zeros(0), "labels": torch.zeros(0, dtype=torch.long)}
    boxes, scores = TorchvisionBoxes().read([first, none], torch.tensor([1, 1]))
    assert scores.tolist() == pytest.approx(np.array([[0.9, 0], [0, 0]]))
    assert boxes.shape == (2, 2, 4)
    assert boxes[1].abs().sum() == 0


@pytest.mark.parametrize("combine", ["max", "sum"])
def test_without_a_candidate_the_score_is_zero_and_so_is_the_credit(combine: Any) -> None:
    def detect(x: Tensor) -> list[dict[str, Tensor]]:
        """One candidate where the first number is above a half, none elsewhere."""
        outputs = []
        for one in x:
            kept = one[:1] > 0.5
            box = torch.tensor([[0.0, 0.0, 2.0, 2.0]])[kept]
            outputs.append({"boxes": box, "scores": one[:1][kept], "labels": torch.ones(1, dtype=torch.long)[kept]})
        return outputs

    x = torch.tensor([[0.25, 0.0], [0.75, 0.0]])
    with pytest.warns(UserWarning, match=r"in sample 0 .* the detector gives no candidate: .*box_score_thresh=0"):
        result = samp.explain(detect, x, target=Detection((0, 0, 2, 2), 1, combine=combine), method=samp.IG(steps=400))
    assert result.score_change["to_image"].tolist() == [0, 0.75]
    assert result.values[0].tolist() == [0, 0]
    assert result.values[1, 0].item() == pytest.approx(0.25, abs=0.01)  # the jump at a half has no gradient
    assert result.residual[1].item() == pytest.approx(0.5, abs=0.01)  # and that is said


def test_formats_that_say_so_themselves_are_read() -> None:
    one = {"boxes": CORNERS[0], "scores": SCORES[0, :, 0], "labels": LABEL.expand(2)}
    assert guess_format([one]) == TorchvisionBoxes()
    for unclear in (SCORES, (SCORES, CENTRED), {"logits": SCORES}, None):
        with pytest.raises(TypeError, match="does not say where its boxes and scores are: pass output= as"):
            guess_format(unclear)


def test_logits_and_boxes_alone_do_not_say_how_scores_follow() -> None:
    transformers = pytest.importorskip("transformers")
    entries = {"logits": SCORES, "pred_boxes": CENTRED}
    detr = transformers.models.detr.modeling_detr.DetrObjectDetectionOutput(**entries)
    assert guess_format(detr) == DETRBoxes("softmax")
    rt_detr = transformers.models.rt_detr.modeling_rt_detr.RTDetrObjectDetectionOutput(**entries)
    for other in (rt_detr, entries, {"pred_logits": SCORES, "pred_boxes": CENTRED}):
        with pytest.raises(TypeError, match=r'DETRBoxes\("softmax"\) if .* or DETRBoxes\("sigmoid"\)'):
            guess_format(other)


def detect_one(x: Tensor) -> list[dict[str, Tensor]]:
    """One candidate of label 1 in every sample."""
    box, label = torch.tensor([[10.0, 20.0, 30.0, 40.0]]), torch.ones(1, dtype=torch.long)
    return [{"boxes": box, "scores": one[:1], "labels": label} for one in x]


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        (
            Detection((0.1, 0.2, 0.3, 0.4), 1),
            r"overlaps the box \(0.1, .* from 10 to 40: the units may be wrong",
        ),
        (Detection((10, 20, 30, 40), 2), "no candidate has label 2: look at the labels"),
    ],
    ids=["units", "label"],
)
def test_a_box_that_no_candidate_answers_is_warned_of_once(target: Detection, sentence: str) -> None:
    with pytest.warns(UserWarning, match=f"in sample 0 .*{sentence}.* The same holds for 1 more") as caught:
        samp.explain(detect_one, torch.rand(2, 3), target=target, method="ig")
    assert len(caught) == 1


def test_a_box_with_a_candidate_is_not_warned_of(recwarn: pytest.WarningsRecorder) -> None:
    samp.explain(detect_one, torch.rand(2, 3), target=Detection((10, 20, 30, 40), 1), method="ig")
    assert not len(recwarn)


def test_a_detector_that_drops_all_candidates_is_told_how_to_keep_them() -> None:
    none = {"boxes": torch.zeros(0, 4), "scores": torch.zeros(0), "labels": torch.zeros(0, dtype=torch.long)}
    with pytest.raises(ValueError, match=r"no candidate at all.*box_score_thresh=0"):
        samp.explain(lambda x: [none] * len(x), torch.rand(2, 3), target=Detection((0, 0, 2, 2), 1), method="ig")


@pytest.mark.parametrize(
    ("kind", "output", "sentence"),
    [
        (TorchvisionBoxes(), SCORES, r"TorchvisionBoxes\(\) reads a list of 1 dicts .* gave shape \(1, 2, 2\)"),
        (TorchvisionBoxes(), [{"boxes": CORNERS}], r"first dict\(boxes: shape \(1, 2, 4\)\)"),
        (DETRBoxes(), SCORES, r"reads logits \(1 n classes\) and pred_boxes \(1 n 4\), but the model gave shape"),
        (DETRBoxes(), (CENTRED, SCORES), "a tuple of 2, first shape"),
        (YOLOBoxes(False), SCORES[0], r"reads a tensor of shape 1 n values, but the model gave shape \(2, 2\)"),
        (YOLOBoxes(False), CENTRED, "no scores of classes behind its boxes: look at objectness and values_first"),
    ],
    ids=str,
)  # fmt: skip
def test_other_outputs_get_a_sentence(kind: Any, output: Any, sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        kind.read(output, LABEL)


def test_no_object_is_no_class_of_detr() -> None:
    with pytest.raises(ValueError, match="label 1 is out of range: the output has classes 0 to 0"):
        DETRBoxes("softmax").read((SCORES, CENTRED), LABEL)


def test_pixels_are_no_boxes_of_detr() -> None:
    def detect(x: Tensor) -> dict[str, Tensor]:
        return {"logits": x.view(-1, 2, 2), "pred_boxes": CENTRED.expand(len(x), 2, 4) / 10}

    with pytest.raises(
        ValueError, match="go from 0 to 1, but the box of this detection reaches 30: divide its corners"
    ):
        samp.explain(detect, torch.rand(1, 4), target=Detection((0, 0, 20, 30), 0, DETRBoxes()), method="ig")


def test_a_detr_of_hugging_face_is_explained_by_score_times_overlap() -> None:
    """A net of random weights: its output object is the real one, and the gradient is set against plain autograd."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    stages = {"hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1], "layer_type": "basic", "out_features": ["stage4"]}
    sizes = {f"{part}_{name}": size for part in ("encoder", "decoder") for name, size in
             (("layers", 1), ("ffn_dim", 32), ("attention_heads", 2))}  # fmt: skip
    config = transformers.DetrConfig(
        use_timm_backbone=False,
        use_pretrained_backbone=False,
        backbone=None,
        backbone_config=transformers.ResNetConfig(embedding_size=8, **stages),
        d_model=32,
        num_queries=6,
        num_labels=4,
        **sizes,
    )
    model = transformers.DetrForObjectDetection(config).eval()
    x = torch.rand(2, 3, 64, 64)
    boxes = torch.tensor([[0.1, 0.2, 0.7, 0.9], [0.0, 0.0, 0.5, 0.5]])
    result = samp.explain(model, x, target=Detection(boxes, [1, 3]), method="gradient")

    x.requires_grad_()
    output = model(x)
    centre, size = output.pred_boxes.chunk(2, -1)
    corners = torch.cat([centre - size / 2, centre + size / 2], -1)
    scores = output.logits.softmax(-1)[[0, 1], :, [1, 3]] * overlap(boxes, corners)
    (gradient,) = torch.autograd.grad(scores.amax(1).sum(), x)
    assert gradient.abs().max() > 0
    torch.testing.assert_close(result.values, gradient)
