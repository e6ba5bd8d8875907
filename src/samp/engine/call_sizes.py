"""Few sizes of calls, where each new number of rows is costly: it is tuned or compiled anew.

With `torch.backends.cudnn.benchmark`, cuDNN tries its kernels for each number of rows that it has not seen, and a
compiled net may be compiled again. Rows leave a walk one by one, so nearly every call would be the first of its kind.
Calls are therefore filled up to the largest number of rows so far, its half, its quarter or its eighth.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

HALVINGS = 3  # of the largest call, so there are at most four sizes


class CallSizes:
    """The numbers of rows of a model's calls: the largest, and its halves.

    >>> sizes = CallSizes(largest=100)
    >>> [sizes.size_for(rows) for rows in (100, 51, 50, 26, 25, 14, 13, 1)]
    [100, 100, 50, 50, 25, 25, 13, 13]
    """

    def __init__(self, largest: int) -> None:
        self.largest = largest

    def size_for(self, rows: int) -> int:
        """Return the smallest size that holds this many rows; more rows than ever become the largest size."""
        self.largest = max(self.largest, rows)
        sizes = [math.ceil(self.largest / (1 << times)) for times in range(HALVINGS + 1)]
        return min(size for size in sizes if size >= rows)

    def fill_up(self, x: Tensor, samples: Tensor) -> tuple[Tensor, Tensor]:
        """Return points (r n) of these samples (r) with the first row repeated behind them, up to one of the sizes."""
        missing = self.size_for(len(x)) - len(x)
        if not missing:
            return x, samples
        return torch.cat([x, x[:1].expand(missing, -1)]), torch.cat([samples, samples[:1].expand(missing)])


def make_call_sizes(model: object, device: torch.device, largest: int) -> CallSizes | None:
    """Return the sizes of the model's calls where each new one is costly, else None.

    >>> make_call_sizes(torch.nn.Linear(2, 1), torch.device("cpu"), 8) is None
    True
    """
    return CallSizes(largest) if is_compiled(model) or tunes_each_size(device) else None


def tunes_each_size(device: torch.device) -> bool:
    """Return whether convolutions are tuned anew for each number of rows: by cuDNN, if it is asked to."""
    return device.type == "cuda" and torch.backends.cudnn.benchmark


def is_compiled(model: object) -> bool:
    """Return whether `torch.compile` made this.

    >>> is_compiled(torch.nn.Linear(2, 1)), is_compiled(torch.compile(torch.nn.Linear(2, 1)))
    (False, True)
    """
    # without importing torch._dynamo, which takes seconds
    return (
        type(model).__module__.startswith("torch._dynamo")
        or hasattr(model, "_torchdynamo_orig_callable")
        or getattr(model, "_compiled_call_impl", None) is not None
    )
