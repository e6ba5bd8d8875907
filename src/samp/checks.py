"""Settings that every entrance takes, checked in one place: each raises an error that names the argument."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np
from torch import Tensor

from samp.dense import check_dense

LARGEST_COUNT = 2**31  # of anything that is counted


def check_seed(seed: Any, name: str = "seed") -> int:
    """This whole number, NumPy's too, as an int; raises ValueError for anything else.

    Torch's generators take no more than 64 bits, of which JSON readers and NumPy keep 63 with a sign.

    >>> check_seed(np.int64(3)), check_seed(-1)
    (3, -1)
    >>> check_seed(2**63)
    Traceback (most recent call last):
    ValueError: seed is a whole number from -2**63 to 2**63 - 1, not 9223372036854775808.
    """
    if not is_whole(seed) or not -(2**63) <= seed < 2**63:
        raise ValueError(f"{name} is a whole number from -2**63 to 2**63 - 1, not {seed!r}.")
    return int(seed)


def check_whole(name: str, value: Any, least: int) -> int:
    """This whole number, NumPy's too, as an int; raises ValueError below `least`, and from `LARGEST_COUNT` on.

    >>> check_whole("subsets", 1, 2)
    Traceback (most recent call last):
    ValueError: subsets is a whole number of at least 2, not 1.
    """
    if not is_whole(value) or value < least:
        raise ValueError(f"{name} is a whole number of at least {least}, not {value!r}.")
    if value >= LARGEST_COUNT:
        raise ValueError(f"{name} is a whole number below 2**31, which nobody would wait for, not {value!r}.")
    return int(value)


def check_share(share: Any, of: str = "features") -> float:
    """Return this share of something as a float; raise ValueError unless 0 < share ≤ 1.

    >>> check_share(1.5)
    Traceback (most recent call last):
    ValueError: the share of the features is above 0 and at most 1, not 1.5.
    """
    if not is_number(share) or not 0 < share <= 1:
        raise ValueError(f"the share of the {of} is above 0 and at most 1, not {share!r}.")
    return float(share)


def check_list(name: str, given: Any) -> list[Any]:
    """Return the entries of a list, a tuple, an iterator, a tensor or an array; raise TypeError for anything else.

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


def check_flag(name: str, value: Any) -> bool:
    """True or False, NumPy's too; raises ValueError for anything else: "no" would be taken for yes.

    >>> check_flag("progress", "no")
    Traceback (most recent call last):
    ValueError: progress is True or False, not 'no'.
    """
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is True or False, not {value!r}.")
    return bool(value)


def is_one_of(value: Any, words: Collection[str]) -> bool:
    """Whether this is one of the words; an array is none, whatever its comparison would give.

    >>> is_one_of("mean", ("mean", "sum")), is_one_of(np.array(["mean", "sum"]), ("mean", "sum"))
    (True, False)
    """
    return isinstance(value, str) and value in words


def is_whole(value: Any) -> bool:
    """Whether this is a whole number; True is none.

    >>> is_whole(np.int32(2)), is_whole(2.0), is_whole(True)
    (True, False, False)
    """
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def is_number(value: Any) -> bool:
    """Whether this is one finite real number; neither True nor "15" is.

    >>> is_number(2), is_number(True), is_number("2"), is_number(float("nan"))
    (True, False, False, False)
    """
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_) and math.isfinite(value)
