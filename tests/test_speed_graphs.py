"""Captured calls: which size a call takes, and that nothing of one call is left in the next."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from samp.speed.graphs import MOST_LARGE, MOST_ROWS, OFTEN, SIZES, Captured, Sizes, as_is


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 64])
def test_padding_to_a_size_changes_nothing(rows: int) -> None:
    def work(x: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        return x.gather(1, index).squeeze(1) ** 2, x * 3

    size = Sizes().size_for(rows)
    assert size in SIZES
    call = Captured(work, size, torch.rand(1, 4), torch.tensor([[0]]), as_is)
    for seed in range(2):  # the second time, what the first left in the padding must not matter
        x, index = torch.rand(rows, 4), torch.randint(4, (rows, 1))
        for got, wanted in zip(call(x, index), work(x, index), strict=True):
            assert torch.equal(got, wanted), seed


def test_many_rows_have_a_graph_of_their_own_once_they_keep_coming_back() -> None:
    """Others in between do not count for them, at most a few sizes do, and none without memory to spare."""
    sizes = Sizes()
    asked = [100, 90] * (OFTEN + 1)
    assert [sizes.size_for(rows) for rows in asked] == [None] * 2 * OFTEN + [100, 90]
    for rows in (80, 81, 82):
        for _ in range(2 * OFTEN):
            sizes.size_for(rows)
    assert len(sizes.large) == MOST_LARGE
    assert [Sizes().size_for(MOST_ROWS + 1) for _ in range(2 * OFTEN)] == [None] * 2 * OFTEN
    cramped = Sizes()
    assert [cramped.size_for(100, room=lambda: False) for _ in range(2 * OFTEN)] == [None] * 2 * OFTEN


def test_what_a_captured_call_gave_is_not_overwritten_by_the_next() -> None:
    call = Captured(lambda x, i: (x.sum(1), x), 2, torch.zeros(1, 2), torch.tensor([[0]]), as_is)
    _, first = call(torch.ones(1, 2), torch.tensor([[0]]))
    call(torch.zeros(1, 2), torch.tensor([[0]]))
    assert first.tolist() == [[1.0, 1.0]]
