"""Settings that every entrance takes, checked in one place: each raises an error that names the argument."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np


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


def check_flag(name: str, value: Any) -> bool:
    """True or False, NumPy's too; raises TypeError for anything else: "no" would be taken for yes.

    >>> check_flag("progress", "no")
    Traceback (most recent call last):
    TypeError: progress is True or False, not 'no'.
    """
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} is True or False, not {value!r}.")
    return bool(value)


def is_whole(value: Any) -> bool:
    """Whether this is a whole number; True is none.

    >>> is_whole(np.int32(2)), is_whole(2.0), is_whole(True)
    (True, False, False)
    """
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)
