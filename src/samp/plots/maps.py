"""Figures of one map: in grey, in two colours, over the photo."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from samp.plots.page import GAP, SMALL, Panel, fit_height, frame_axes, make_figure
from samp.plots.palette import INK
from samp.plots.reading import Array, CreditMap, Photo, PhotoPixels, credit_of, describe_result, photo_of
from samp.plots.shades import Glow, Grey, Shade, Signed
from samp.plots.shading import FULL_WHITE_QUANTILE

SIDE, BAR, INSET = 3.6, 0.09, 0.15  # inches


def grey_map(
    credit: CreditMap, *, sample: int = 0, percentile: float = 100 * FULL_WHITE_QUANTILE, title: str = ""
) -> Figure:
    """Draw the map as in the paper: positive credit in grey, white from the percentile up (100 clips nothing).

    `credit` is a result or a map of shape h w, b h w or b c h w (channels are summed); `sample` picks one of a batch.

    >>> figure = grey_map(np.array([[0.0, 1.0], [2.0, -1.0]]), percentile=100)
    >>> figure.texts[-1].get_text().replace(chr(10), " ")
    'Grey is linear in credit: white from 2 (100th percentile; 0.0% of pixels clipped), black at 0 and below
    (25.0% negative).'
    """
    return _single(credit, sample, Grey(percentile), title)


def signed_map(
    credit: CreditMap, *, sample: int = 0, percentile: float = 100 * FULL_WHITE_QUANTILE, title: str = ""
) -> Figure:
    """Draw credit of both signs: orange for, blue against, white at exactly 0, the same limit on both sides.

    >>> signed_map(np.array([[-2.0, 1.0]]), percentile=100).axes[0].images[0].get_clim()
    (-2.0, 2.0)
    """
    return _single(credit, sample, Signed(percentile), title)


def overlay(
    credit: CreditMap, photo: Photo, *, sample: int = 0, percentile: float = 100 * FULL_WHITE_QUANTILE, title: str = ""
) -> Figure:
    """Draw positive credit as a glow over the model's input photo, which is shown in dim grey.

    `photo` is a PIL image, a `c h w` tensor (or a batch) or an `h w c` array, as large as the map. Numbers outside
    [0, 1], such as normalised inputs, are stretched from their own range, and the caption says so.

    >>> len(overlay(np.ones((4, 6)), np.zeros((4, 6, 3))).axes[0].images)
    2
    """
    return _single(credit, sample, Glow(percentile), title, photo_of(photo, sample))


def _single(given: CreditMap, sample: int, shade: Shade, title: str, photo: PhotoPixels | None = None) -> Figure:
    """One map with its colour bar."""
    credit = credit_of(given, sample)
    pixels, words = (photo.pixels, photo.words) if photo else (np.zeros((*credit.shape, 3)), "")
    drawn: list[AxesImage] = []

    def picture(axes: Axes) -> None:
        drawn.append(shade.draw(axes, credit, pixels))
        frame_axes(axes)

    height = fit_height(SIDE, credit.shape)
    panels = [
        Panel(0, 0, SIDE, height, picture),
        Panel(INSET, height + GAP, SIDE - 2 * INSET, BAR, lambda axes: _bar(axes, drawn[0], credit)),
    ]
    return make_figure(panels, [describe_result(given, sample), shade.words(credit), words], title, below=0.27)


def _bar(axes: Axes, image: AxesImage, credit: Array) -> None:
    """The colour bar; pointed ends mark credit beyond its limits."""
    low, high = image.get_clim()
    beyond = (bool(credit.min() < low and low < 0), bool(credit.max() > high))
    extend = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}[beyond]
    bar = axes.figure.colorbar(image, cax=axes, orientation="horizontal", extend=extend)
    bar.ax.tick_params(colors=INK, labelsize=SMALL, length=2, width=0.5, pad=2)
    bar.set_label("credit", size=SMALL, labelpad=1, color=INK)
