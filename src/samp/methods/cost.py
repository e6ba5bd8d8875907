"""How many evaluations of the model a method makes, known before it makes them: for bars and the time left."""

from __future__ import annotations

import math
from typing import Any

from samp.methods.consensus import Consensus
from samp.methods.coupled import Coupled


def expected_rows(method: Any, height: int, width: int) -> int | None:
    """Return how many evaluations of the model a method makes for one image, at most; None if its settings do not say.

    >>> from samp.methods import resolve_method
    >>> [expected_rows(resolve_method(name), 224, 224) for name in ("consensus", "coupled", "samp++", "lrp")]
    [115, 32, 50, None]
    """
    pixels, small = height * width, max(height, width) <= 32
    walks = 2 if getattr(method, "direction", "") == "both" else 1
    if isinstance(method, Consensus):
        mean = method.resolve_settings()
        return walks * mean.walks * (mean.steps + 1) + walks + 1  # and the scores at the ends
    if isinstance(method, Coupled):
        settings = method.resolve_settings(small=small)
        step = method.pixels_per_step or max(math.ceil(pixels / settings.steps), 1)
        cut = walks * math.ceil(1 / settings.eta) if settings.eta < 1 else 0  # either walk may be the longer one
        return walks * (math.ceil(pixels / step) + cut + 1)
    if hasattr(method, "pixels_per_step"):
        step = method.pixels_per_step or (10 if small else math.ceil(pixels / 14))
        steps = method.steps or math.ceil(pixels / step)
        return walks * (steps + math.ceil(1 / method.eta if method.eta else 0) + 1)
    for setting in ("masks", "steps"):
        if hasattr(method, setting):
            return walks * (int(getattr(method, setting)) + 1)
    return None
