"""The least concave majorant against its definition, and the slopes that are read off it."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from laws import CLOSE
from samp.majorant import ALIKE, Slopes, pieces, stretches

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


def split(curve: list[tuple[int, int]]) -> tuple[list[float], list[float]]:
    return [float(rise) for rise, _ in curve], [float(length) for _, length in curve]


def read(made: Slopes, length: list[float], parts: int = 8) -> Tensor:
    """The slope's mean over each of so many equal parts of every step that has a length, in order."""
    row, found = torch.tensor([0]), []
    for k, along in enumerate(length):
        ends = torch.arange(parts + 1, dtype=torch.float64) / parts * along
        here = made.at(row, torch.tensor([k]))
        found.append(here.slope[0, 0] + here.tilt(ends[None, :-1], ends[None, 1:])[0] if along else ends[:0])
    return torch.cat(found)


@given(segments)
def test_pieces_are_those_of_the_majorant_by_its_definition(curve: list[tuple[int, int]]) -> None:
    rise, length = split(curve)
    expected = torch.tensor(majorant(sums(length), sums(rise)), dtype=torch.float64).diff() / torch.tensor(length)
    numbers = pieces(rise, length)
    means = [
        sum(r for r, p in zip(rise, numbers, strict=True) if p == own)
        / sum(n for n, p in zip(length, numbers, strict=True) if p == own)
        for own in numbers
    ]
    torch.testing.assert_close(torch.tensor(means, dtype=torch.float64), expected.double(), **CLOSE)


@given(segments)
def test_long_pieces_fall_together_with_those_within_the_ratio_of_the_first_of_them(
    curve: list[tuple[int, int]],
) -> None:
    """And with no others: the next is below the ratio, or the first does not rise."""
    rise, length = [float(r) for r, _ in curve], [100.0 * n for _, n in curve]
    apart, together = pieces(rise, length), stretches(rise, length)
    slope = torch.tensor(majorant(sums(length), sums(rise)), dtype=torch.float64).diff()
    steep = slope / torch.tensor(length, dtype=torch.float64)
    for own in set(together):
        members = [k for k, number in enumerate(together) if number == own]
        assert len({apart[k] for k in members}) == 1 or all(steep[k] >= ALIKE * steep[members[0]] for k in members)
        if members[-1] + 1 < len(steep) and steep[members[0]] > 0:
            assert steep[members[-1] + 1] < ALIKE * steep[members[0]] + 1e-9


@given(segments)
def test_short_pieces_stay_by_themselves(curve: list[tuple[int, int]]) -> None:
    assert stretches(*split(curve)) == pieces(*split(curve))


@given(with_gaps)
def test_slopes_fall_and_sum_to_the_rise(curve: list[tuple[int, int]]) -> None:
    """With steps of no length among them, which cannot have a slope but do not lose their rise."""
    rise, length = split(curve)
    made, along = slopes(rise, length), torch.tensor(length, dtype=torch.float64)
    slope = made.slope.flatten()
    moving = along > 0
    assert (slope[moving].diff() <= 1e-9).all()
    if moving.any():
        assert abs(float((slope * along).sum()) - sum(rise)) < 1e-9


@given(with_gaps)
def test_a_falling_piece_keeps_its_sum_and_slopes_fall_all_along(curve: list[tuple[int, int]]) -> None:
    """Read at many places along the way: the slope falls from place to place, and its mean is the piece's."""
    rise, length = split(curve)
    made = slopes(rise, length)
    found = read(made, length)
    if len(found):
        assert (found.diff() <= 1e-9).all()
        weight = torch.tensor([n for n in length if n], dtype=torch.float64).repeat_interleave(8) / 8
        assert abs(float((found * weight).sum()) - sum(rise)) < 1e-9


@given(segments)
def test_no_slope_crosses_zero(curve: list[tuple[int, int]]) -> None:
    rise, length = split(curve)
    made = slopes(rise, length)
    piece = made.slope[0, :, 0].repeat_interleave(8)
    found = read(made, length)
    assert (found[piece >= 0] >= -1e-12).all()
    assert (found[piece <= 0] <= 1e-12).all()


def test_along_a_piece_the_slope_falls_strictly() -> None:
    """Or pixels of one piece would be told apart by their place in memory alone."""
    assert (read(slopes([3.0], [4.0]), [4.0]).diff() < 0).all()
    assert (read(slopes([-3.0], [4.0]), [4.0]).diff() < 0).all()
    assert (read(slopes([5.0, 1.0, -1.0], [1.0, 1.0, 1.0]), [1.0, 1.0, 1.0]).diff() < 0).all()


def test_the_mean_of_a_piece_by_hand() -> None:
    """One long piece of slope 2 falls from 16 to 0 as 16·(1 − u)^7: its first half has 2·2·(1 − 1/256); a short one
    falls evenly, from 4 to 0.
    """
    found = read(slopes([200.0], [100.0]), [100.0], parts=2)
    torch.testing.assert_close(found, torch.tensor([4 * (1 - 1 / 256), 4 / 256], dtype=torch.float64))
    torch.testing.assert_close(read(slopes([2.0], [1.0]), [1.0], parts=2), torch.tensor([3.0, 1.0]).double())


@given(st.integers(1, 5), st.integers(2, 6), st.integers(-3, 3))
def test_steps_that_rise_alike_earn_alike(slope: int, steps: int, after: int) -> None:
    """Of a few groups each, that is: whichever went first."""
    length = [2.0] * steps + [1.0]
    found = read(slopes([2.0 * slope] * steps + [float(min(after, slope - 1))], length), length)
    torch.testing.assert_close(found[: 8 * steps], torch.full((8 * steps,), float(slope)).double())


def test_rows_and_directions_have_slopes_of_their_own() -> None:
    rise = torch.tensor([[[1.0, 2.0], [0.0, 4.0]], [[4.0, 0.0], [0.5, 0.5]]])  # R k d; both rise by 3, 4 and by 4, 1
    made = Slopes.of(rise, torch.ones(2, 2))
    assert made.slope.tolist() == [[[0.5, 3.0], [0.5, 3.0]], [[4.0, 0.0], [0.5, 0.5]]]
    assert made.above.tolist() == [[3.5, 3.5], [1.5, 1.0]]
    assert made.power.tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert made.passed.tolist() == [[0.0, 1.0], [0.0, 0.0]]


def test_a_segment_of_no_length_joins_the_piece_before_it_or_the_first() -> None:
    assert pieces([5.0, 1.0, -7.0, 1.0], [0.0, 1.0, 1.0, 0.0]) == [0, 0, 1, 1]
