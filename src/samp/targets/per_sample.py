"""The data that a target holds of its samples: one value for all of them, or one for each."""

from __future__ import annotations

import operator
import reprlib
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import torch
from torch import Tensor

from samp.checks import check_real
from samp.hashing import hash_tensors

Integers = int | tuple[int, ...]
"""One whole number for all samples, or one for each."""
Numbers = float | tuple[float, ...]


@dataclass(frozen=True, eq=False)
class TensorData:
    """A tensor in a field of a target: equal if its numbers are, and shown by its shape and hash.

    >>> TensorData(torch.ones(2, 3)), TensorData(torch.ones(2)) == TensorData(torch.ones(2))
    (<2×3 float32, sha256 ad2c1e1a>, True)
    """

    tensor: Tensor

    @property
    def _hash(self) -> str:
        return hash_tensors({"": self.tensor})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorData) and self._hash == other._hash

    def __hash__(self) -> int:
        return hash(self._hash)

    def __repr__(self) -> str:
        shape = "×".join(map(str, self.tensor.shape))
        return f"<{shape} {str(self.tensor.dtype).removeprefix('torch.')}, sha256 {self._hash[:8]}>"


def wrap_tensor(name: str, given: object) -> TensorData:
    """Return a tensor, an array or a list of numbers as `TensorData`; raise TypeError or ValueError for anything else.

    >>> wrap_tensor("mask", [[True, False]]).tensor
    tensor([[ True, False]])
    """
    if isinstance(given, TensorData):
        return given
    try:
        tensor = torch.as_tensor(np.array(given) if isinstance(given, np.ndarray) else given).detach().clone()
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(f"{name} is a tensor or an array, not {reprlib.repr(given)}.") from None
    check_real(tensor, name)
    if not torch.isfinite(tensor).all():
        raise ValueError(f"{name} holds NaN or Inf: replace or leave out such values first.")
    return TensorData(tensor)


def read_integers(name: str, given: Any, least: int | None = 0) -> Integers:
    """Return a whole number, or a tuple of one per sample; raise TypeError or ValueError for anything else.

    >>> read_integers("label", 3), read_integers("label", torch.tensor([3, 1]))
    (3, (3, 1))
    """
    entries = _entries(given)
    try:
        numbers = tuple(map(_as_integer, entries if isinstance(entries, list) else [entries]))
    except TypeError:
        raise TypeError(
            f"{name} is a whole number, or a list with one for each sample, not {reprlib.repr(given)}."
        ) from None
    if least is not None and any(number < least for number in numbers):
        raise ValueError(f"{name} counts from {least}, but {min(numbers)} was given.")
    return numbers if isinstance(entries, list) else numbers[0]


def read_numbers(name: str, given: Any) -> Numbers:
    """Return a number, or a tuple of one per sample; raise TypeError or ValueError for anything else.

    >>> read_numbers("to", 3), read_numbers("to", [0.5, 1])
    (3.0, (0.5, 1.0))
    """
    entries = _entries(given)
    numbers = entries if isinstance(entries, list) else [entries]
    if not all(isinstance(number, Real) and not isinstance(number, bool) for number in numbers):
        raise TypeError(f"{name} is a number, or a list with one for each sample, not {reprlib.repr(given)}.")
    if not all(np.isfinite(float(number)) for number in numbers):
        raise ValueError(f"{name} is finite, not {reprlib.repr(given)}.")
    floats = tuple(map(float, numbers))
    return floats if isinstance(entries, list) else floats[0]


def one_per_sample(name: str, given: Integers | Numbers, batch: int, device: torch.device | str) -> Tensor:
    """Return the numbers of all samples (b); raise ValueError if there are more or fewer than samples.

    >>> one_per_sample("label", 3, 2, "cpu").tolist()
    [3, 3]
    """
    numbers = torch.tensor(given, device=device)
    check_count(name, len(numbers) if numbers.ndim else None, batch)
    return numbers.expand(batch)


def largest(given: Integers) -> int:
    """Return the largest of these numbers, without waiting for a device.

    >>> largest(3), largest((3, 5))
    (3, 5)
    """
    return max(given) if isinstance(given, tuple) else given


def check_count(name: str, count: int | None, batch: int) -> None:
    """Raise ValueError unless a field holds one entry for each sample, or one for all (None)."""
    if count is not None and count != batch:
        raise ValueError(f"{name} has {count} entries for {batch} samples: give one for all or one for each.")


def check_choice(name: str, given: object, choices: Iterable[str]) -> None:
    """Raise ValueError unless this is one of the choices."""
    known = tuple(choices)
    if given not in known:
        raise ValueError(f"{name} is {' or '.join(map(repr, known))}, not {given!r}.")


def _entries(given: Any) -> Any:
    """Return a list of the entries of a tensor, an array or a sequence; a single number unchanged."""
    if isinstance(given, Tensor | np.ndarray):
        return given.tolist()
    return list(given) if isinstance(given, list | tuple) else given


def _as_integer(number: Any) -> int:
    if isinstance(number, bool):
        raise TypeError("True is no number here")
    return operator.index(number)
