"""XRAI: regions of the image in the order of their attribution density (Kapishnikov et al., ICCV 2019)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from numbers import Integral
from typing import ClassVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from samp.attribution import Attribution
from samp.baselines import InputBaselines, wrap_tensors
from samp.checks import check_counts, check_numbers
from samp.engine.driver import RunOptions
from samp.engine.problem import Problem
from samp.extras import install_command
from samp.methods._common import (
    MethodInfo,
    ScoreName,
    check_score,
    make_attribution,
    require_image,
    spread_over_channels,
    with_score,
)
from samp.methods.ig import IG
from samp.progress import open_bar

Floats = NDArray[np.float64]
Masks = NDArray[np.bool_]


@dataclass(frozen=True)
class XRAI:
    """Grow a region by the segment that adds the most attribution per new pixel; a pixel's value is that density.

    The attribution is IG averaged over a black and a white baseline, its largest channel per pixel. Segments come from
    Felzenszwalb's algorithm (scikit-image) at six `scales`, on the image stretched to −1 … 1 and to `side` pixels, and
    are dilated by `dilation` pixels to include their edges. From the authors' code: scales, `sigma`, `dilation`, the
    two baselines, 100 `steps`, `side`, the channel maximum, and that segments which add fewer than `min_added` pixels
    are skipped. That code has `min_size` 150; 20, as we recall the paper, was not checked against it.

    - `area`: stop when this part of the image is covered; all remaining pixels get their own mean.
    - `baselines`: a tuple of any number, each as in `IG`. `None` is each image's smallest and largest value: black and
      white also for nets that are fed normalised pixels (as in the authors' code).
    - `score`: "logit" explains the model's output for the class, "probability" its soft-max.

    >>> _ = import_module("pytest").importorskip("skimage")
    >>> import samp
    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(256, 5)).eval()
    >>> samp.explain(net, torch.rand(1, 1, 16, 16), method=XRAI(steps=5, side=32, min_added=1)).map.shape
    torch.Size([1, 16, 16])
    """

    about: ClassVar[MethodInfo] = MethodInfo(
        "Kapishnikov et al., ICCV 2019", "202 gradients", "no", "ours, over scikit-image", "BSD-3-Clause"
    )
    steps: int = 100
    scales: tuple[float, ...] = (50, 100, 150, 250, 500, 1200)
    sigma: float = 0.8
    min_size: int = 20
    dilation: int = 5
    min_added: int = 50
    area: float = 1.0
    side: int = 224
    baselines: InputBaselines | tuple[InputBaselines, ...] | None = None
    score: ScoreName = "logit"

    def __post_init__(self) -> None:
        check_counts(steps=self.steps, min_size=self.min_size, min_added=self.min_added, side=self.side)
        if not (isinstance(self.dilation, Integral) and self.dilation >= 0):
            raise ValueError(f"dilation is a whole number of at least 0, not {self.dilation!r}.")
        check_numbers(area=self.area, sigma=self.sigma)
        check_score(self.score)
        if not 0 <= self.sigma < math.inf:
            raise ValueError(f"sigma is the width of a blur in pixels, at least 0, not {self.sigma}.")
        if not 0 < self.area <= 1:
            raise ValueError(f"area is a part of the image, above 0 and up to 1, not {self.area}.")
        if not isinstance(self.scales, tuple | list) or not self.scales:
            raise ValueError(f"scales are one number or more, in a tuple, not {self.scales!r}.")
        for scale in self.scales:
            check_numbers(scale=scale)
        given = self.baselines if isinstance(self.baselines, tuple | None) else (self.baselines,)
        object.__setattr__(self, "baselines", wrap_tensors(given))

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return the region densities of every sample: IG, then regions on the CPU; needs scikit-image."""
        image = require_image(problem, self)
        _require_skimage()
        problem = with_score(problem, self.score, self, run)
        pixels = problem.unflatten(problem.x)[0].movedim(1, -1).cpu().double().numpy()  # b h w c
        by_pixel = replace(problem, levels=None)  # regions are ranked by pixels, whatever the features are
        runs = [
            IG(self.steps, baseline=baseline).attribute(by_pixel, replace(run, tape_bytes=0))
            for baseline in self._baselines(image)
        ]
        ig = torch.stack([torch.as_tensor(r.values) for r in runs]).mean(0)  # b c h w
        density = ig.amax(1).cpu().double().numpy()  # b h w
        maps = []
        with open_bar(len(pixels), "image", run.progress) as bar:
            for attribution, one in zip(density, pixels, strict=True):
                maps.append(grow_regions(attribution, segments(self, one), self))
                bar.update()
        stacked = torch.from_numpy(np.stack(maps)).to(problem.x)
        return make_attribution(
            problem, spread_over_channels(problem, stacked), self, run, gradients=len(runs) * (self.steps + 1)
        )

    def _baselines(self, image: Tensor) -> tuple[InputBaselines, ...]:
        if self.baselines is not None:
            return cast(tuple[InputBaselines, ...], self.baselines)  # `__post_init__` made it a tuple
        flat = image.flatten(1)
        return tuple(end.view(-1, 1, 1, 1).expand_as(image) for end in (flat.amin(1), flat.amax(1)))


