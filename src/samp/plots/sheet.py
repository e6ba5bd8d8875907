"""The sheet of one explanation: photo, map, overlay and score curves in one picture, drawn with Pillow alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from PIL import Image, ImageDraw

from samp.attribution import Attribution
from samp.plots.axes import pad_limits, round_ticks
from samp.plots.fonts import BUILT_IN, draw_text, fonts_for, make_legible, open_font, text_width, warn_of_missing
from samp.plots.palette import HEAT, INK, PAPER, QUIET, RULE, WALKS, rgb

PANEL, GAP, TEXT = 336, 24, 16  # pixels: side of a panel, space between panels, height of letters
WALK_LABELS = {"to_baseline": "to the baseline", "to_image": "to the image"}
FULL_WHITE_QUANTILE = 0.99  # the share of pixels below full white, which the captions state


def sheet(photo: Image.Image, result: Attribution, title: str, notes: Sequence[str], sample: int = 0) -> Image.Image:
    """Return the picture of one sample: title, panels with captions, notes. Score curves only if the method walks.

    >>> import samp
    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 2)).eval()
    >>> result = samp.explain(net, torch.rand(1, 3, 4, 4))
    >>> sheet(Image.new("RGB", (4, 4)), result, "title", ["a note"]).size
    (1464, 468)
    """
    pictures = panels(photo, result, sample)
    width = len(pictures) * (PANEL + GAP) + GAP
    large, small = (fonts_for(text) for text in (title, " ".join(notes)))
    warn_of_missing(" ".join([title, *notes]), (*large, *small))
    head = _wrap_lines(title, width - 2 * GAP, large, TEXT + 4)
    lines = [line for note in notes for line in _wrap_lines(note, width - 2 * GAP, small, TEXT - 2)]
    top = GAP + len(head) * (TEXT + 8)
    page = Image.new("RGB", (width, top + PANEL + GAP + (2 + len(lines)) * (TEXT + 4)), PAPER)
    pen = ImageDraw.Draw(page)
    for number, line in enumerate(head):
        draw_text(pen, (GAP, GAP // 2 + number * (TEXT + 8)), line, INK, large, TEXT + 4)
    for number, (panel, caption) in enumerate(pictures):
        left = GAP + number * (PANEL + GAP)
        page.paste(panel, (left, top))
        pen.text((left, top + PANEL + 4), caption, INK, open_font(BUILT_IN, TEXT))
    for number, line in enumerate(lines):
        draw_text(pen, (GAP, top + PANEL + 8 + (number + 1) * (TEXT + 4)), line, QUIET, small, TEXT - 2)
    return page


def stack_sheets(sheets: Sequence[Image.Image]) -> Image.Image:
    """Return the sheets of one photo, one below the other on white.

    >>> stack_sheets([Image.new("RGB", (4, 2)), Image.new("RGB", (4, 3))]).size
    (4, 5)
    """
    whole = Image.new("RGB", (max(one.width for one in sheets), sum(one.height for one in sheets)), PAPER)
    top = 0
    for one in sheets:
        whole.paste(one, (0, top))
        top += one.height
    return whole


def panels(photo: Image.Image, result: Attribution, sample: int = 0) -> list[tuple[Image.Image, str]]:
    """Return the pictures of one sample with their captions; score curves only if the method walks.

    >>> import samp
    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 2)).eval()
    >>> result = samp.explain(net, torch.rand(1, 3, 4, 4), method="gradientxinput")
    >>> [caption for _, caption in panels(Image.new("RGB", (4, 4)), result)]
    ['what the model is shown', 'credit (white: top 1%; none or negative: black)', 'credit over the photo']
    """
    shade = brightness(result.map[sample])
    pictures: list[tuple[Image.Image, str]] = [
        (_enlarge(photo), "what the model is shown"),
        (_enlarge(Image.fromarray((255 * shade).astype(np.uint8)).convert("RGB")), f"credit ({_scale_text()})"),
        (overlay(photo, shade), "credit over the photo"),
    ]
    if result.scores:
        walks: dict[str, torch.Tensor] = {name: scores[sample] for name, scores in result.scores.items()}
        pictures.append((curves(walks), "score along the walks"))
    return pictures


def brightness(credit: torch.Tensor) -> np.ndarray:
    """Return h w in [0, 1]: positive credit, 1 from its 99th percentile on; negative credit and maps of zeros are 0.

    >>> brightness(torch.tensor([[-1.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    positive = credit.detach().double().clamp(min=0).cpu().numpy()
    full = float(np.quantile(positive, FULL_WHITE_QUANTILE)) or float(positive.max())
    return np.clip(positive / full, 0, 1) if full > 0 else positive


def overlay(photo: Image.Image, shade: np.ndarray) -> Image.Image:
    """Return a panel with the photo in dim grey and the credit (`shade`, h w in [0, 1]) glowing on it."""
    grey = np.asarray(photo.convert("L"), dtype=float)[..., None].repeat(3, 2) * 0.45
    glow = _heat(shade)
    alpha = np.sqrt(shade)[..., None]
    return _enlarge(Image.fromarray((grey * (1 - alpha) + glow * alpha).astype(np.uint8)))


def curves(scores: Mapping[str, torch.Tensor]) -> Image.Image:
    """Return a panel with the score against the share of the walk, one labelled line per direction."""
    scale = 2  # drawn large and shrunk, for smooth lines
    image = Image.new("RGB", (PANEL * scale, PANEL * scale), PAPER)
    pen, small = ImageDraw.Draw(image), open_font(BUILT_IN, (TEXT - 3) * scale)
    lines = {name: [v for v in line.double().cpu().tolist() if math.isfinite(v)] for name, line in scores.items()}
    low, high = pad_limits([v for line in lines.values() for v in line], 0.05)
    left, right, top, bottom = 48 * scale, (PANEL - 6) * scale, 28 * scale, (PANEL - 28) * scale

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
    return image.resize((PANEL, PANEL), Image.Resampling.LANCZOS)


def _wrap_lines(text: str, width: int, fonts: tuple[str, ...], size: int) -> list[str]:
    """Return the text in lines of at most `width` pixels, broken between words, in characters that the fonts have."""
    lines = [""]
    for word in make_legible(text, fonts).split():
        longer = f"{lines[-1]} {word}".strip()
        if text_width(longer, fonts, size) <= width or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _scale_text() -> str:
    return f"white: top {1 - FULL_WHITE_QUANTILE:.0%}; none or negative: black"


def _heat(shade: np.ndarray) -> np.ndarray:
    """Return h w 3: the colours of `HEAT` for shades in [0, 1]."""
    stops = np.linspace(0, 1, len(HEAT))
    return np.stack([np.interp(shade, stops, channel) for channel in zip(*map(rgb, HEAT), strict=True)], -1)


def _enlarge(image: Image.Image) -> Image.Image:
    """Return the image scaled to fit a panel; the pixels of a small one stay visible as squares."""
    fit = PANEL / max(image.size)
    filtering = Image.Resampling.NEAREST if fit >= 4 else Image.Resampling.BICUBIC
    big = image.convert("RGB").resize((max(round(image.width * fit), 1), max(round(image.height * fit), 1)), filtering)
    panel = Image.new("RGB", (PANEL, PANEL), PAPER)
    panel.paste(big, ((PANEL - big.width) // 2, (PANEL - big.height) // 2))
    return panel
