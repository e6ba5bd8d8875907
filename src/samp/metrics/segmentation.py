"""A map as a segmentation: the pixels above a threshold, compared with the object.

The SAMP paper closes with this use of attributions: pixels from class labels alone. `segmentation` compares pixels with
pixels; `localisation` compares boxes, as weakly supervised localisation does (Zhou et al., CVPR 2016): the tight box
around the largest connected part, correct if its IoU with a box of the object is at least one half.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import torch
from torch import Tensor

from samp.annotations.boxes import Box, overlap, tight_box
from samp.checks import check_share
from samp.devices import widen
from samp.extras import install_command
from samp.metrics.ground_truth import Labels, Truth, ground_truths, stack_masks
from samp.metrics.maps import Maps, pixel_maps

Threshold = Callable[[Tensor], Tensor]  # maps (b h w) → the pixels to keep (b h w, bool)
EQUAL = 1e-9  # cuts whose criterion differs by less are equal, since rounding differs by device


@dataclass(frozen=True)
class OfMaximum:
    """Keeps the pixels with at least `share` of the map's maximum; none of a map that is nowhere above 0.

    CAM's own rule, with its 20 % (Zhou et al., CVPR 2016).

    >>> OfMaximum(0.5)(torch.tensor([[[4.0, 2.0, 1.0, -4.0]]])).int().tolist()
    [[[1, 1, 0, 0]]]
    """

    share: float = 0.2

    def __post_init__(self) -> None:
        check_share(self.share, "maximum")

    def __call__(self, maps: Tensor) -> Tensor:
        highest = maps.amax((1, 2), keepdim=True)
        return (maps >= self.share * highest) & (highest > 0)


@dataclass(frozen=True)
class TopPixels:
    """Keeps exactly the ⌈`share`·pixels⌉ highest pixels, the first of equal ones.

    >>> TopPixels(0.5)(torch.tensor([[[1.0, 3.0, 1.0, 1.0]]])).int().tolist()
    [[[1, 1, 0, 0]]]
    """

    share: float = 0.25

    def __post_init__(self) -> None:
        check_share(self.share, "pixels")

    def __call__(self, maps: Tensor) -> Tensor:
        flat = maps.flatten(1)
        order = flat.argsort(dim=1, descending=True, stable=True)
        kept = order[:, : math.ceil(round(self.share * flat.shape[1], 6))]
        return torch.zeros_like(flat, dtype=torch.bool).scatter_(1, kept, True).view_as(maps)


@dataclass(frozen=True)
class Otsu:
    """Keeps the upper of the two classes of pixels that Otsu's criterion separates best (IEEE SMC, 1979).

    The cut maximises w₀ w₁ (μ₀ − μ₁)² over all cuts between two values of the map itself, not of a histogram; of equal
    ones the lowest. A constant map has no two classes: nothing is kept.

    >>> Otsu()(torch.tensor([[[0.0, 0.1, 0.9, 1.0]]])).int().tolist()
    [[[0, 0, 1, 1]]]
    """

    def __call__(self, maps: Tensor) -> Tensor:
        flat = maps.flatten(1)
        values = flat.sort(1).values  # b n
        if values.shape[1] == 1:
            return torch.zeros_like(maps, dtype=torch.bool)
        criterion = _otsu_criterion(values)
        best = criterion.amax(1, keepdim=True)
        place = (criterion >= best * (1 - EQUAL)).byte().argmax(1, keepdim=True)  # the first
        return ((flat >= values.gather(1, place + 1)) & (best > 0)).view_as(maps)


def _otsu_criterion(values: Tensor) -> Tensor:
    """b n−1: Otsu's criterion for a cut behind each of the sorted values but the last; −1 between equal values."""
    wide = widen(values)
    span = wide[:, -1:] - wide[:, :1]
    unit = (wide - wide[:, :1]) / span.where(span > 0, 1)  # the criterion of any other scale has the same maximum
    below = torch.arange(1, unit.shape[1], device=unit.device)
    above = unit.shape[1] - below
    sums = unit.cumsum(1)
    gap = (sums[:, -1:] - sums[:, :-1]) / above - sums[:, :-1] / below
    return (below * above * gap**2).masked_fill(values[:, 1:] <= values[:, :-1], -1)


CAM_RULE = OfMaximum()


@dataclass(frozen=True, eq=False)
class Segmentation:
    """The pixels that a threshold keeps of each map, and their overlap with the object.

    >>> segmentation(torch.eye(2)[None], torch.ones(1, 2, 2).bool(), threshold=TopPixels(0.25))
    Segmentation(kept=tensor([[[ True, False],
             [False, False]]]), iou=tensor([0.2500]), threshold='TopPixels(share=0.25)')
    """

    PER_SAMPLE: ClassVar = ("iou",)
    kept: Tensor
    """b h w: the pixels kept."""
    iou: Tensor
    """b: intersection over union with the object; NaN where the sample has none."""
    threshold: str


