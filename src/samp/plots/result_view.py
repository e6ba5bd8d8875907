"""What is shown of a result, sample by sample: the question, pictures or bars, numbers; for notebooks and sheets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from samp.attribution import Attribution, describe_walks
from samp.plots.reading import cost_words, describe_sum, format_number, photo_of
from samp.plots.result_pictures import SQUARES, as_wide, enlarge_squares, glow, kept_photo, shrink_map, to_image
from samp.plots.shading import drawable_map, full_amount, signed_colours
from samp.plots.top import top_features
from samp.preview import MOST_SAMPLES

LETTERS = 80  # of a name or a method; the rest is cut off
BARS_OF_ONE, BARS_OF_SEVERAL = 10, 5
SIDES = ((1, 224), (3, 160), (MOST_SAMPLES, 112))  # pixels of a picture, for so many samples


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture and what it shows."""

    image: Image.Image
    caption: str
    flat: bool
    """Whether it has few colours, so that PNG is smaller than JPEG and exact."""


@dataclass(frozen=True)
class Bar:
    """A feature with its credit, and the length of its bar from −1 to 1."""

    label: str
    credit: str
    length: float


@dataclass(frozen=True, eq=False)
class SampleView:
    """All that is shown of one sample."""

    number: int
    question: str
    facts: tuple[tuple[str, str], ...]
    pictures: tuple[Picture, ...]
    bars: tuple[Bar, ...]
    notes: tuple[str, ...]
    """How credit became colour, and why something is not shown."""


@dataclass(frozen=True, eq=False)
class ResultView:
    """All that is shown of a result."""

    samples: tuple[SampleView, ...]
    count: int
    """How many samples the result has."""
    side: int
    """Pixels of a picture's longer side."""
    notes: tuple[str, ...]


def view_result(result: Attribution) -> ResultView:
    """Return what is shown of the first samples of a result."""
    count = len(result.gradients)
    number = min(count, MOST_SAMPLES)
    side = next((side for most, side in SIDES if number <= most), SIDES[-1][1])
    views = tuple(view_sample(result, sample, side, count) for sample in range(number))
    return ResultView(views, count, side, (*_legend(views), *describe_making(result)))


def _legend(views: Sequence[SampleView]) -> list[str]:
    """Return what the colours mean, in lines."""
    captions = {picture.caption.split(" of ")[0] for one in views for picture in one.pictures}
    meanings = [
        ("credit for", "Glow: credit for the target, on the input in dim grey."),
        ("credit for and against", "Map: orange for, blue against, white 0."),
    ]
    lines = [words for caption, words in meanings if caption in captions]
    if lines:
        own = "each sample's own" if len(views) > 1 else "the"
        lines.append(f"Colours are linear in credit and full from the 99th percentile of {own} credit.")
    return [" ".join(lines)] if lines else []


def view_sample(result: Attribution, sample: int, side: int, count: int = 1) -> SampleView:
    """Return what is shown of one sample: pictures where credit has two axes, else bars of its largest features."""
    pictures, notes = _pictures(result, sample, side)
    bars = (
        ()
        if pictures and isinstance(result.values, Tensor)
        else _bars(result, sample, BARS_OF_ONE if count == 1 else BARS_OF_SEVERAL)
    )
    if bars:
        notes = (*notes, *_describe_bars(result, sample, len(bars)))
    return SampleView(sample, ask(result, sample), _facts(result, sample), pictures, bars, notes)


def ask(result: Attribution, sample: int) -> str:
    """Return the question of one sample, "Why …?", with the names of classes where they are known."""
    target = result.details.get("target")
    names = result.preview.classes if result.preview is not None else {}

    def name(index: Any) -> str:
        known = names.get(index) if isinstance(index, int) else None
        return f"class {index}" if known is None else f"{shorten(known)} ({index})"

    if isinstance(target, list):
        return f"Why {name(target[sample])}?"
    if isinstance(target, dict):
        return f"Why {name(target['of'][sample])} rather than {name(target['against'][sample])}?"
    return f"Why {shorten(str(target))}?"


def score_of(result: Attribution, sample: int) -> float | None:
    """Return the score of the sample itself, an end of every walk; None of a method that does not walk."""
    for direction, scores in result.scores.items():
        place = 0 if direction == "to_baseline" else int(result.steps[direction][sample])
        return float(scores[sample, place])
    return None


def describe_making(result: Attribution) -> list[str]:
    """Return how a result was made, in lines."""
    details = result.details
    groups = "" if details.get("groups") in (None, "Pixels()", "Elements()") else f" on {details['groups']}"
    versions = ", ".join(f"{name} {version}" for name, version in (details.get("versions") or {}).items())
    made = [str(details[name]) for name in ("device", "dtype") if details.get(name)]
    made += [f"seed {details['seed']}"] if "seed" in details else []
    return [f"{shorten(result.method, 300)}{groups}", ", ".join(filter(None, [versions, *made]))]


def shorten(text: str, letters: int = LETTERS) -> str:
    """Return a text on one line, cut off after so many letters.

    >>> shorten("a  b"), shorten("abcdef", 4)
    ('a b', 'abc…')
    """
    line = " ".join(text.split())
    return line if len(line) <= letters else f"{line[: letters - 1]}…"


