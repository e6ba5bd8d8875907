"""Batches that fit: start with a size that is fast, halve it when memory runs out, lose nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeVar

import torch

from samp.checks import is_whole

BatchSize = int | Literal["auto"]
Result = TypeVar("Result")

# Elements a model call is given at once where the user leaves it open. On two CPU cores EfficientNet-Lite0 at 224
# pixels is fastest at 2 to 4 images a call (41, 43, 46 and 65 ms an image at 2, 4, 8 and 16); small nets gain up to
# hundreds. A GPU wants all it can get.
ELEMENTS_AT_ONCE = {"cpu": 400_000}
ELEMENTS_ON_ACCELERATOR = 2**25
MOST_ROWS = 1024


class Batches:
    """Work in slices of at most `size` rows; under "auto", the size halves for good when memory runs out.

    A row of several walks counts as so many (`walks_per_row`), but a slice has at least one row.
    """

    def __init__(self, batch_size: BatchSize, elements: int, device: torch.device, walks_per_row: int = 1) -> None:
        check_batch_size(batch_size)
        self.auto = isinstance(batch_size, str)
        walks = _first_guess(elements, device) if isinstance(batch_size, str) else int(batch_size)
        self.size = max(walks // walks_per_row, 1)

    def map_slices(self, count: int, work: Callable[[int, int], Result]) -> Iterator[Result]:
        """`work(first, last)` for slices covering `count` rows, in order; what does not fit is done again in halves.

        >>> list(Batches(2, 1, torch.device("cpu")).map_slices(5, lambda first, last: last - first))
        [2, 2, 1]
        >>> list(Batches(100, 1, torch.device("cpu")).map_slices(128, lambda first, last: last - first))
        [64, 64]
        """
        first = 0
        while first < count:
            last = first + _even_size(count - first, self.size)
            done = self._attempt(work, first, last)
            if done:
                yield done[0]
                first = last
            else:
                self.size = (last - first) // 2
                release_memory()

    def _attempt(self, work: Callable[[int, int], Result], first: int, last: int) -> tuple[Result] | None:
        """The result, or None where memory ran out: the handler is left first, since its traceback holds memory."""
        try:
            return (work(first, last),)
        except (RuntimeError, MemoryError) as error:
            if not self.auto or not is_out_of_memory(error):
                raise
            if last - first == 1:
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


def is_out_of_memory(error: BaseException) -> bool:
    """Whether this is a device, or the host, running out of memory; torch says so in several ways.

    >>> is_out_of_memory(MemoryError()), is_out_of_memory(RuntimeError("shapes do not match"))
    (True, False)
    """
    words = (
        "out of memory",
        "can't allocate memory",
        "not enough memory",
        "CUDNN_STATUS_ALLOC_FAILED",
        "CUBLAS_STATUS_ALLOC_FAILED",
    )
    return isinstance(error, MemoryError | torch.cuda.OutOfMemoryError) or any(word in str(error) for word in words)


def _even_size(left: int, most: int) -> int:
    """Of so many rows, as many as make slices of one size: a small last one would be slow, and captured by itself."""
    return math.ceil(left / math.ceil(left / most))


def _first_guess(elements: int, device: torch.device) -> int:
    budget = ELEMENTS_AT_ONCE.get(device.type, ELEMENTS_ON_ACCELERATOR)
    return min(max(budget // elements, 1), MOST_ROWS)


def release_memory() -> None:
    """Give memory that torch keeps for later back to the device."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