METHODS = {"xrai": XRAI()}


def grow_regions(attribution: Floats, masks: Masks, method: XRAI) -> Floats:
    """Return for each pixel (h w) the attribution density of the segment that added it.

    The sum and count of what each mask would add are updated by the pixels covered last, so that all steps together
    read every mask's pixels once.
    """
    flat, regions = attribution.ravel(), masks.reshape(len(masks), -1)
    covered = np.zeros(flat.shape, bool)
    values = np.full(flat.shape, np.nan)
    sums, counts = regions @ flat, regions.sum(1)
    while covered.mean() <= method.area and (counts >= method.min_added).any():
        gains = np.where(counts >= method.min_added, sums / np.maximum(counts, 1), -np.inf)
        added = regions[gains.argmax()] & ~covered
        values[added] = flat[added].mean()
        covered |= added
        sums, counts = sums - regions[:, added] @ flat[added], counts - regions[:, added].sum(1)
    if not covered.all():
        values[~covered] = flat[~covered].mean()
    return values.reshape(attribution.shape)


def segments(method: XRAI, image: Floats) -> Masks:
    """Return the dilated segments of all scales of one h w c image (k h w), without duplicates."""
    found: dict[bytes, Masks] = {}
    for labels in _labels(method, image):
        for mask in _dilate(labels, method.dilation):
            found.setdefault(np.packbits(mask).tobytes(), mask)
    return np.stack(list(found.values()))


def _dilate(labels: NDArray[np.int64], radius: int) -> Iterator[Masks]:
    """Yield the mask (h w) of each segment, dilated by a disk; only the part of the image in reach is computed."""
    morphology, boxes = import_module("skimage.morphology"), import_module("scipy.ndimage").find_objects(labels + 1)
    for label, box in enumerate(boxes):
        if box is not None:  # a small segment may be lost where the image is enlarged to `side` pixels
            reach = tuple(slice(max(axis.start - radius, 0), axis.stop + radius) for axis in box)
            mask = np.zeros(labels.shape, bool)
            mask[reach] = morphology.dilation(labels[reach] == label, footprint=morphology.disk(radius))
            yield mask


def _labels(method: XRAI, image: Floats) -> Iterator[NDArray[np.int64]]:
    """Yield the segment numbers (h w) at each scale, found at `side` × `side` pixels, as published scales assume."""
    felzenszwalb = import_module("skimage.segmentation").felzenszwalb
    resize = import_module("skimage.transform").resize
    reach = np.ptp(image)
    stretched = (image - image.min()) / (reach or 1) * 2 - 1
    size = (method.side, method.side)
    square = resize(stretched, size, order=3, mode="constant", preserve_range=True, anti_aliasing=True)
    for scale in method.scales:
        labels = felzenszwalb(square, scale=scale, sigma=method.sigma, min_size=method.min_size)
        back = resize(labels, image.shape[:2], order=0, mode="constant", preserve_range=True, anti_aliasing=False)
        yield back.astype(np.int64)


def _require_skimage() -> None:
    """Raise ImportError unless scikit-image is installed."""
    try:
        import_module("skimage")
    except ImportError as error:
        raise ImportError(f"XRAI needs scikit-image, which is not installed: {install_command('compare')}.") from error
