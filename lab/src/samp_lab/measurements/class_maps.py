"""Measurements with a map for each of several classes: the digits of a mosaic, and birds of different species."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from samp.annotations.boxes import Annotation
from samp.explain import explain
from samp.methods import Method
from samp_lab.measurements.base import PartResult, to_numbers
from samp_lab.measurements.paper_figures import FOR_PICTURES
from samp_lab.setups import Setup
from samp_lab.workspace import ImagePart

BLOCK = 5  # images × classes of the paper's grid


@dataclass(frozen=True)
class MosaicShares:
    """A map for the class of each box of an image, and how much of its positive credit lies in that class's boxes.

    `inside` is that share; `ink` is the share of the image's brightness there, which a map that ignores the class would
    have. Both are means over the boxes of an image.

    >>> from samp_lab.setups import parse_setup
    >>> MosaicShares(parse_setup("mosaic")).setup.net
    'mosaic'
    """

    kind: ClassVar[str] = "quartered"
    version: ClassVar[int] = 1

    setup: Setup
    method: Method = FOR_PICTURES
    most: int | None = None

    def measure(self, part: ImagePart) -> PartResult:
        notes = [_annotation(entry.id, entry.annotation) for entry in part.entries]
        targets = torch.tensor([[_class(part, box.label) for box in note.boxes] for note in notes])  # b 4
        maps = torch.stack([_maps(part, self.method, target) for target in targets.unbind(1)], 1)  # b 4 h w
        masks = torch.stack([_masks(note) for note in notes])  # b 4 h w
        ink = part.x.detach().cpu().sum(1, keepdim=True).expand_as(masks)
        found = {"inside": to_numbers(share_inside(maps, masks)), "ink": to_numbers(share_inside(ink, masks))}
        return PartResult(found, arrays={"maps": maps, "classes": targets})


def share_inside(maps: Tensor, masks: Tensor) -> Tensor:
    """Return b: the share of positive credit (b n h w) inside the masks, as a mean over the n maps of an image.

    >>> share_inside(torch.tensor([[[[3.0, 1.0, -5.0]]]]), torch.tensor([[[[True, False, False]]]]))
    tensor([0.7500])
    """
    credit = maps.clamp(min=0)
    return ((credit * masks).sum((2, 3)) / credit.sum((2, 3))).nanmean(1)


@dataclass(frozen=True)
class ClassBlocks:
    """Blocks of five images, each explained for the class of every image of its block (Fig. CUB).

    `own` and `other` are the sums of positive credit for the image's own class and, as a mean, for the others;
    `own_net` and `other_net` those of all credit, for and against. Images are taken five by five in the order of a
    part; the last block may have fewer, and maps that are not there are NaN.

    >>> from samp_lab.setups import parse_setup
    >>> ClassBlocks(parse_setup("cub")).most
    25
    """

    kind: ClassVar[str] = "blocks"
    version: ClassVar[int] = 1

    setup: Setup
    method: Method = FOR_PICTURES
    most: int | None = 25

    def measure(self, part: ImagePart) -> PartResult:
        labels = torch.tensor([_label(entry.id, entry.label) for entry in part.entries])
        classes = block_classes(labels)  # b 5
        known = [target.clamp(min=0) for target in classes.unbind(1)]
        maps = torch.stack([_maps(part, self.method, target) for target in known], 1)  # b 5 h w
        maps[classes < 0] = torch.nan
        own, found = classes == labels[:, None], {}
        for ending, credit in (("", maps.clamp(min=0).sum((2, 3))), ("_net", maps.sum((2, 3)))):
            found[f"own{ending}"] = to_numbers(credit.masked_fill(~own, torch.nan).nanmean(1))
            found[f"other{ending}"] = to_numbers(credit.masked_fill(own, torch.nan).nanmean(1))
        return PartResult(found, arrays={"maps": maps, "classes": classes, "labels": labels})


def block_classes(labels: Tensor) -> Tensor:
    """Return b 5: the classes of the five images of each image's block; −1 where a block has fewer.

    >>> block_classes(torch.tensor([3, 1, 4, 1, 5, 9]))[[0, 5]]
    tensor([[ 3,  1,  4,  1,  5],
            [ 9, -1, -1, -1, -1]])
    """
    found = labels.new_full((len(labels), BLOCK), -1)
    for first in range(0, len(labels), BLOCK):
        block = labels[first : first + BLOCK]
        found[first : first + BLOCK, : len(block)] = block
    return found


def _maps(part: ImagePart, method: Method, target: Tensor) -> Tensor:
    result = explain(part.net, part.x, target=target.to(part.x.device), method=method, seed=part.seed)
    return result.map.detach().float().cpu()


def _masks(note: Annotation) -> Tensor:
    """Return 4 h w: for each box, where boxes of its class are."""
    masks = torch.zeros(len(note.boxes), *note.size, dtype=torch.bool)
    for mask, box in zip(masks, note.boxes, strict=True):
        for same in note.of(box.label):
            left, top, right, bottom = map(round, same.edges)
            mask[top:bottom, left:right] = True
    return masks


def _class(part: ImagePart, label: str) -> int:
    return part.classifier.classes.index(label)


def _annotation(name: str, note: Annotation | None) -> Annotation:
    if note is None:
        raise ValueError(f"{name} has no boxes: take a data set whose objects are annotated.")
    return note


def _label(name: str, label: int | None) -> int:
    if label is None:
        raise ValueError(f"{name} has no label: take a data set whose classes are known.")
    return label
