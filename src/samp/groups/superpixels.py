"""Superpixels: pieces of an image that look alike, found by scikit-image (extra `compare`)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib import import_module
from typing import Any
from warnings import warn

import numpy as np
import torch
from torch import Tensor

from samp.checks import check_counts, check_numbers
from samp.extras import install_command


@dataclass(frozen=True)
class Superpixels:
    """Each of about `count` superpixels of an image is one feature; each image of a batch has its own (SLIC).

    SLIC (Achanta et al., TPAMI 2012, by scikit-image) clusters pixels by place and colour, on the image stretched to
    0 … 1, so that normalised inputs are fine. More `compactness` makes them squarer (distances of colours
    are taken in Lab, from 0 to 100, where grey images are grey); `sigma` blurs the image first.
    Maps are level within a superpixel: its credit is spread evenly over its pixels, as none of them moved by itself.

    Needs scikit-image; `ids` raises ImportError without it, and ValueError for inputs that are not b c h w.

    >>> _ = import_module("pytest").importorskip("skimage")
    >>> import samp
    >>> image = torch.zeros(1, 3, 8, 8)
    >>> image[..., 4:] = 1
    >>> samp.Superpixels(4).ids(image)[0, 0].unique(dim=0).tolist()
    [[0, 0, 0, 0, 1, 1, 1, 1], [2, 2, 2, 2, 3, 3, 3, 3]]
    """

    count: int
    compactness: float = 10.0
    sigma: float = 0.0

    def __post_init__(self) -> None:
        check_counts(count=self.count)
        check_numbers(compactness=self.compactness, sigma=self.sigma)
        if not 0 < self.compactness < math.inf or not 0 <= self.sigma < math.inf:
            raise ValueError(
                f"compactness is above 0 and sigma at least 0, both finite, not {self.compactness} and {self.sigma}."
            )

    def ids(self, images: Tensor) -> Tensor:
        """Return the number of each element's superpixel, as `images` (b c h w) is laid out, on the CPU."""
        if images.ndim != 4:
            raise ValueError(
                f"{self!r} needs images of shape b c h w, but the input has {tuple(images.shape)}: pass Elements() or "
                "a mask."
            )
        # colours are compared in Lab, from 0 to 100, but channels that are no colours as they are, from 0 to 1
        compactness = self.compactness if images.shape[1] in (1, 3) else self.compactness / 100
        labels = cut_by_slic([as_colours(one) for one in stretch(images)], self.count, compactness, self.sigma)
        self._warn_of_one_piece(labels)
        return spread_labels(labels, images)

    def _warn_of_one_piece(self, labels: list[Any]) -> None:
        """Warn of an image in one piece: all of it would get the same credit."""
        whole = [number for number, one in enumerate(labels) if self.count > 1 and one.max() == 0]
        if whole:
            warn(
                f"SLIC found a single superpixel in image {whole[0]}, not about {self.count}: it is too noisy or too "
                "small to cut by colour, so all of it gets the same credit; raise sigma or compactness.",
                stacklevel=2,
            )


def cut_by_slic(pictures: list[Any], count: int, compactness: float = 10.0, sigma: float = 0.0) -> list[Any]:
    """Return SLIC's labels (h w, from 0) of each picture (h w c, 0 … 1); raise ImportError without scikit-image."""
    settings = {"n_segments": count, "compactness": compactness, "sigma": sigma, "start_label": 0, "channel_axis": -1}
    return [import_segmentation().slic(one, **settings) for one in pictures]


def quickshift_ids(images: Tensor) -> Tensor:
    """Return the superpixels of quickshift with the settings of LIME's published code, laid out as the images are."""
    quickshift = import_segmentation().quickshift
    settings = {"kernel_size": 4, "max_dist": 200, "ratio": 0.2}
    coloured = [as_colours(one) for one in stretch(images)]
    return spread_labels([quickshift(one, **settings, convert2lab=one.shape[2] == 3) for one in coloured], images)


def stretch(images: Tensor) -> list[Any]:
    """Return each image (h w c) with its values stretched to 0 … 1, whatever range the model is fed.

    >>> stretch(torch.tensor([[[[-2.0, 2.0]]]]))[0][0, :, 0].tolist()
    [0.0, 1.0]
    """
    pixels = images.detach().movedim(1, -1).cpu().double().numpy()
    return [(one - one.min()) / (np.ptp(one) or 1.0) for one in pixels]


def as_colours(image: Any) -> Any:
    """Return an image (h w c) of one channel as a grey one of three, and any other unchanged.

    >>> as_colours(np.ones((2, 2, 1))).shape, as_colours(np.ones((2, 2, 5))).shape
    ((2, 2, 3), (2, 2, 5))
    """
    return np.broadcast_to(image, (*image.shape[:2], 3)) if image.shape[2] == 1 else image


def import_segmentation() -> Any:
    """Return the module `skimage.segmentation`; raise ImportError if scikit-image is not installed."""
    try:
        return import_module("skimage.segmentation")
    except ImportError as error:
        message = f"superpixels are scikit-image's, which is not installed: {install_command('compare')}."
        raise ImportError(message) from error


def spread_labels(labels: list[Any], images: Tensor) -> Tensor:
    """Return labels (one h w per image) for every channel: b c h w."""
    return torch.from_numpy(np.stack(labels)).long()[:, None].expand(images.shape)
