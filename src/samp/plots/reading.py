"""Reading the arguments of figures: credit as h w numbers, photos as h w 3 pixels in [0, 1], and words on both."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image
from torch import Tensor

from samp.attribution import Attribution, describe_walks
from samp.checks import check_real
from samp.groups import check_map_layout
from samp.result_words import name_sum

Array = np.ndarray[Any, np.dtype[Any]]
CreditMap = Attribution | Tensor | Array
Photo = Image.Image | Tensor | Array
FULL = {"uint8": 255, "uint16": 65535}  # white, in types whose whole numbers are taken for brightness


@dataclass(frozen=True, eq=False)
class PhotoPixels:
    """The pixels of a photo, and how they were scaled, in words (empty if they were not)."""

    pixels: Array  # h w 3, in [0, 1]
    words: str = ""


def credit_of(given: CreditMap, sample: int = 0) -> Array:
    """The map of one sample, h w, in float64; channels of a `b c h w` array are summed, as in `Attribution.map`.

    >>> import torch
    >>> credit_of(torch.ones(2, 3, 4, 5)).shape, credit_of(np.ones((6, 7))).shape
    ((4, 5), (6, 7))
    """
    credit = as_float_array(given.map if isinstance(given, Attribution) else given)
    check_map_layout(credit.shape)
    credit = credit.sum(1) if credit.ndim == 4 else credit
    if credit.ndim == 2 and not isinstance(given, Attribution):
        credit = credit[None]
    if credit.ndim != 3 or not credit.size:
        raise ValueError(
            f"a map has shape h w, b h w or b c h w, not {credit.shape}: figures show images; "
            "for other inputs see values or group_values."
        )
    if not -len(credit) <= sample < len(credit):
        raise IndexError(f"there is no sample {sample}: the maps are of {len(credit)}, counted from 0.")
    return check_finite(credit[sample], "the map")


def samples_of(given: CreditMap) -> int:
    """The number of samples that have maps here."""
    shape = given.map.shape if isinstance(given, Attribution) else as_float_array(given).shape
    return shape[0] if len(shape) > 2 else 1


def describe_result(given: CreditMap, sample: int = 0) -> str:
    """Method, class, residual, number of walks, resolution and cost of one sample as a sentence; empty for a bare map.

    >>> import samp, torch
    >>> describe_result(samp.explain(torch.nn.Linear(4, 2).eval(), torch.rand(1, 4), target=1, method="random"))
    'RandomMap(); class 1; no residual: this credit is not meant to sum to the score; no model calls.'
    """
    if not isinstance(given, Attribution):
        return ""
    target = given.details.get("target")
    parts = [given.method]
    if isinstance(target, list):
        parts.append(f"class {target[sample]}")
    if isinstance(target, dict):
        parts.append(f"class {target['of'][sample]} rather than {target['against'][sample]}")
    parts += [_residual_words(given, sample), describe_walks(given, sample), cost_words(given, sample)]
    return "; ".join(filter(None, parts)) + "."


def cost_words(result: Attribution, sample: int = 0) -> str:
    """The number of model calls spent on a sample, in words."""
    counts = {"gradient": int(result.gradients[sample]), "forward": result.details.get("forwards") or 0}
    spent = [f"{count:,} {what}{'s' * (count != 1)}" for what, count in counts.items() if count]
    return ", ".join(spent) or "no model calls"


def which_walk_words(result: Attribution) -> str:
    """Which of several walks the curves and points of a result are those of, in words; empty if there is one."""
    walks = result.details.get("walks") or 1
    return f"Score and points are those of the first of {walks} walks." if walks > 1 else ""


def photo_of(given: Photo, sample: int = 0) -> PhotoPixels:
    """The pixels of a PIL image, a `c h w` tensor (or one of a batch) or an `h w c` array.

    Bytes and 16-bit integers are divided by their largest value. Other numbers are used unchanged if all lie in [0, 1],
    else stretched to it from their own range, which `words` tells.

    >>> import torch
    >>> photo_of(torch.tensor([-1.0, 3.0]).view(1, 1, 2)).words
    'Photo stretched from [−1, 3] to [0, 1].'
    """
    if isinstance(given, Image.Image):
        return _picture_of_image(given)
    if not isinstance(given, Tensor | np.ndarray):
        raise TypeError(
            f"a photo is a PIL image, a tensor or an array, not {type(given).__name__}: samp.images.read reads a file."
        )
    channels_last = _channels_last(given, sample)
    if channels_last.ndim != 3 or channels_last.shape[2] not in (1, 3) or not channels_last.size:
        raise ValueError(
            f"a photo has 1 or 3 channels: a tensor c h w or an array h w c (or h w), not {tuple(given.shape)}."
        )
    pixels, words = _scale_to_unit(check_finite(channels_last, "the photo"), str(given.dtype).removeprefix("torch."))
    return PhotoPixels(np.broadcast_to(pixels, (*pixels.shape[:2], 3)), words)


def stretch_to_unit(values: Array) -> tuple[Array, str]:
    """The values stretched from their own range to [0, 1], and a description of that.

    >>> stretch_to_unit(np.array([2.0, 4.0]))
    (array([0., 1.]), 'stretched from [2, 4] to [0, 1]')
    """
    low, high = float(values.min()), float(values.max())
    span = high - low
    return (values - low) / span if span else np.full_like(values, 0.5), (
        f"stretched from [{format_number(low)}, {format_number(high)}] to [0, 1]"
    )


def as_float_array(values: object) -> Array:
    """Return a tensor of any device and precision, or anything like an array, as a float64 array."""
    if isinstance(values, Tensor):
        check_real(values, "the tensor")
        return values.detach().cpu().double().numpy()
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"numbers in a tensor or an array are needed, not {type(values).__name__}: for a result, pass what "
            "samp.explain returned."
        ) from error


def check_finite(values: Array, what: str) -> Array:
    """Return the values; raise ValueError if some are NaN or infinite."""
    bad = int((~np.isfinite(values)).sum())
    if bad:
        raise ValueError(
            f"{what} holds {bad:,} of {values.size:,} values that are NaN or infinite and have no colour: "
            "see where they come from, or replace them with torch.nan_to_num."
        )
    return values


def check_photo_fits(photo: Array, credit: Array) -> None:
    """Raise ValueError if the photo (h w 3) is not as large as the map (h w)."""
    if photo.shape[:2] != credit.shape:
        raise ValueError(
            f"the photo is {photo.shape[1]}×{photo.shape[0]} pixels but the map is "
            f"{credit.shape[1]}×{credit.shape[0]}: give what the model was shown of the photo, at that size."
        )


def format_number(value: float) -> str:
    """The number with three significant digits, or as an integer from 1,000 to a million, with a true minus sign.

    >>> format_number(-0.012345), format_number(-1987.4), format_number(1234567)
    ('−0.0123', '−1,987', '1.23e+06')
    """
    return (f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}").replace("-", "−")


def _residual_words(result: Attribution, sample: int) -> str:
    residual = float(result.residual[sample])
    if math.isnan(residual):
        return "no residual: this credit is not meant to sum to the score"
    return f"residual {format_number(residual)} of {describe_sum(result, sample)}"


def describe_sum(result: Attribution, sample: int) -> str:
    """Return what the credit of a sample is to sum to, in words."""
    change = sum(float(change[sample]) for change in result.score_change.values())
    absorbed = result.details.get("absorbed")
    return name_sum(format_number(change), None if absorbed is None else format_number(absorbed[sample]))


def _picture_of_image(photo: Image.Image) -> PhotoPixels:
    """The pixels of a PIL image in any mode: more than 8 bits unchanged, others as RGB, transparency over white."""
    if photo.mode.startswith(("I", "F")):
        return photo_of(np.asarray(photo))
    if photo.has_transparency_data:
        photo = Image.alpha_composite(Image.new("RGBA", photo.size, "white"), photo.convert("RGBA"))
    return photo_of(np.asarray(photo.convert("RGB")))


def _channels_last(given: Tensor | Array, sample: int) -> Array:
    values = as_float_array(given)
    if isinstance(given, Tensor):
        values = values[sample if len(values) > 1 else 0] if values.ndim == 4 else values
        return np.moveaxis(values, 0, -1) if values.ndim == 3 else values[..., None]
    return values[..., None] if values.ndim == 2 else values


def _scale_to_unit(pixels: Array, kind: str) -> tuple[Array, str]:
    if kind in FULL:
        return pixels / FULL[kind], ""
    if pixels.min() >= 0 and pixels.max() <= 1:
        return pixels, ""
    unit, words = stretch_to_unit(pixels)
    return unit, f"Photo {words}."
