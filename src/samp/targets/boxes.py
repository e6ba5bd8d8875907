"""Candidates of detectors, read from each kind of output: boxes as corners (r n 4) and scores for a label (r n)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from samp.model_output import describe_output, read_entry
from samp.targets.per_sample import check_choice

Activation = Literal["softmax", "sigmoid", "none"]
LOGITS = ("logits", "pred_logits")
DETR_OUTPUT = "DetrObjectDetectionOutput"  # of transformers, which is not imported for a name


@dataclass(frozen=True)
class TorchvisionBoxes:
    """Outputs as torchvision's detectors give them: a list with one dict per sample of boxes (corners), scores, labels.

    These nets drop candidates that score low or overlap, so that along a walk there may be none, and no gradient: build
    them with a low threshold, such as box_score_thresh=0.

    >>> one = {"boxes": torch.rand(2, 4), "scores": torch.tensor([0.9, 0.8]), "labels": torch.tensor([1, 2])}
    >>> TorchvisionBoxes().read([one], torch.tensor([2]))[1]
    tensor([[0.0000, 0.8000]])
    """

    def read(self, output: Any, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return the boxes (r n 4) and their scores for each sample's label (r n); raise an error for other outputs."""
        if not is_torchvision(output) or len(output) != len(labels):
            raise _wrong(self, f"a list of {len(labels)} dicts with boxes, scores and labels, one per sample", output)
        boxes = pad_sequence([one["boxes"] for one in output], batch_first=True)
        scores = [one["scores"] * (one["labels"] == label) for one, label in zip(output, labels, strict=True)]
        return boxes, pad_sequence(scores, batch_first=True)


