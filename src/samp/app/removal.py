"""What the model says of a photo when a region that somebody brushed is removed."""

from __future__ import annotations

import base64
import binascii
import io
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from samp.app.pictures import draw_point
from samp.app.refusals import RefusedError
from samp.baselines import Blurred
from samp.models.answers import Guess, probabilities
from samp.models.prediction import ClassifiedPhoto, run_classifier

TOP = 5
FILLS = ("black", "blurred", "mean")


def read_mask(uri: object, size: tuple[int, int]) -> Tensor:
    """Return the mask (h w, bool; white is True) in a PNG in base64, or its data URI, scaled to this size (h, w).

    Raises RefusedError for anything else.
    """
    try:
        content = base64.b64decode(str(uri).rpartition(",")[2], validate=True)
        with Image.open(io.BytesIO(content), formats=("PNG",)) as file:
            if file.width * file.height > 4096 * 4096:
                raise RefusedError(413, "the mask is too large: send one of the size of the picture.")
            grey = _over_black(file)
            shown = grey.resize(size[::-1], Image.Resampling.NEAREST)
    except RefusedError:
        raise
    except (binascii.Error, OSError, SyntaxError, ValueError) as error:
        raise RefusedError(400, "the mask is no PNG in base64: white is removed, black is kept.") from error
    return torch.from_numpy(np.asarray(shown) >= 128)


def remove_region(classified: ClassifiedPhoto, mask: Tensor, fill: str) -> dict[str, Any]:
    """Return the picture without the region, and the model's answers before and after; runs the model once."""
    x = classified.x
    after = torch.where(mask.to(x.device), fill_values(classified, fill), x)
    outputs = torch.stack([classified.scores, run_classifier(classified.classifier, after)])
    known = probabilities(outputs)
    target = classified.targets[0]

    def guess(row: int, index: int) -> dict[str, Any]:
        chance = None if known is None else float(known[row, index])
        return describe_guess(Guess(classified.classifier.label(index), index, float(outputs[row, index]), chance))

    best = outputs[1].topk(min(TOP, outputs.shape[1])).indices.tolist()
    return {
        "picture": draw_point(after[0], classified.classifier),
        "before": guess(0, target),
        "after": guess(1, target),
        "top": [guess(1, index) for index in best],
        "share": float(mask.double().mean()),
    }


def fill_values(classified: ClassifiedPhoto, fill: str) -> Tensor:
    """Return what stands in place of removed pixels (1 c h w or 1 c 1 1): black, the blurred photo, or its mean."""
    x = classified.x
    if fill == "black":
        return classified.classifier.colour("black")(x)
    if fill == "blurred":
        return Blurred()(x)
    if fill == "mean":
        return x.mean((2, 3), keepdim=True)
    raise RefusedError(400, f"fill is {', '.join(FILLS[:-1])} or {FILLS[-1]}, not {fill!r}.")


def describe_guess(guess: Guess) -> dict[str, Any]:
    """Return a class with its score and probability for the page."""
    return {"index": guess.index, "label": guess.label, "score": guess.score, "probability": guess.probability}


def _over_black(file: Image.Image) -> Image.Image:
    """Return the picture in grey over black: what is transparent is not removed."""
    layered = file.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", layered.size, "black"), layered).convert("L")