def _facts(result: Attribution, sample: int) -> tuple[tuple[str, str], ...]:
    score, residual = score_of(result, sample), float(result.residual[sample])
    missing = "none: this credit is not meant to sum to the score"
    if not math.isnan(residual):
        missing = f"{format_number(residual)} of {describe_sum(result, sample)}"
    facts = {
        "score": "" if score is None else format_number(score),
        "residual": missing,
        "map": describe_walks(result, sample),
        "cost": cost_words(result, sample),
    }
    return tuple((name, text) for name, text in facts.items() if text)


def _pictures(result: Attribution, sample: int, side: int) -> tuple[tuple[Picture, ...], tuple[str, ...]]:
    """Return the pictures of one sample and notes on them: of each input that is one; nothing if none is."""
    values = result.values if isinstance(result.values, tuple) else (result.values,)
    parts = [_part_pictures(result, sample, side, part, len(values)) for part in range(len(values))]
    return tuple(one for pictures, _ in parts for one in pictures), tuple(note for _, notes in parts for note in notes)


def _part_pictures(
    result: Attribution, sample: int, side: int, part: int, parts: int
) -> tuple[list[Picture], list[str]]:
    """Return the pictures of one input of one sample, and notes; nothing if its credit is no picture."""
    of_input = f" of input {part}" if parts > 1 else ""
    credit = _matrix(result, sample, part)
    if credit is None:
        return [], []
    if not bool(credit.isfinite().all()):
        return [], [f"The map{of_input} holds values that are NaN or infinite, and is not drawn."]
    photo, notes = kept_photo(result, sample, part), []
    pictures: list[Picture] = []
    if photo is not None:
        read = photo_of(photo)
        plain = enlarge_squares(to_image(255 * read.pixels), side)
        pictures.append(Picture(plain, f"input{of_input[9:]}", _is_tiny(photo, side)))
        notes.append(read.words)
        if parts == 1:
            shown, detail = drawable_map(result, sample)
            pictures.append(Picture(glow(shown, np.asarray(plain, dtype=float)), "credit for", _is_tiny(photo, side)))
            full = full_amount(shown)
            notes += [f"Full glow from {format_number(full)}." if full else "No credit is positive: no glow.", detail]
    small = shrink_map(credit, side)
    signed = enlarge_squares(to_image(signed_colours(small)), side)
    pictures.append(Picture(signed, f"credit for and against{of_input}", _is_tiny(credit, side)))
    return pictures, list(filter(None, [*notes, _describe_scale(credit, small)]))


def _matrix(result: Attribution, sample: int, part: int) -> Tensor | None:
    """Return the credit of one input of one sample as a picture (h w); None if it is none."""
    if isinstance(result.values, tuple):
        credit = result.values[part][sample]
        credit = credit.sum(0) if credit.ndim == 3 else credit
    else:
        try:
            credit = result.map[sample]
        except ValueError:  # four axes that may be b h w c
            return None
    return as_wide(credit) if credit.ndim == 2 and min(credit.shape) > 1 else None


def _describe_scale(credit: Tensor, small: Tensor) -> str:
    full = full_amount(small, signed=True)
    if not full:
        return "The map is zero everywhere."
    shrunk = "" if small.shape == credit.shape else f", drawn as means: {_size(small)} of {_size(credit)} pixels"
    return f"Full colours at ±{format_number(full)}{shrunk}."


def _size(credit: Tensor) -> str:
    return f"{credit.shape[-1]}×{credit.shape[-2]}"


def _is_tiny(x: Tensor, side: int) -> bool:
    """Whether the pixels of an image (… h w) are shown as squares."""
    return bool(SQUARES * max(x.shape[-2:]) <= side)


def _bars(result: Attribution, sample: int, most: int) -> tuple[Bar, ...]:
    features = top_features(result, most, sample)
    largest = max((abs(one["credit"]) for one in features), default=0.0) or 1.0
    return tuple(
        Bar(name_feature(one), format_number(one["credit"]), max(-1.0, min(one["credit"] / largest, 1.0)))
        for one in features
    )


def name_feature(feature: dict[str, Any]) -> str:
    """Return the name of a record of `Attribution.top`, with its value where that is known.

    >>> name_feature({"index": 3, "credit": 1.0, "share": 0.5, "name": "age", "value": 43.0})
    'age = 43'
    >>> name_feature({"input": 1, "row": 2, "column": 0, "credit": 1.0, "share": 0.5})
    'input 1, row 2, column 0'
    """
    places = [f"{key} {feature[key]}" for key in ("input", "row", "column", "index", "feature") if key in feature]
    name = shorten(str(feature["name"]), 40) if "name" in feature else ", ".join(places)
    return f"{name} = {format_number(feature['value'])}" if "value" in feature else name


def _describe_bars(result: Attribution, sample: int, drawn: int) -> list[str]:
    credit = as_wide(result.group_values[sample])
    if not bool(credit.any()):
        return ["All credit is 0."]
    rest = credit.numel() - drawn
    more = f"{rest:,} further features have less" if rest else "these are all features"
    broken = int((~torch.isfinite(credit)).sum())
    return [
        f"Bars: orange for, blue against; {more}.",
        *([f"The credit of {broken:,} features is NaN or infinite."] if broken else []),
    ]


def limit_samples(view: ResultView, most: int) -> ResultView:
    """Return the view with no more than so many samples."""
    return replace(view, samples=view.samples[:most])
