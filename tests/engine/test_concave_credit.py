"""The least concave majorant against its definition, and what it hands out to steps."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from laws import CLOSE, majorant
from samp.engine.concave_credit import majorant_pieces, majorant_rises

segments = st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 4)), min_size=1, max_size=12)
with_gaps = st.lists(st.tuples(st.integers(-5, 5), st.sampled_from([0, 0, 1, 3])), min_size=1, max_size=12)


def sums(numbers: list[float]) -> list[float]:
    return [0.0, *torch.tensor(numbers, dtype=torch.float64).cumsum(0).tolist()]


def split(curve: list[tuple[int, int]]) -> tuple[list[float], list[float]]:
    return [float(rise) for rise, _ in curve], [float(length) for _, length in curve]


def rises(rise: list[float], length: list[float]) -> Tensor:
    made = torch.tensor([rise], dtype=torch.float64), torch.tensor([length], dtype=torch.float64)
    return majorant_rises(made[0][:, :, None], made[1]).flatten()


@given(segments)
def test_each_step_gets_what_the_majorant_rises_over_it_by_its_definition(curve: list[tuple[int, int]]) -> None:
    rise, length = split(curve)
    expected = torch.tensor(majorant(sums(length), sums(rise)), dtype=torch.float64).diff()
    torch.testing.assert_close(rises(rise, length), expected, **CLOSE)


@given(with_gaps)
def test_steps_without_length_get_nothing_and_their_rise_is_not_lost(curve: list[tuple[int, int]]) -> None:
    rise, length = split(curve)
    found, along = rises(rise, length), torch.tensor(length, dtype=torch.float64)
    assert (found[along == 0] == 0).all()
    if (along > 0).any():
        assert abs(float(found.sum()) - sum(rise)) < 1e-9
        slopes = (found / along)[along > 0]
        assert (slopes.diff() <= 1e-9).all()


def test_rounding_decides_nothing() -> None:
    """Steps that rise alike earn alike, whether their last digits put them into one piece or not."""
    even, uneven = rises([2.0, 2.0, 2.0], [1.0, 1.0, 1.0]), rises([2.0 + 1e-12, 2.0, 2.0 + 2e-12], [1.0, 1.0, 1.0])
    torch.testing.assert_close(even, uneven, rtol=0, atol=1e-11)


def test_rows_and_directions_have_rises_of_their_own() -> None:
    rise = torch.tensor([[[1.0, 2.0], [0.0, 4.0]], [[4.0, 0.0], [0.5, 0.5]]])  # R k d; both rise by 3, 4 and by 4, 1
    found = majorant_rises(rise, torch.ones(2, 2))
    assert found.tolist() == [[[0.5, 3.0], [0.5, 3.0]], [[4.0, 0.0], [0.5, 0.5]]]


def test_a_step_of_no_length_joins_the_piece_before_it_or_the_first() -> None:
    assert majorant_pieces([5.0, 1.0, -7.0, 1.0], [0.0, 1.0, 1.0, 0.0]) == [0, 0, 1, 1]
