"""This box and class: the target of detectors."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor

from samp.targets.boxes import BoxFormat, DETRBoxes, guess_format, overlap
from samp.targets.objectives import TargetByName, TargetFromPrediction
from samp.targets.per_sample import check_choice, check_count, one_per_sample, read_integers, wrap_tensor

Corners = tuple[float, float, float, float]


@dataclass(frozen=True)
class Detection:
    """A target: how surely the detector sees this label in this box, its best or summed score × overlap.

    Each candidate counts with its score for the label times its overlap (intersection over union) with the box; both
    change along the walk. `combine` takes the "max" of the candidates or their "sum", which also asks for their number.

    - `box`: its corners x1, y1, x2, y2 in the units of the model's boxes: pixels, or 0 to 1 for `DETRBoxes`. A tuple is
      one for all samples; a list or tensor of them (b 4) has one for each.
    - `label`: its class number, or a list with one for each sample.
    - `output`: `TorchvisionBoxes()`, `DETRBoxes(...)` or `YOLOBoxes(...)`; None takes
      the first from the output, and of the second that of Hugging Face's DETR.

    Raises ValueError if the detector has no candidate in any sample, and warns where none overlaps the box or has the
    label in the sample itself: nothing would be explained.

    >>> import samp
    >>> def detect(x):  # one candidate: its box stays, its score for class 1 is the first number
    ...     return torch.cat([torch.tensor([5.0, 5, 2, 2]).expand(len(x), 4), 0 * x[:, :1], x[:, :1]], 1)[:, None]
    >>> here = Detection((4, 4, 6, 8), label=1, output=samp.targets.YOLOBoxes(objectness=False))
    >>> samp.explain(detect, torch.tensor([[0.8, 0.3]]), target=here, method="ig").values  # half of the box is shared
    tensor([[0.4000, 0.0000]])
    """

    box: Corners | Sequence[Corners] | Tensor
    label: int | Sequence[int] | Tensor
    output: BoxFormat | None = None
    combine: Literal["max", "sum"] = "max"

    def __post_init__(self) -> None:
        object.__setattr__(self, "box", _read_boxes(self.box))
        object.__setattr__(self, "label", read_integers("the label of a detection", self.label))
        check_choice("combine", self.combine, ("max", "sum"))
        if self.output is not None and not isinstance(self.output, BoxFormat):
            raise TypeError(
                "output is samp.targets.TorchvisionBoxes(), DETRBoxes(...), YOLOBoxes(...) or None, "
                f"not {self.output!r}."
            )

    def resolve(self, batch: int, device: torch.device | str) -> TargetFromPrediction:
        """Return the objective; raise ValueError if there are not as many boxes or labels as samples."""
        boxes = torch.tensor(self.box, device=device)  # 4 or b 4
        check_count("the box of a detection", len(boxes) if boxes.ndim == 2 else None, batch)
        labels = one_per_sample("the label of a detection", self.label, batch, device)  # type: ignore[arg-type]  # read above
        boxes = boxes.expand(batch, 4)
        objective = TargetByName(self, partial(self._score, boxes, labels))

        def settle(found: Tensor) -> TargetByName:
            _check_candidates(boxes, labels, found)
            return objective

        return TargetFromPrediction(self, partial(self._summarise, boxes, labels), settle)

    def _score(self, box: Tensor, labels: Tensor, output: Any, samples: Tensor) -> Tensor:
        boxes, scores = self._read(box, labels, output, samples)
        values = scores * overlap(box[samples].to(boxes.dtype), boxes)
        if self.combine == "sum" or not values.shape[1]:  # without candidates the score is 0
            return values.sum(1)  # r
        return values.max(1).values  # r

    def _read(self, box: Tensor, labels: Tensor, output: Any, samples: Tensor) -> tuple[Tensor, Tensor]:
        """Return the candidates' boxes (r n 4) and scores (r n); raise TypeError or ValueError if there are none."""
        kind = guess_format(output) if self.output is None else self.output
        if isinstance(kind, DETRBoxes) and float(box.max()) > 1.5:  # boxes may reach a little beyond the image
            raise ValueError(
                f"the boxes of {kind!r} go from 0 to 1, but the box of this detection reaches {float(box.max()):g}: "
                "divide its corners by the width and height of the image."
            )
        return kind.read(output, labels[samples])

    def _summarise(self, box: Tensor, labels: Tensor, output: Any, samples: Tensor) -> Tensor:
        """Return whether each sample has candidates, any with the label, any on the box; and the range of their boxes.

        Five numbers per sample (r 5).
        """
        boxes, scores = self._read(box, labels, output, samples)
        if not boxes.shape[1]:
            return boxes.new_zeros(len(samples), 5)
        shared = overlap(box[samples].to(boxes.dtype), boxes)
        real = boxes.abs().sum((1, 2)) > 0  # samples without candidates are filled up with boxes of zeros
        columns = [real, (scores != 0).any(1), (shared > 0).any(1), boxes.amin((1, 2)), boxes.amax((1, 2))]
        return torch.stack([column.to(boxes.dtype) for column in columns], 1)


def _check_candidates(box: Tensor, labels: Tensor, found: Tensor) -> None:
    """Raise ValueError if no sample has a candidate; warn of the first that has none for its label or its box."""
    candidates, labelled, near, low, high = found.cpu().T
    if not bool(candidates.any()):
        raise ValueError(
            "the detector gives no candidate at all, so there is no score to explain: let it keep those that score "
            "low, in torchvision by box_score_thresh=0 where the net is built."
        )
    lost = (labelled * near == 0).nonzero()
    if not len(lost):
        return
    sample = int(lost[0])
    if not candidates[sample]:
        why = "the detector gives no candidate: let it keep those that score low (in torchvision, box_score_thresh=0)"
    elif not labelled[sample]:
        why = f"no candidate has label {int(labels[sample])}: look at the labels that the detector gives"
    else:
        corners = ", ".join(f"{corner:g}" for corner in box[sample].tolist())
        why = (
            f"no candidate overlaps the box ({corners}); the boxes found have corners from {low[sample]:g} to "
            f"{high[sample]:g}: the units may be wrong (pixels of the model's input, or 0 to 1)"
        )
    others = f" The same holds for {len(lost) - 1} more." if len(lost) > 1 else ""
    warnings.warn(f"in sample {sample} there is nothing to explain, since {why}.{others}", stacklevel=2)


def _read_boxes(given: Any) -> Any:
    """Return a tuple of four floats, or one such tuple per sample; raise ValueError for anything else."""
    boxes = wrap_tensor("the box of a detection", given).tensor.double()
    if boxes.ndim not in (1, 2) or boxes.shape[-1] != 4:
        raise ValueError(
            f"a box has four corners x1, y1, x2, y2, or is a list with one for each sample (b 4), but has shape "
            f"{tuple(boxes.shape)}."
        )
    if bool((boxes[..., 2:] <= boxes[..., :2]).any()):
        raise ValueError(
            f"a box has corners x1 < x2 and y1 < y2, not {boxes.tolist()}: if it has a centre, or width "
            "and height, compute the corners first."
        )
    return tuple(map(tuple, boxes.tolist())) if boxes.ndim == 2 else tuple(boxes.tolist())