def segmentation(maps: Maps, truth: Truth, labels: Labels = None, *, threshold: Threshold = CAM_RULE) -> Segmentation:
    """Return the intersection over union of each thresholded map with its object (masks, boxes or annotations).

    >>> maps = torch.tensor([[[0.0, 1.0, 1.0, 0.0]]])
    >>> segmentation(maps, [[Box("dog", 1, 0, 4, 1)]]).iou
    tensor([0.6667])
    """
    heat = pixel_maps(maps)
    masks = stack_masks(ground_truths(truth, heat, labels), heat)
    kept = _apply_threshold(threshold, heat)
    common, either = (pixels.flatten(1).sum(1) for pixels in (kept & masks, kept | masks))
    iou = (common / either).where(masks.flatten(1).any(1), torch.nan)
    return Segmentation(kept, iou, repr(threshold))


@dataclass(frozen=True, eq=False)
class Localisation:
    """The box around the largest part of each map, and its overlap with the object.

    >>> localisation(torch.zeros(1, 2, 2), torch.ones(1, 2, 2).bool())
    Localisation(boxes=(None,), iou=tensor([0.]), threshold='OfMaximum(share=0.2)')
    """

    PER_SAMPLE: ClassVar = ("iou",)
    boxes: tuple[Box | None, ...]
    """None where the threshold kept nothing."""
    iou: Tensor
    """b: the largest IoU with a box of the object; NaN where the sample has none."""
    threshold: str

    def correct(self, least: float = 0.5) -> Tensor:
        """b: whether the IoU is at least this.

        >>> Localisation((), torch.tensor([0.5, 0.4, torch.nan]), "").correct()
        tensor([ True, False, False])
        """
        return self.iou >= least


def localisation(maps: Maps, truth: Truth, labels: Labels = None, *, threshold: Threshold = CAM_RULE) -> Localisation:
    """Compare the box around the largest connected part of each thresholded map with the boxes of its object.

    A mask counts as the box around it.

    >>> maps = torch.tensor([[[0.0, 1.0, 1.0, 0.0, 1.0]]])
    >>> result = localisation(maps, [[Box("dog", 1, 0, 4, 1)]])
    >>> result.boxes[0].right, result.iou
    (3, tensor([0.6667]))
    """
    heat = pixel_maps(maps)
    objects = ground_truths(truth, heat, labels)
    boxes = tuple(tight_box(largest_part(kept)) for kept in _apply_threshold(threshold, heat).cpu())
    scores = [_best_overlap(box, truth.boxes) for box, truth in zip(boxes, objects, strict=True)]
    return Localisation(boxes, torch.tensor(scores), repr(threshold))


def largest_part(mask: Tensor) -> Tensor:
    """h w: the largest of a mask's connected parts, pixels touching by side or corner; the first of equal ones.

    >>> largest_part(torch.tensor([[1, 0, 1], [0, 0, 1]]).bool()).int().tolist()
    [[0, 0, 1], [0, 0, 1]]
    """
    numbered, count = _import_ndimage().label(mask.cpu().numpy(), structure=[[1, 1, 1]] * 3)
    if count < 2:
        return mask
    parts = torch.as_tensor(numbered)
    sizes = parts.flatten().bincount()
    sizes[0] = 0  # the background
    return (parts == sizes.argmax()).to(mask.device)


def _apply_threshold(threshold: object, heat: Tensor) -> Tensor:
    """b h w: the pixels that a threshold keeps; raise TypeError if it is no threshold."""
    if not callable(threshold) or isinstance(threshold, type):
        raise TypeError(f"a threshold is an object such as OfMaximum(0.2) or Otsu(), not {threshold!r}.")
    kept = threshold(heat)
    if not isinstance(kept, Tensor) or kept.dtype != torch.bool or kept.shape != heat.shape:
        came = f"{kept.dtype} of shape {tuple(kept.shape)}" if isinstance(kept, Tensor) else type(kept).__name__
        raise TypeError(
            f"{threshold!r} gave {came}: a threshold gives booleans of the maps' shape {tuple(heat.shape)}, "
            "True where a pixel is kept."
        )
    return kept


def _best_overlap(box: Box | None, truth: tuple[Box, ...]) -> float:
    if not truth:
        return math.nan
    return max(overlap(box, one) for one in truth) if box else 0.0


def _import_ndimage() -> Any:
    try:
        return import_module("scipy.ndimage")
    except ImportError as error:
        message = f"connected parts are found by SciPy, which is not installed: {install_command('metrics')}."
        raise ImportError(message) from error
