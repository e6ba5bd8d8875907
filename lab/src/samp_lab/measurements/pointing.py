"""The pointing game on photos with boxes, played by an ImageNet net."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import torch
from torch import Tensor

from samp.annotations.boxes import Annotation, Size, crop_boxes
from samp.baselines import black
from samp.explain import explain
from samp.methods import Method, resolve_method
from samp.methods.rise import RISE, draw_masks
from samp.metrics.pointing_game import is_difficult, pointing_game
from samp_lab.measurements.base import Column, PartResult
from samp_lab.setups import Setup
from samp_lab.workspace import ImagePart

MASKS_AT_ONCE = 128  # of RISE, in one call of the net
TOLERANCE = 0.03
"""Of a photo's longer side: the published 15 pixels on VOC's photos, which are 500 pixels long."""


@dataclass(frozen=True)
class Pointing:
    """The pointing game: one map for each photo and each class in it that has ImageNet classes.

    An ImageNet net has no "dog" but 118 breeds, so the map explains the breed that the net finds most likely: a single
    logit, as everywhere in the paper, for which CAM, MWP and RISE (a soft-max probability) are defined as well. The
    truth is boxes, cropped like the photo; objects outside the crop are not played. `numbers["game"]` holds for each
    photo a list of [class, hit, difficult], or None if its boxes could not be read.

    >>> from samp_lab.setups import parse_setup
    >>> Pointing(parse_setup("coco"), "rise").tolerance
    0.03
    """

    kind: ClassVar[str] = "pointing"
    version: ClassVar[int] = 1

    setup: Setup
    method: str | Method
    tolerance: float = TOLERANCE
    """How far from the object a point still hits, as a share of the photo's longer side."""
    most: int | None = None

    def measure(self, part: ImagePart) -> PartResult:
        photos = [_annotation(part, number) for number in range(len(part.entries))]
        pairs = _pairs(part, photos)
        started = part.now()
        maps = _maps(part, pairs, self.method)
        seconds = part.now() - started
        games: Column = [None if photo is None else [] for photo in photos]
        spent = [0.0] * len(photos)
        for pair, heat in zip(pairs, maps, strict=True):
            games[pair.photo].append([pair.label, self._hits(part, pair, heat), is_difficult(pair.whole, pair.label)])
            spent[pair.photo] += seconds / len(pairs)
        return PartResult({"game": games}, {"seconds": spent})

    def _hits(self, part: ImagePart, pair: Pair, heat: Tensor) -> bool:
        tolerance = (
            self.tolerance * max(pair.whole.size) * shrinkage(pair.whole.size, pair.cut.size, part.classifier.margin)
        )
        return bool(pointing_game(heat[None], [pair.cut], [pair.label], tolerance=tolerance).hits)


@dataclass(frozen=True)
class Pair:
    """A photo of a part, a class of objects in it, and the ImageNet class that is explained for it."""

    photo: int
    label: str
    target: int
    cut: Annotation
    whole: Annotation


@cache
def imagenet_classes_by_label() -> dict[str, tuple[int, ...]]:
    """Return the ImageNet classes of each class of COCO and VOC; classes without any are left out.

    >>> classes = imagenet_classes_by_label()
    >>> classes["aeroplane"] == classes["airplane"], "person" in classes
    (True, False)
    """
    from samp_lab.datasets.detection import IN_COCO, coco_classes

    coco = {name: indices for name, indices in coco_classes().items() if indices}
    return {**coco, **{voc: coco[name] for voc, name in IN_COCO.items() if name in coco}}


def shrinkage(photo: Size, picture: Size, margin: float | None) -> float:
    """Return the scale from a photo to the net's input; the geometric mean of both axes if it is stretched.

    >>> shrinkage((500, 353), (224, 224), margin=0.875) == 224 / (0.875 * 353)
    True
    """
    down, across = (p / q for p, q in zip(photo, picture, strict=True))
    if margin is not None:
        down = across = margin * min(down, across)
    return float((down * across) ** -0.5) if down != across else 1 / down


def _annotation(part: ImagePart, number: int) -> Annotation | None:
    """Return the photo's boxes; None if they cannot be read, so that the other photos are still played."""
    entry = part.entries[number]
    try:
        found = entry.annotation
    except (OSError, ValueError):
        return None
    if found is None:
        raise ValueError(f"{entry.id} comes without boxes: play the pointing game on coco or voc.")
    return found


def _pairs(part: ImagePart, photos: Sequence[Annotation | None]) -> list[Pair]:
    logits = _logits(part)
    return [
        pair for photo, whole in enumerate(photos) if whole for pair in _pairs_of(part, photo, whole, logits[photo])
    ]


def _pairs_of(part: ImagePart, photo: int, whole: Annotation, logits: Tensor) -> list[Pair]:
    known = imagenet_classes_by_label()
    cut = crop_boxes(whole, part.classifier.shape, part.classifier.margin)
    # as published: a class whose objects are all "difficult" in VOC's sense is not played
    labels = [label for label in cut.labels if label in known and not all(box.difficult for box in cut.of(label))]
    indices = [torch.tensor(known[label]) for label in labels]
    targets = [int(some[logits[some].argmax()]) for some in indices]
    return [Pair(photo, label, target, cut, whole) for label, target in zip(labels, targets, strict=True)]


def _logits(part: ImagePart) -> Tensor:
    with torch.no_grad():
        logits: Tensor = part.net(part.x).cpu()
    if logits.ndim != 2 or logits.shape[1] != 1000:
        raise ValueError(
            "the pointing game needs an ImageNet net of 1,000 classes, but the output of this one is "
            f"{tuple(logits.shape)}: take a setup such as coco/resnet50."
        )
    return logits


def _maps(part: ImagePart, pairs: Sequence[Pair], method: str | Method) -> Tensor:
    """Return p h w: the map of each pair."""
    if not pairs:
        return torch.empty(0, *part.x.shape[2:])
    resolved = resolve_method(method)
    if isinstance(resolved, RISE) and resolved.score == "probability" and resolved.baseline == black:
        return rise_maps(part, pairs, resolved)
    x = part.x[torch.tensor([pair.photo for pair in pairs], device=part.x.device)]
    target = torch.tensor([pair.target for pair in pairs], device=part.x.device)
    maps: Tensor = explain(part.net, x, target=target, method=method, seed=part.seed).map
    return maps.detach().float().cpu()


@torch.no_grad()
def rise_maps(part: ImagePart, pairs: Sequence[Pair], method: RISE) -> Tensor:
    """Return p h w: the same maps as `explain` makes of each pair, at one forward pass per photo and mask.

    A forward pass gives the probabilities of all classes, so that the classes of a photo share it.
    """
    height, width = part.x.shape[2:]
    total = part.x.new_zeros(len(pairs), height * width)
    of_photo = {photo: [i for i, pair in enumerate(pairs) if pair.photo == photo] for photo in {p.photo for p in pairs}}
    for block in draw_masks(method, height, width, part.seed, part.x):
        for masks in torch.split(block, MASKS_AT_ONCE):
            for photo, rows in of_photo.items():
                probabilities = part.net(part.x[photo] * masks[:, None]).softmax(1)  # k classes
                chosen = probabilities[:, [pairs[row].target for row in rows]]
                total[rows] += chosen.T.to(total) @ masks.flatten(1)
    return (total / (method.masks * method.p)).view(-1, height, width).float().cpu()