@dataclass(frozen=True)
class DETRBoxes:
    """Outputs as DETR gives them: logits (b n classes) and boxes (b n 4) of centre, width and height, from 0 to 1.

    They are a dict, or an object of Hugging Face, with "logits" or "pred_logits" and "pred_boxes", or a tuple of the
    two. With "softmax", as in DETR, the last class is "no object"; Deformable DETR and RT-DETR have "sigmoid" scores.

    >>> logits, boxes = torch.zeros(1, 5, 4), torch.full((1, 5, 4), 0.5)
    >>> corners, scores = DETRBoxes().read((logits, boxes), torch.tensor([2]))
    >>> corners[0, 0].tolist(), scores[0, 0].item()
    ([0.25, 0.25, 0.75, 0.75], 0.25)
    """

    activation: Activation = "softmax"

    def __post_init__(self) -> None:
        check_choice("activation", self.activation, ("softmax", "sigmoid", "none"))

    def read(self, output: Any, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return the boxes (r n 4) and their scores for each sample's label (r n); raise an error for other outputs."""
        pair = detr_pair(output)
        if pair is None or len(pair[0]) != len(labels):
            raise _wrong(self, f"logits ({len(labels)} n classes) and pred_boxes ({len(labels)} n 4)", output)
        logits, boxes = pair
        scores = _activate(logits, self.activation)
        _check_labels(labels, scores.shape[2] - (self.activation == "softmax"))
        return _corners(boxes), _of_label(scores, labels)


@dataclass(frozen=True)
class YOLOBoxes:
    """Outputs as YOLO gives them before any are dropped: one tensor, b n values, or the first of a tuple.

    The values of a candidate are centre, width and height of its box, then its `objectness` if there is one (up to
    YOLOv7), then a score for each class. YOLOv8 and later have no objectness and put the values first: b values n,
    `values_first=True`. Boxes are decoded, in pixels of the input; scores are 0 to 1 already, or take "sigmoid".
    `corners` says that boxes are x1 y1 x2 y2.

    >>> candidate = torch.tensor([[[5.0, 5.0, 4.0, 2.0, 0.5, 0.1, 0.8]]])
    >>> YOLOBoxes(objectness=True).read(candidate, torch.tensor([1]))
    (tensor([[[3., 4., 7., 6.]]]), tensor([[0.4000]]))
    """

    objectness: bool
    values_first: bool = False
    activation: Literal["none", "sigmoid"] = "none"
    corners: bool = False

    def __post_init__(self) -> None:
        check_choice("activation", self.activation, ("none", "sigmoid"))

    def read(self, output: Any, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return the boxes (r n 4) and their scores for each sample's label (r n); raise an error for other outputs."""
        values = output[0] if isinstance(output, tuple | list) and output else output
        if not isinstance(values, Tensor) or values.ndim != 3 or len(values) != len(labels):
            axes = "values n" if self.values_first else "n values"
            raise _wrong(self, f"a tensor of shape {len(labels)} {axes}", output)
        values = values.mT if self.values_first else values
        first = 4 + self.objectness
        _check_labels(labels, values.shape[2] - first)
        scores = _activate(values[..., 4:], self.activation)
        own = _of_label(scores[..., int(self.objectness) :], labels)
        boxes = values[..., :4] if self.corners else _corners(values[..., :4])
        return boxes, own * scores[..., 0] if self.objectness else own


BoxFormat = TorchvisionBoxes | DETRBoxes | YOLOBoxes


def guess_format(output: Any) -> BoxFormat:
    """Return the format that an output is in, if it says so itself; raise TypeError otherwise.

    Logits and boxes alone do not: only DETR's own class tells a soft-max with "no object" from sigmoid scores.

    >>> guess_format([{"boxes": torch.rand(2, 4), "scores": torch.rand(2), "labels": torch.tensor([1, 2])}])
    TorchvisionBoxes()
    """
    if is_torchvision(output):
        return TorchvisionBoxes()
    if detr_pair(output) is not None and not isinstance(output, tuple | list):
        if type(output).__name__ == DETR_OUTPUT:
            return DETRBoxes("softmax")
        raise TypeError(
            f"the model gave {type(output).__name__} with logits and boxes, which does not say how scores follow from "
            'logits: pass output=samp.targets.DETRBoxes("softmax") if the last class is "no object", as in DETR and '
            'YOLOS, or DETRBoxes("sigmoid") if each class has its own score, as in Deformable DETR and RT-DETR.'
        )
    raise TypeError(
        f"the model gave {describe_output(output)}, which does not say where its boxes and scores are: pass output= as "
        "samp.targets.YOLOBoxes(objectness=…) for b n values, DETRBoxes(...) for logits and boxes, or "
        "TorchvisionBoxes() for a list of dicts."
    )


def is_torchvision(output: Any) -> bool:
    """Return whether this is a list of dicts with boxes, scores and labels."""
    names = {"boxes", "scores", "labels"}
    return isinstance(output, list | tuple) and all(isinstance(one, Mapping) and names <= set(one) for one in output)


def detr_pair(output: Any) -> tuple[Tensor, Tensor] | None:
    """Return logits (b n c) and boxes (b n 4) of a dict, an object or a tuple that has both, else None."""
    if isinstance(output, tuple | list):
        pair = list(output[:2])
    else:
        logits = [entry for entry in (read_entry(output, name) for name in LOGITS) if entry is not None]
        pair = [*logits[:1], read_entry(output, "pred_boxes")]
    if len(pair) != 2 or not all(isinstance(one, Tensor) and one.ndim == 3 for one in pair):
        return None
    return (pair[0], pair[1]) if pair[1].shape == (*pair[0].shape[:2], 4) else None


def overlap(box: Tensor, boxes: Tensor) -> Tensor:
    """Return the intersection over union (r n) of each sample's box (r 4) with its boxes (r n 4), all as corners.

    >>> overlap(torch.tensor([[0.0, 0.0, 2.0, 2.0]]), torch.tensor([[[1.0, 0.0, 3.0, 2.0], [5.0, 5.0, 6.0, 6.0]]]))
    tensor([[0.3333, 0.0000]])
    """
    box = box[:, None]
    sides = (torch.minimum(box[..., 2:], boxes[..., 2:]) - torch.maximum(box[..., :2], boxes[..., :2])).clamp(min=0)
    shared = sides.prod(-1)
    union = _area(box) + _area(boxes) - shared
    return shared / union.clamp(min=torch.finfo(union.dtype).tiny)


def _area(boxes: Tensor) -> Tensor:
    return (boxes[..., 2:] - boxes[..., :2]).clamp(min=0).prod(-1)


def _corners(boxes: Tensor) -> Tensor:
    """Return boxes of centre, width and height as corners."""
    centre, half = boxes[..., :2], boxes[..., 2:] / 2
    return torch.cat([centre - half, centre + half], -1)


def _activate(scores: Tensor, activation: str) -> Tensor:
    if activation == "softmax":
        return scores.softmax(-1)
    return scores.sigmoid() if activation == "sigmoid" else scores


def _of_label(scores: Tensor, labels: Tensor) -> Tensor:
    """Return the scores (r n) of each sample's label, from those of all classes (r n c)."""
    return scores[torch.arange(len(labels), device=scores.device), :, labels]


def _check_labels(labels: Tensor, classes: int) -> None:
    if classes < 1:
        raise ValueError("the output has no scores of classes behind its boxes: look at objectness and values_first.")
    if int(labels.max()) >= classes:
        raise ValueError(f"label {int(labels.max())} is out of range: the output has classes 0 to {classes - 1}.")


def _wrong(kind: object, expected: str, output: Any) -> TypeError:
    return TypeError(f"{kind!r} reads {expected}, but the model gave {describe_output(output)}.")
