"""What methods are told, checked: one sentence on what was expected and what came."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from torch import Tensor

from samp.checks import check_whole


def check_counts(**counts: Any) -> None:
    """Raise ValueError for the first of these that is no whole number of at least 1.

    >>> check_counts(masks=0)
    Traceback (most recent call last):
    ValueError: masks is a whole number of at least 1, not 0.
    """
    for name, value in counts.items():
        check_whole(name, value, 1)


def check_optional_counts(**counts: Any) -> None:
    """The same, but None, a setting left open, passes.

    >>> check_optional_counts(patch=None)
    """
    check_counts(**{name: value for name, value in counts.items() if value is not None})


def check_numbers(**numbers: Any) -> None:
    """A sentence for the first of these that is no number: to compare it would raise something that names nothing.

    >>> check_numbers(noise="loud")
    Traceback (most recent call last):
    TypeError: noise is a number, not 'loud'.
    """
    for name, value in numbers.items():
        one = isinstance(value, Tensor) and not value.is_nested and value.numel() == 1
        if isinstance(value, bool | np.bool_) or not (one or isinstance(value, Real)):
            raise TypeError(f"{name} is a number, not {value!r}.")
