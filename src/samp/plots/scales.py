"""Scales of axes, for drawings by any library: this file needs neither matplotlib nor Pillow."""

from __future__ import annotations

import math
from collections.abc import Sequence


def bounds(values: Sequence[float]) -> tuple[float, float]:
    """The lowest and highest of 0 and the finite values, with 4 % of their range on each side.

    >>> bounds([0.5, math.nan, 1.0])
    (-0.04, 1.04)
    """
    finite = [value for value in values if math.isfinite(value)]
    low, high = min([0.0, *finite]), max(finite, default=1.0)
    margin = 0.04 * (high - low) or 0.5
    return low - margin, high + margin
