"""What a metric is told, checked: the value back, or one sentence on what was expected and what came."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np
from torch import Tensor

from samp.checks import check_dense, check_whole


def is_number(value: Any) -> bool:
    """Whether this is one finite real number; neither True nor "15" is.

    >>> is_number(2), is_number(True), is_number("2"), is_number(float("nan"))
    (True, False, False, False)
    """
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_) and math.isfinite(value)


def check_count(name: str, value: Any, least: int) -> int:
    """This whole number, or a sentence.

    >>> check_count("subsets", 1, 2)
    Traceback (most recent call last):
    ValueError: subsets is a whole number of at least 2, not 1.
    """
    return check_whole(name, value, least)


def check_share(share: Any, of: str = "features") -> float:
    """A share of something, or a sentence.

    >>> check_share(1.5)
    Traceback (most recent call last):
    ValueError: the share of the features is above 0 and at most 1, not 1.5.
    """
    if not is_number(share) or not 0 < share <= 1:
        raise ValueError(f"the share of the {of} is above 0 and at most 1, not {share!r}.")
    return float(share)


def check_list(name: str, given: Any) -> list[Any]:
    """The entries of a list, a tuple, an iterator, a tensor or an array, or a sentence.

    >>> check_list("sizes", 5)
    Traceback (most recent call last):
    TypeError: sizes is a list of numbers, such as [1, 2], not 5.
    """
    if isinstance(given, Tensor):
        check_dense(given, name)
    entries = given.tolist() if isinstance(given, Tensor | np.ndarray) else given
    if isinstance(entries, str | bytes) or not isinstance(entries, Iterable):
        raise TypeError(f"{name} is a list of numbers, such as [1, 2], not {given!r}.")
    return list(entries)
