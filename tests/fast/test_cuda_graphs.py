"""Captured calls: which size a call takes, and that nothing of one call is left in the next."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest
import torch
from torch import Tensor

from samp.fast.cuda_graphs import MOST_LARGE, MOST_ROWS, OFTEN, SIZES, CapturedCall, Sizes, no_capture
from samp.fast.inputs import Feed, value_and_gradients_at


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 64])
def test_padding_to_a_size_changes_nothing(rows: int) -> None:
    def work(inputs: Sequence[Tensor], index: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        return inputs[0].gather(1, index).squeeze(1) ** 2, (inputs[0] * 3,)

    size = Sizes().size_for(rows)
    assert size in SIZES
    call = CapturedCall(work, Feed.of((torch.rand(1, 4),)), size, torch.rand(1, 4), torch.tensor([[0]]), no_capture)
    for seed in range(2):  # the second time, what the first left in the padding must not matter
        x, index = torch.rand(rows, 4), torch.randint(4, (rows, 1))
        value, gradient = call(x, index)
        wanted = work([x], index)
        assert torch.equal(value, wanted[0]), seed
        assert torch.equal(gradient, wanted[1][0]), seed


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
    feed, place = Feed.of((torch.zeros(1, 2),)), torch.tensor([[0]])
    call = CapturedCall(
        lambda inputs, i: (inputs[0][:, 0], tuple(inputs)), feed, 2, torch.zeros(1, 2), place, no_capture
    )
    first = call(torch.ones(1, 2), place)
    call(torch.zeros(1, 2), place)
    assert [t.tolist() for t in first] == [[1.0], [[1.0, 1.0]]]


def test_inputs_of_several_shapes_and_dtypes_come_back_in_the_order_of_points() -> None:
    """Images go in channels last, and a half gets its numbers back in the dtype of the points."""
    inputs = (torch.rand(2, 3, 4, 5), torch.rand(2, 6).half(), torch.rand(2, 2))
    feed, x, place = Feed.of(inputs), torch.rand(3, 68), torch.tensor([[1]] * 3)

    def net(image: Tensor, half: Tensor, unused: Tensor) -> Tensor:
        assert image.is_contiguous(memory_format=torch.channels_last)
        return torch.stack([image.sum((1, 2, 3)), (image**2).sum((1, 2, 3)) + half.float().sum(1)], 1)

    value, gradient = CapturedCall(partial(value_and_gradients_at, net), feed, 4, x, place, no_capture)(x, place)
    image, half, unused = x.split([60, 6, 2], 1)
    torch.testing.assert_close(value, (image**2).sum(1) + half.half().float().sum(1))
    torch.testing.assert_close(gradient, torch.cat([2 * image, torch.ones_like(half), torch.zeros_like(unused)], 1))
