"""This box and class: the target of detectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor

from samp.targets.boxes import BoxFormat, DETRBoxes, guess_format, overlap
from samp.targets.objectives import TargetByName
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
    - `output`: `TorchvisionBoxes()`, `DETRBoxes(...)` or `YOLOBoxes(...)`; None reads the first two from the output.

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

    def resolve(self, batch: int, device: torch.device | str) -> TargetByName:
        """Return the objective; raise ValueError if there are not as many boxes or labels as samples."""
        boxes = torch.tensor(self.box, device=device)  # 4 or b 4
        check_count("the box of a detection", len(boxes) if boxes.ndim == 2 else None, batch)
        labels = one_per_sample("the label of a detection", self.label, batch, device)  # type: ignore[arg-type]  # read above
        return TargetByName(self, partial(self._score, boxes.expand(batch, 4), labels))

    def _score(self, box: Tensor, labels: Tensor, output: Any, samples: Tensor) -> Tensor:
        kind = guess_format(output) if self.output is None else self.output
        if isinstance(kind, DETRBoxes) and float(box.max()) > 1.5:  # boxes may reach a little beyond the image
            raise ValueError(
                f"the boxes of {kind!r} go from 0 to 1, but the box of this detection reaches {float(box.max()):g}: "
                "divide its corners by the width and height of the image."
            )
        boxes, scores = kind.read(output, labels[samples])  # r n 4, r n
        values = scores * overlap(box[samples].to(boxes.dtype), boxes)
        if self.combine == "sum" or not values.shape[1]:  # without candidates the score is 0
            return values.sum(1)  # r
        return values.max(1).values  # r


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
