"""How much of a map's credit lies on the object: AUROC, energy, and precision of the pixels with the most credit.

All three depend on one sample alone, and on the order (AUROC, precision) or the shares (energy) of its credit, never on
its scale. NaN where the object is not in the picture. AUROC and precision are NaN also where it fills the picture: any
map would do there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from samp.devices import widen
from samp.metrics.correlations import mean_ranks
from samp.metrics.ground_truth import Labels, Truth, ground_truths, stack_masks
from samp.metrics.maps import Maps, pixel_maps


def auroc(maps: Maps, truth: Truth, labels: Labels = None) -> Tensor:
    """b: the area under the ROC curve of a pixel's credit as a predictor of lying on the object; higher is better.

    That is the chance that a random pixel of the object has more credit than a random one beside it, equal credit
    counting half: 1 if every pixel of the object is above all others, ½ for a constant or a random map.

    >>> mask = torch.tensor([[[True, True, False, False]]])
    >>> auroc(torch.tensor([[[4.0, 2.0, 2.0, -1.0]]]), mask)
    tensor([0.8750], dtype=torch.float64)
    """
    heat, inside = _flat_maps_and_masks(maps, truth, labels)
    count, others = inside.sum(1), (~inside).sum(1)
    ranks = widen(mean_ranks(heat)).masked_fill(~inside, 0).sum(1)
    above = ranks - widen(count) * (count + 1) / 2  # pairs won, Mann and Whitney's U
    return (above / (widen(count) * others)).where((count > 0) & (others > 0), torch.nan)


@dataclass(frozen=True, eq=False)
class Energy:
    """What `energy` returns.

    >>> energy(torch.tensor([[[3.0, 1.0, -9.0, 0.0]]]), torch.tensor([[[True, False, False, False]]])).lift
    tensor([3.], dtype=torch.float64)
    """

    PER_SAMPLE: ClassVar = ("share", "lift")

    share: Tensor
    """b: positive credit on the object over all positive credit; NaN without positive credit, or without an object."""
    area: Tensor
    """b: the object's share of the picture."""

    @property
    def lift(self) -> Tensor:
        """b: the share of the credit over the share of the area; 1 for credit that is spread evenly."""
        return self.share / self.area


def energy(maps: Maps, truth: Truth, labels: Labels = None) -> Energy:
    """Return the share of the positive credit that lies on the object; higher is better.

    The energy-based pointing game of Wang et al. (Score-CAM, CVPR Workshops 2020), whose objects are bounding boxes; a
    mask counts by its own pixels. Negative credit is left out.

    >>> energy(torch.tensor([[[3.0, 1.0, -9.0, 0.0]]]), torch.tensor([[[True, False, False, False]]])).share
    tensor([0.7500], dtype=torch.float64)
    """
    heat, inside = _flat_maps_and_masks(maps, truth, labels)
    positive = widen(heat).clamp(min=0)
    positive = positive / positive.amax(1, keepdim=True)  # no sum overflows; NaN without positive credit
    share = positive.masked_fill(~inside, 0).sum(1) / positive.sum(1)
    return Energy(share.where(inside.any(1), torch.nan), widen(inside).mean(1))


def precision(maps: Maps, truth: Truth, labels: Labels = None) -> Tensor:
    """b: of the k pixels with the most credit, k being the size of the object, the share that lies on it.

    Where pixels of equal credit compete for the last places, the mean over all choices counts: a constant map gets the
    object's share of the picture.

    >>> mask = torch.tensor([[[True, True, False, False]]])
    >>> precision(torch.tensor([[[4.0, 2.0, 2.0, -1.0]]]), mask)
    tensor([0.7500], dtype=torch.float64)
    """
    heat, inside = _flat_maps_and_masks(maps, truth, labels)
    count = inside.sum(1, keepdim=True)
    last = heat.sort(1, descending=True).values.gather(1, (count - 1).clamp(min=0))  # the credit of the k-th pixel
    above, level = heat > last, heat == last
    places = count[:, 0] - above.sum(1)
    hits = widen((above & inside).sum(1)) + widen(places) * (level & inside).sum(1) / level.sum(1)
    known = (count[:, 0] > 0) & (count[:, 0] < heat.shape[1])
    return (hits / count[:, 0]).where(known, torch.nan)


def _flat_maps_and_masks(maps: Maps, truth: Truth, labels: Labels) -> tuple[Tensor, Tensor]:
    """b n each: the credit of the pixels, and which of them lie on the object."""
    heat = pixel_maps(maps)
    return heat.flatten(1), stack_masks(ground_truths(truth, heat, labels), heat).flatten(1)
