"""The least concave majorant against its definition, and the slopes that are read off it."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from laws import CLOSE
from samp.concave import Slopes, pieces

segments = st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 4)), min_size=1, max_size=12)
with_gaps = st.lists(st.tuples(st.integers(-5, 5), st.sampled_from([0, 0, 1, 3])), min_size=1, max_size=12)


def majorant(t: list[float], curve: list[float]) -> list[float]:
    """By definition: nowhere below any chord between points on either side."""

    def at(k: int) -> float:
        chords = [
            curve[a] + (curve[b] - curve[a]) * (t[k] - t[a]) / (t[b] - t[a])
            for a in range(k + 1)
            for b in range(k, len(t))
            if t[b] > t[a]
        ]
        return max([curve[k], *chords])

    return [at(k) for k in range(len(t))]


def sums(numbers: list[float]) -> list[float]:
    return [0.0, *torch.tensor(numbers, dtype=torch.float64).cumsum(0).tolist()]


def slopes(rise: list[float], length: list[float]) -> Slopes:
    made = torch.tensor([rise], dtype=torch.float64), torch.tensor([length], dtype=torch.float64)
    return Slopes.of(made[0][:, :, None], made[1])


@given(segments)
def test_pieces_are_those_of_the_majorant_by_its_definition(curve: list[tuple[int, int]]) -> None:
    rise, length = [float(r) for r, _ in curve], [float(n) for _, n in curve]
    expected = torch.tensor(majorant(sums(length), sums(rise)), dtype=torch.float64).diff() / torch.tensor(length)
    torch.testing.assert_close(slopes(rise, length).slope.flatten(), expected.double(), **CLOSE)


@given(with_gaps)
def test_slopes_fall_and_sum_to_the_rise(curve: list[tuple[int, int]]) -> None:
    """With steps of no length among them, which cannot have a slope but do not lose their rise."""
    rise, length = [float(r) for r, _ in curve], [float(n) for _, n in curve]
    made, along = slopes(rise, length), torch.tensor(length, dtype=torch.float64)
    slope = made.slope.flatten()
    moving = along > 0
    assert (slope[moving].diff() <= 1e-9).all()
    if moving.any():
        assert abs(float((slope * along).sum()) - sum(rise)) < 1e-9


@given(with_gaps)
def test_a_tilted_piece_keeps_its_sum_and_slopes_still_fall(curve: list[tuple[int, int]]) -> None:
    """Read at many points along the way: the tilted slope falls from point to point, and its mean is the slope."""
    made = slopes([float(r) for r, _ in curve], [float(n) for _, n in curve])
    read: list[Tensor] = []
    for k, (_, length) in enumerate(curve):
        within = (torch.arange(8, dtype=torch.float64) + 0.5) / 8 * length + made.passed[0, k]
        if length:
            read.append(made.slope[0, k] + made.tilt[0, k] * (1 - 2 * within / made.length[0, k]))
    if read:
        assert (torch.cat(read).diff() <= 1e-9).all()
        total = sum(
            float(one.mean()) * length for one, (_, length) in zip(read, [c for c in curve if c[1]], strict=True)
        )
        assert abs(total - sum(rise for rise, _ in curve)) < 1e-9


@given(segments)
def test_no_slope_is_tilted_across_zero(curve: list[tuple[int, int]]) -> None:
    made = slopes([float(r) for r, _ in curve], [float(n) for _, n in curve])
    assert (made.tilt >= 0).all()
    assert (made.tilt <= made.slope[:, :, 0].abs() + 1e-12).all()


def test_rows_and_directions_have_slopes_of_their_own() -> None:
    rise = torch.tensor([[[1.0, 2.0], [0.0, 4.0]], [[3.0, 0.0], [1.0, 1.0]]])  # R k d; both rise by 3, 4 and by 3, 2
    made = Slopes.of(rise, torch.ones(2, 2))
    assert made.slope.tolist() == [[[0.5, 3.0], [0.5, 3.0]], [[3.0, 0.0], [1.0, 1.0]]]
    assert made.tilt.tolist() == [[0.0, 0.0], [0.5, 0.5]]
    assert made.passed.tolist() == [[0.0, 1.0], [0.0, 0.0]]


def test_a_segment_of_no_length_joins_the_piece_before_it_or_the_first() -> None:
    assert pieces([5.0, 1.0, -7.0, 1.0], [0.0, 1.0, 1.0, 0.0]) == [0, 0, 1, 1]
