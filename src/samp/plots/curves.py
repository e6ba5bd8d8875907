"""The score along the walks as a panel, drawn with Pillow."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from PIL import Image, ImageDraw

from samp.plots.axes import pad_limits, round_ticks
from samp.plots.fonts import BUILT_IN, open_font
from samp.plots.palette import INK, PAPER, RULE, WALKS

WALK_LABELS = {"to_baseline": "to the baseline", "to_image": "to the image"}
LETTERS = 13  # pixels


def draw_curves(scores: Mapping[str, torch.Tensor], size: tuple[int, int]) -> Image.Image:
    """Return a panel (width, height) with the score against the share of the walk, one labelled line per direction.

    >>> draw_curves({"to_image": torch.tensor([0.0, 1.0])}, (300, 200)).size
    (300, 200)
    """
    scale = 2  # drawn large and shrunk, for smooth lines
    image = Image.new("RGB", (size[0] * scale, size[1] * scale), PAPER)
    pen, small = ImageDraw.Draw(image), open_font(BUILT_IN, LETTERS * scale)
    lines = {name: [v for v in line.double().cpu().tolist() if math.isfinite(v)] for name, line in scores.items()}
    low, high = pad_limits([v for line in lines.values() for v in line], 0.05)
    left, right, top, bottom = 40 * scale, (size[0] - 6) * scale, 28 * scale, (size[1] - 24) * scale

    def place(x: float, y: float) -> tuple[float, float]:
        return left + x * (right - left), bottom - (y - low) / (high - low) * (bottom - top)

    for tick in round_ticks(low, high, 4):
        pen.line([place(0, tick), place(1, tick)], RULE, scale)
        pen.text((left - 6 * scale, place(0, tick)[1]), f"{tick:g}", INK, small, anchor="rm")
    for share, anchor in ((0, "la"), (0.5, "ma"), (1, "ra")):
        pen.text((place(share, low)[0], bottom + 5 * scale), f"{share:.0%}", INK, small, anchor=anchor)
    for number, (name, line) in enumerate(lines.items()):
        colour = WALKS[name]
        pen.line([place(i / max(len(line) - 1, 1), v) for i, v in enumerate(line)], colour, 3 * scale, joint="curve")
        pen.text((left + number * (right - left) / 2, 4 * scale), WALK_LABELS[name], colour, small)
    return image.resize(size, Image.Resampling.LANCZOS)
