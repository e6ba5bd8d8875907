"""Slices of rows that fit into memory: what a call of the model is given at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeVar

import torch

from samp.checks import is_whole
from samp.devices import ELEMENTS_AT_ONCE, ELEMENTS_ON_ACCELERATOR, is_out_of_memory, release_memory

BatchSize = int | Literal["auto"]
Result = TypeVar("Result")
MOST_ROWS = 1024


class Batches:
    """Slices of at most `size` rows; under "auto", the size is halved permanently when memory runs out.

    A row counts as `walks_per_row` walks, but a slice has at least one row.
    """

    def __init__(self, batch_size: BatchSize, elements: int, device: torch.device, walks_per_row: int = 1) -> None:
        check_batch_size(batch_size)
        self.auto = isinstance(batch_size, str)
        walks = _first_guess(elements, device) if isinstance(batch_size, str) else int(batch_size)
        self.size = max(walks // walks_per_row, 1)

    def map_slices(self, count: int, work: Callable[[int, int], Result], waves: int = 1) -> Iterator[Result]:
        """Yield `work(first, last)` for slices covering `count` rows, in order; a slice that does not fit is halved.

        With `waves`, a slice has that many times `size` rows: `work` takes them through batches of that size itself.

        Raises MemoryError where a single row does not fit under "auto".

        >>> list(Batches(2, 1, torch.device("cpu")).map_slices(5, lambda first, last: last - first))
        [2, 2, 1]
        >>> list(Batches(100, 1, torch.device("cpu")).map_slices(128, lambda first, last: last - first))
        [64, 64]
        """
        first = 0
        while first < count:
            last = first + even_size(count - first, self.size * waves)
            done = self._attempt(work, first, last)
            if done:
                yield done[0]
                first = last
            else:
                self.size = min(last - first, self.size) // 2
                release_memory()

    def _attempt(self, work: Callable[[int, int], Result], first: int, last: int) -> tuple[Result] | None:
        """Return the result in a tuple, or None where memory ran out.

        The caller retries outside the handler, whose traceback would keep the memory alive.
        """
        try:
            return (work(first, last),)
        except (RuntimeError, MemoryError) as error:
            if not self.auto or not is_out_of_memory(error):
                raise
            if min(last - first, self.size) == 1:
                raise MemoryError(
                    "memory ran out with a single sample: use smaller inputs, a smaller model or another device."
                ) from error
            return None


def check_batch_size(batch_size: Any) -> None:
    """Raise ValueError unless this is "auto" or a whole number of at least 1.

    >>> check_batch_size(True)
    Traceback (most recent call last):
    ValueError: batch_size is 'auto' or a whole number of at least 1, not True.
    """
    auto = isinstance(batch_size, str) and batch_size == "auto"
    if not auto and not (is_whole(batch_size) and batch_size >= 1):
        raise ValueError(f"batch_size is 'auto' or a whole number of at least 1, not {batch_size!r}.")


def even_size(left: int, most: int) -> int:
    """Return the slice size, at most `most`, that cuts `left` rows into nearly equal slices.

    A small last slice would be slow, and would be captured separately.

    >>> even_size(5, 4)
    3
    """
    return math.ceil(left / math.ceil(left / most))


def _first_guess(elements: int, device: torch.device) -> int:
    budget = ELEMENTS_AT_ONCE.get(device.type, ELEMENTS_ON_ACCELERATOR)
    return min(max(budget // elements, 1), MOST_ROWS)
