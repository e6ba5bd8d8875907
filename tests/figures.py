"""Looking at figures: what their pixels show, what their captions say, and a small result to draw."""

from __future__ import annotations

import io
from functools import cache

import numpy as np
import torch
from matplotlib.figure import Figure
from PIL import Image

import samp


@cache
def make_walk_result() -> samp.Attribution:
    """Two samples of 6×9 pixels, both directions, with their tapes."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(4 * 4 * 7, 3)
    )
    return samp.explain(net.eval(), torch.rand(2, 3, 6, 9), method=samp.SAMP(pixels_per_step=5), keep_points=True)


def pixels(figure: Figure) -> np.ndarray:
    """The figure as h w 3 in [0, 1]."""
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return np.asarray(Image.open(file).convert("RGB"), dtype=float) / 255


def axes_pixels(figure: Figure, axes: int = 0) -> np.ndarray:
    """What the pixels of one of its axes look like."""
    picture = pixels(figure)
    box = figure.axes[axes].get_window_extent()
    top, bottom = round(picture.shape[0] - box.y1), round(picture.shape[0] - box.y0)
    return picture[top + 2 : bottom - 2, round(box.x0) + 2 : round(box.x1) - 2]  # within the hairline


def caption(figure: Figure) -> str:
    return figure.texts[-1].get_text().replace("\n", " ")
