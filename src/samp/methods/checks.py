"""What methods are told, checked: one sentence on what was expected and what came."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from torch import Tensor


def check_counts(**counts: Any) -> None:
    """A sentence for the first of these that is neither a whole number of at least 1 nor left open (None).

    >>> check_counts(masks=0)
    Traceback (most recent call last):
    ValueError: masks is a whole number of at least 1, not 0.
    """
    for name, value in counts.items():
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if value is not None and not (whole and value >= 1):
            raise ValueError(f"{name} is a whole number of at least 1, not {value!r}.")


def check_numbers(**numbers: Any) -> None:
    """A sentence for the first of these that is no number: to compare it would raise something that names nothing.

    >>> check_numbers(noise="loud")
    Traceback (most recent call last):
    TypeError: noise is a number, not 'loud'.
    """
    for name, value in numbers.items():
        if not isinstance(value, Real) and not (isinstance(value, Tensor) and value.numel() == 1):
            raise TypeError(f"{name} is a number, not {value!r}.")
