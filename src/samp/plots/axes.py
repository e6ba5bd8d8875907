"""Limits and round ticks of an axis, for charts that matplotlib does not draw."""

from __future__ import annotations

import math
from collections.abc import Sequence


def pad_limits(values: Sequence[float], pad: float, *, include_zero: bool = False) -> tuple[float, float]:
    """Return the lowest and highest finite value, apart by `pad` of their range; 0 to 1 if there is none.

    >>> pad_limits([0.5, math.nan, 1.0], 0.04, include_zero=True)
    (-0.04, 1.04)
    """
    finite = [value for value in values if math.isfinite(value)]
    low = min([0.0, *finite] if include_zero else finite, default=0.0)
    high = max(finite, default=1.0)
    air = pad * (high - low) or 0.5
    return low - air, high + air


def round_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return about `count` round numbers between the bounds.

    >>> round_ticks(-0.04, 1.04)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    rough = (high - low) / count
    unit = 10.0 ** math.floor(math.log10(rough))
    step = min((factor * unit for factor in (1, 2, 5, 10)), key=lambda step: abs(step - rough))
    return [round(i * step, 12) + 0.0 for i in range(math.ceil(low / step), math.floor(high / step) + 1)]
