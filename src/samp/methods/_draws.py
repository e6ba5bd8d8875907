"""Shared by methods that average over draws: the noise, and sums over the rows of a sample."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

DRAWS_AT_ONCE = 16  # in memory


def normal_draws(count: int, like: Tensor, seed: int) -> Iterator[Tensor]:
    """Yield standard normal noise in blocks of k n, drawn on the CPU: the same for every device and every sample.

    >>> [tuple(block.shape) for block in normal_draws(20, torch.zeros(3, 5), seed=0)]
    [(16, 5), (4, 5)]
    """
    generator = torch.Generator().manual_seed(seed)
    for first in range(0, count, DRAWS_AT_ONCE):
        block = min(DRAWS_AT_ONCE, count - first)
        yield torch.stack([torch.randn(like.shape[1], generator=generator) for _ in range(block)]).to(like)


def add_rows(total: Tensor, rows: Tensor, first: int, per_sample: int) -> None:
    """Add rows from `first` on to their samples, in a fixed order: `index_add_` on a GPU would have none.

    >>> total = torch.zeros(2, 1)
    >>> add_rows(total, torch.tensor([[1.0], [2.0], [3.0]]), first=1, per_sample=2)
    >>> total.tolist()
    [[1.0], [5.0]]
    """
    last = first + len(rows)
    for sample in range(first // per_sample, (last - 1) // per_sample + 1):
        start, end = max(sample * per_sample, first), min((sample + 1) * per_sample, last)
        total[sample] += rows[start - first : end - first].sum(0)
