"""The region of a map outlined on the photo, as a figure of its own or in a grid of methods."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from samp.attribution import Attribution
from samp.plots.answer_rows import region_sentence
from samp.plots.maps import SIDE
from samp.plots.page import Panel, fit_height, frame_axes, make_figure
from samp.plots.palette import INK, PAPER
from samp.plots.reading import Array, CreditMap, Photo, check_photo_fits, credit_of, describe_result, photo_of
from samp.plots.region_view import dim_photo
from samp.region import HALF, Region, find_region, resolution_of, smoothing_width

LINES = ((2.2, INK), (0.9, PAPER))  # points: the light line of an outline lies on a dark one


@dataclass(frozen=True)
class Outline:
    """The smallest area that holds `share` of the positive credit outlined on the photo, which is dim outside of it.

    `sigma` is that of the Gaussian that smooths the credit, in pixels; 1/40 of the longer side if None.

    >>> Outline().rule()
    'outlined is the smallest area that holds half of the smoothed positive credit'
    """

    share: float = HALF
    sigma: float | None = None

    def region(self, credit: Array) -> Region:
        """The region of a map (h w)."""
        return find_region(torch.from_numpy(credit), self.share, self.sigma)

    def draw(self, axes: Axes, credit: Array, photo: Array) -> AxesImage:
        """The photo (h w 3) with the outline, in these axes."""
        check_photo_fits(photo, credit)
        region = self.region(credit)
        mask = region.mask.numpy()
        image = axes.imshow(photo * mask[..., None] + dim_photo(photo, region) * ~mask[..., None])
        if not region.is_empty and not mask.all() and min(mask.shape) > 1:
            for width, colour in LINES:
                axes.contour(region.smooth.numpy(), [region.threshold], colors=[colour], linewidths=[width])
        return image

    def words(self, credit: Array) -> str:
        """How large the region of this map is."""
        region = self.region(credit)
        return f"{region_sentence(region)} Credit is smoothed by a Gaussian of {region.sigma:.3g} pixels."

    def rule(self) -> str:
        """What is outlined on any photo."""
        share = "half" if self.share == HALF else f"{self.share:.0%}"
        return f"outlined is the smallest area that holds {share} of the smoothed positive credit"


def outline(
    credit: CreditMap,
    photo: Photo,
    *,
    sample: int = 0,
    share: float = HALF,
    sigma: float | None = None,
    title: str = "",
) -> Figure:
    """Draw the photo in colour with the smallest area outlined that holds this share of the smoothed positive credit.

    `sigma` is that of the smoothing in pixels; if None, 1/40 of the longer side, and at least as wide as the resolution
    of a result that states one. `credit` and `photo` are as for `overlay`.

    >>> import numpy as np
    >>> figure = outline(np.eye(4), np.zeros((4, 4, 3)), sigma=0)
    >>> figure.texts[-1].get_text().replace(chr(10), " ")
    'Outlined: half of the positive credit, on 12% of the picture. Credit is smoothed by a Gaussian of 0 pixels.'
    """
    values, picture = credit_of(credit, sample), photo_of(photo, sample)
    if sigma is None and isinstance(credit, Attribution):
        height, width = values.shape
        sigma = smoothing_width(height, width, resolution_of(credit, sample))
    shade = Outline(share, sigma)

    def draw(axes: Axes) -> None:
        shade.draw(axes, values, picture.pixels)
        frame_axes(axes)

    panel = Panel(0, 0, SIDE, fit_height(SIDE, values.shape), draw)
    return make_figure([panel], [describe_result(credit, sample), shade.words(values), picture.words], title)
