"""Where the objects truly are: masks, boxes or annotations, as masks of the maps' size."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from samp.annotations.boxes import Annotation, Box, Size, as_mask, clip_edges, tight_box
from samp.checks import check_dense

Array = np.ndarray[Any, np.dtype[Any]]
ObjectLocation = Tensor | Array | Annotation | Sequence[Box]
Truth = Tensor | Array | Sequence[ObjectLocation]
Labels = Sequence[Hashable] | Tensor | None


@dataclass(frozen=True, eq=False)
class GroundTruth:
    """What one map should point out: the object of its class, as a mask of the pixels it covers and as boxes.

    >>> dogs = (Box("dog", 0, 0, 1, 1),)
    >>> GroundTruth("dog", as_mask(dogs, (1, 2)), dogs, Annotation(dogs, (1, 2))).mask
    tensor([[ True, False]])
    """

    label: Hashable
    mask: Tensor  # h w
    boxes: tuple[Box, ...]
    annotation: Annotation | None
    """The whole photo's, if the truth was given as one."""


def ground_truths(truth: Truth, maps: Tensor, labels: Labels = None) -> list[GroundTruth]:
    """Return the ground truth of each sample of these maps (b h w); raise an error if it does not fit them.

    The truth has one entry per sample: a boolean mask h w, boxes (all of them count), or an `Annotation` (its boxes of
    the sample's label count). Without labels, an annotation must be of one class.

    >>> objects = ground_truths([torch.tensor([[True, False]]), [Box("dog", 1, 0, 2, 1)]], torch.rand(2, 1, 2))
    >>> [(one.mask.tolist(), one.boxes[0].left) for one in objects]
    [([[True, False]], 0), ([[False, True]], 1)]
    """
    if isinstance(truth, Annotation | Box):
        raise TypeError(f"the truth has one entry per sample: give [annotation], not one {type(truth).__name__} alone.")
    if not isinstance(truth, Tensor | np.ndarray | Sequence) or isinstance(truth, str) or not getattr(truth, "ndim", 1):
        raise TypeError(
            f"the truth is a list with one mask, Annotation or list of boxes per sample, not {type(truth).__name__}."
        )
    if isinstance(truth, Tensor):
        check_dense(truth, "the truth")
    if len(truth) != len(maps):
        raise ValueError(f"there are {len(maps)} maps but the truth of {len(truth)} samples: give one for each.")
    names = _check_labels(labels, len(maps))
    size = (maps.shape[1], maps.shape[2])
    return [
        _ground_truth(entry, name, size, sample) for sample, (entry, name) in enumerate(zip(truth, names, strict=True))
    ]


def stack_masks(objects: Sequence[GroundTruth], maps: Tensor) -> Tensor:
    """b h w: the masks of the objects, on the device of the maps.

    >>> maps = torch.rand(2, 1, 2)
    >>> stack_masks(ground_truths(torch.ones(2, 1, 2).bool(), maps), maps).shape
    torch.Size([2, 1, 2])
    """
    return torch.stack([one.mask for one in objects]).to(maps.device)


def _check_labels(labels: Labels, batch: int) -> list[Hashable]:
    if labels is None:
        return [None] * batch
    if isinstance(labels, Tensor):
        check_dense(labels, "labels")
    names = labels.tolist() if isinstance(labels, Tensor | np.ndarray) else labels
    if not isinstance(names, Sequence) or isinstance(names, str) or not all(isinstance(n, Hashable) for n in names):
        raise TypeError(f"labels is {labels!r}: give a list with one label for each of the {batch} maps.")
    if len(names) != batch:
        raise ValueError(f"there are {batch} maps but {len(names)} labels: give a list with one for each.")
    return list(names)


def _ground_truth(entry: object, label: Hashable, size: Size, sample: int) -> GroundTruth:
    if isinstance(entry, Annotation):
        _check_size(entry.size, size, f"the annotation of sample {sample}")
        boxes = _boxes_of_label(entry, label)
        name = boxes[0].label if label is None and boxes else label
        return GroundTruth(name, as_mask(boxes, size), _clip_boxes(boxes, size), entry)
    if isinstance(entry, Tensor | np.ndarray):
        mask = _check_mask(entry, size, sample)
        around = tight_box(mask)
        return GroundTruth(label, mask, (around,) if around else (), None)
    if isinstance(entry, list | tuple) and all(isinstance(box, Box) for box in entry):
        return GroundTruth(label, as_mask(entry, size), _clip_boxes(entry, size), None)
    raise TypeError(
        f"the truth of sample {sample} is {type(entry).__name__}: give a boolean mask, a list of boxes, or an "
        "Annotation."
    )


def _boxes_of_label(annotation: Annotation, label: Hashable) -> tuple[Box, ...]:
    if label is None and len(annotation.labels) > 1:
        raise ValueError(
            f"the annotation holds {', '.join(annotation.labels)}: say which of them each map explains by labels."
        )
    return annotation.boxes if label is None else annotation.of(str(label))


def _clip_boxes(boxes: Sequence[Box], size: Size) -> tuple[Box, ...]:
    """The parts of the boxes inside the picture, since no map can show more; boxes wholly outside are dropped."""
    parts = [(box, clip_edges(box.edges, size)) for box in boxes]
    return tuple(
        box if box.edges == part else Box(box.label, *part, difficult=box.difficult) for box, part in parts if part
    )


def _check_mask(entry: Tensor | Array, size: Size, sample: int) -> Tensor:
    if entry.dtype not in (torch.bool, np.bool_):
        raise TypeError(f"the mask of sample {sample} has dtype {entry.dtype}: make it boolean, as with mask > 0.")
    _check_size(tuple(entry.shape), size, f"the mask of sample {sample}")
    # arrays are copied: torch takes none that is flipped, and warns of read-only ones
    return torch.from_numpy(entry.copy()) if isinstance(entry, np.ndarray) else entry.detach().cpu()


def _check_size(size: tuple[int, ...], wanted: Size, what: str) -> None:
    if size != wanted:
        raise ValueError(
            f"{what} is {' × '.join(map(str, size))} but the map {wanted[0]} × {wanted[1]}: cut the boxes as "
            "the photo was (samp.metrics.crop_boxes), or enlarge the map."
        )
