"""Argument checks; their errors name the argument, what was expected, what was passed, and what to do."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from numbers import Integral, Real
from typing import Any, TypeGuard

import numpy as np
import torch
from torch import Tensor

LARGEST_COUNT = 2**31  # exclusive limit of every count


def check_seed(seed: object, name: str = "seed") -> int:
    """Return a seed as an int; raise ValueError unless it is an integer (Python's or NumPy's) of 64 bits with a sign.

    Torch's generators accept no more than 64 bits, and JSON readers and NumPy keep 63 of them with a sign.

    >>> check_seed(np.int64(3)), check_seed(-1)
    (3, -1)
    >>> check_seed(2**63)
    Traceback (most recent call last):
    ValueError: seed is a whole number from -2**63 to 2**63 - 1, not 9223372036854775808.
    """
    if not is_whole(seed) or not -(2**63) <= seed < 2**63:
        raise ValueError(f"{name} is a whole number from -2**63 to 2**63 - 1, not {seed!r}.")
    return int(seed)


def check_whole(name: str, value: object, least: int) -> int:
    """Return an integer (Python's or NumPy's) as an int; raise ValueError unless `least` ≤ value < `LARGEST_COUNT`.

    >>> check_whole("subsets", 1, 2)
    Traceback (most recent call last):
    ValueError: subsets is a whole number of at least 2, not 1.
    """
    if not is_whole(value) or value < least:
        raise ValueError(f"{name} is a whole number of at least {least}, not {value!r}.")
    if value >= LARGEST_COUNT:
        raise ValueError(f"{name} is a whole number below 2**31, which nobody would wait for, not {value!r}.")
    return int(value)


def check_share(share: object, of: str = "features") -> float:
    """Return this share of something as a float; raise ValueError unless 0 < share ≤ 1.

    >>> check_share(1.5)
    Traceback (most recent call last):
    ValueError: the share of the features is above 0 and at most 1, not 1.5.
    """
    if not is_number(share) or not 0 < share <= 1:
        raise ValueError(f"the share of the {of} is above 0 and at most 1, not {share!r}.")
    return float(share)


def check_list(name: str, given: object) -> list[Any]:
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


def check_flag(name: str, value: object) -> bool:
    """Return a bool (Python's or NumPy's) as a bool; raise ValueError for anything else, since "no" would be true.

    >>> check_flag("progress", "no")
    Traceback (most recent call last):
    ValueError: progress is True or False, not 'no'.
    """
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is True or False, not {value!r}.")
    return bool(value)


def is_one_of(value: object, words: Collection[str]) -> bool:
    """Return whether the value is one of these strings; False for an array, whose `==` is elementwise.

    >>> is_one_of("mean", ("mean", "sum")), is_one_of(np.array(["mean", "sum"]), ("mean", "sum"))
    (True, False)
    """
    return isinstance(value, str) and value in words


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether the value is an integer; a bool is not.

    >>> is_whole(np.int32(2)), is_whole(2.0), is_whole(True)
    (True, False, False)
    """
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def is_number(value: object) -> TypeGuard[float]:
    """Return whether the value is a finite real number; a bool or a string is not.

    >>> is_number(2), is_number(True), is_number("2"), is_number(float("nan"))
    (True, False, False, False)
    """
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_) and math.isfinite(value)


def check_dense(tensor: Tensor, name: str) -> None:
    """Raise TypeError for a nested, sparse, quantised, float8 or meta tensor: most of torch's functions fail on these.

    >>> check_dense(torch.eye(2).to_sparse(), "the input")
    Traceback (most recent call last):
    TypeError: the input is a sparse tensor (torch.sparse_coo): pass tensor.to_dense().
    """
    if tensor.is_nested:
        raise TypeError(f"{name} is a nested tensor: pad its parts to one shape with torch.nested.to_padded_tensor.")
    if tensor.is_quantized:
        raise TypeError(f"{name} is quantised ({tensor.dtype}): pass tensor.dequantize().")
    if tensor.layout != torch.strided:
        raise TypeError(f"{name} is a sparse tensor ({tensor.layout}): pass tensor.to_dense().")
    if tensor.is_floating_point() and tensor.element_size() < 2:
        raise TypeError(f"{name} has dtype {tensor.dtype}, in which torch computes little: pass tensor.float().")
    if tensor.is_meta:
        raise TypeError(f"{name} is a tensor on the meta device, which holds no numbers: make it on a real device.")


def check_real(tensor: Tensor, name: str) -> None:
    """Raise TypeError unless this is a dense tensor of real numbers.

    >>> check_real(torch.ones(1, dtype=torch.complex64), "the baseline")
    Traceback (most recent call last):
    TypeError: the baseline is complex (torch.complex64): take .real or .abs() of it.
    """
    check_dense(tensor, name)
    if tensor.is_complex():
        raise TypeError(f"{name} is complex ({tensor.dtype}): take .real or .abs() of it.")


def check_counts(**counts: object) -> None:
    """Raise ValueError for the first of these that is not an integer of at least 1.

    >>> check_counts(masks=0)
    Traceback (most recent call last):
    ValueError: masks is a whole number of at least 1, not 0.
    """
    for name, value in counts.items():
        check_whole(name, value, 1)


def check_optional_counts(**counts: object) -> None:
    """Do the same as `check_counts`, but accept None.

    >>> check_optional_counts(patch=None)
    """
    check_counts(**{name: value for name, value in counts.items() if value is not None})


def check_numbers(**numbers: object) -> None:
    """Raise TypeError for the first of these that is not a number, before a comparison raises without naming it.

    >>> check_numbers(noise="loud")
    Traceback (most recent call last):
    TypeError: noise is a number, not 'loud'.
    """
    for name, value in numbers.items():
        scalar = isinstance(value, Tensor) and not value.is_nested and value.numel() == 1
        if isinstance(value, bool | np.bool_) or not (scalar or isinstance(value, Real)):
            raise TypeError(f"{name} is a number, not {value!r}.")
