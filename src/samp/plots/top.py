"""The features with the largest credit of a result, as plain records."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import torch

from samp.attribution import Attribution
from samp.checks import is_whole
from samp.plots.result_pictures import as_wide, check_sample, kept_input

PATCHES = re.compile(r"Patches\(size=(\d+)\)")
Place = dict[str, Any]


def top_features(result: Attribution, n: int, sample: int = 0) -> list[dict[str, Any]]:
    """Return the n features with the largest abs(credit) of one sample, as `Attribution.top` describes them.

    Of equal features the first come first; those whose credit is not finite are left out.
    """
    if not is_whole(n) or n < 0:
        raise ValueError(f"n is how many features are wanted, a whole number from 0, not {n!r}.")
    check_sample(result, sample)
    credit = as_wide(result.group_values[sample]).double()
    amount = credit.abs().where(credit.isfinite(), -1.0)
    total = float(amount.clamp(min=0).sum())
    order = amount.argsort(descending=True, stable=True)[: int(n)].tolist()
    return [
        {
            **place_of(result, number, sample),
            "credit": float(credit[number]),
            "share": float(amount[number]) / total if total else 0.0,
            **_find_value(result, number, sample),
        }
        for number in order
        if amount[number] >= 0
    ]


def place_of(result: Attribution, number: int, sample: int = 0) -> Place:
    """Return where the feature of this number lies: its input if there are several, and its place in it.

    >>> import samp
    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 2)).eval()
    >>> place_of(samp.explain(net, torch.rand(1, 3, 4, 4), method="random"), 7)
    {'row': 1, 'column': 3}
    """
    values = result.values if isinstance(result.values, tuple) else (result.values,)
    kinds = str(result.details.get("groups")).split(", ")
    if len(kinds) == 1 < len(values):
        kinds = kinds * len(values)
    left = number
    for part, (kind, one) in enumerate(zip(kinds, values, strict=False)):
        shape = tuple(one.shape[1:])
        count = _count(kind, shape)
        if count is None:
            break
        if left < count:
            return {**({"input": part} if len(values) > 1 else {}), **_place(kind, shape, left)}
        left -= count
    return {"feature": number}


def _count(kind: str, shape: Sequence[int]) -> int | None:
    """Return how many features an input of this shape has; None if only its mask says so."""
    if kind == "Elements()":
        return math.prod(shape)
    if kind == "Pixels()" and len(shape) == 3:
        return shape[1] * shape[2]
    if (patches := PATCHES.fullmatch(kind)) and len(shape) == 3:
        return math.prod(-(-side // int(patches[1])) for side in shape[1:])
    return None


def _place(kind: str, shape: Sequence[int], number: int) -> Place:
    if kind == "Elements()":
        places = [int(place) for place in torch.unravel_index(torch.tensor(number), tuple(shape))]
        return {"index": places[0] if len(places) == 1 else tuple(places)}
    side = int(patches[1]) if (patches := PATCHES.fullmatch(kind)) else 1
    across = -(-shape[2] // side)
    return {"row": number // across * side, "column": number % across * side}


def _find_value(result: Attribution, number: int, sample: int) -> dict[str, Any]:
    """Return the name and the value of an element of a single b × n input, as far as they are known."""
    if isinstance(result.values, tuple) or result.values.ndim != 2 or result.details.get("groups") != "Elements()":
        return {}
    columns = result.preview.columns if result.preview is not None else ()
    kept = kept_input(result, sample)
    return {
        **({"name": columns[number]} if number < len(columns) else {}),
        **({"value": float(kept[number])} if kept is not None and kept.ndim == 1 and number < len(kept) else {}),
    }
