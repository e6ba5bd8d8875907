"""Paths propose from wherever a row stands."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import samp
from laws import CLOSE, images, linear, net, seeds, tapes, travel
from samp.engine import graded_path
from samp.engine.fixed_paths import StraightPath
from samp.engine.graded_path import GradedPath, graded_fractions, line_up
from samp.engine.paths import MaxL1, SalientPath, select_largest, select_largest_unordered
from samp.engine.walk import Route, Step
from samp.groups import Channels

six_gains = st.lists(st.sampled_from([-3e38, -2.0, -0.0, 0.0, 1.0, 3.0, float("inf")]), min_size=6, max_size=6)
some_of_six = st.lists(st.booleans(), min_size=6, max_size=6)


@given(
    rows=st.lists(st.tuples(six_gains, some_of_six, st.integers(1, 6)), min_size=1, max_size=3), size=st.integers(1, 8)
)
def test_largest_takes_the_largest_candidates_and_ties_by_index(rows: list[Any], size: int) -> None:
    gains, candidates, sizes = (list(column) for column in zip(*rows, strict=True))

    def expected(row: int, size: int) -> list[int]:
        among = [j for j in range(6) if candidates[row][j]]
        return sorted(sorted(among, key=lambda j: (-gains[row][j], j))[:size])

    one_size = select_largest(torch.tensor(gains), size, torch.tensor(candidates))
    own_size = select_largest(torch.tensor(gains), torch.tensor(sizes)[:, None], torch.tensor(candidates))
    for row in range(len(rows)):
        assert one_size[row].nonzero().squeeze(1).tolist() == expected(row, size)
        assert own_size[row].nonzero().squeeze(1).tolist() == expected(row, sizes[row])


@given(seeds, st.integers(1, 12), st.booleans())
def test_any_largest_differs_from_largest_by_ties_alone(seed: int, size: int, each: bool) -> None:
    """Same gains, same number of groups; and the same groups where no two gains are equal."""
    random = torch.Generator().manual_seed(seed)
    candidates = torch.rand(3, 10, generator=random) > 0.3
    sizes: Any = torch.randint(1, size + 1, (3, 1), generator=random) if each else size
    for gain, alike in (
        (torch.rand(3, 10, generator=random), True),
        (torch.randint(3, (3, 10), generator=random).float(), False),
    ):
        exact, loose = (f(gain, sizes, candidates, min(size, 10)) for f in (select_largest, select_largest_unordered))
        assert not (loose & ~candidates).any()
        for row in range(3):
            assert sorted(gain[row, exact[row]].tolist()) == sorted(gain[row, loose[row]].tolist())
        assert torch.equal(exact, loose) or not alike


@given(st.integers(1, 3000), st.integers(1, 400), st.floats(0.0, 1.0))
def test_a_walk_does_not_arrive_before_the_host_looks(count: int, size: int, growth: float) -> None:
    """`least_steps` against the walk itself, and not far from it: looking earlier costs time."""
    x = torch.zeros(1, count)
    route = Route.between(x, torch.ones(1, count), torch.tensor([0]), torch.ones(1, 1), Channels(1, count, ""))
    path, taken = SalientPath(size, growth=growth), 0
    while (x != 1).any():
        step = Step(taken, torch.tensor([0]), None, x, x[:, 0], x + 1, x + 1, x != 1, torch.tensor([True]))
        x, taken = path.propose(step, route), taken + 1
    assert taken - 2 <= path.least_steps(route) <= taken


def test_salient_moves_whole_groups_by_their_summed_gain() -> None:
    """Channels of pixel 0 gain 5 and −4, those of pixel 1 gain 1 and 1: pixel 1 goes first, with both its channels."""
    weight = torch.tensor([5.0, 1.0, -4.0, 1.0], dtype=torch.float64)
    x = torch.ones(1, 2, 1, 2, dtype=torch.float64)
    result = travel(linear(weight), x, SalientPath(1), directions=["to_image"])
    assert result.order["to_image"].tolist() == [[2, 1]]
    assert result.tapes["to_image"][0].points[1].flatten().tolist() == [0, 1, 0, 1]


def test_a_pixel_moves_while_any_of_its_channels_differs() -> None:
    x = torch.tensor([[0.0, 1.0, 2.0, 0.0, 0.0, 3.0]], dtype=torch.float64).view(1, 2, 1, 3)
    result = travel(linear(torch.ones(6, dtype=torch.float64)), x, SalientPath(1), directions=["to_image"])
    assert result.order["to_image"].tolist() == [[-1, 2, 1]]


softnesses = st.sampled_from([0.0, 0.25, 0.8, 1.0])


def one_step(path: Any, gain: torch.Tensor, left: torch.Tensor) -> torch.Tensor:
    """What the path proposes between 0 and 1 (r g), with these gains (r g) and so much of each way left."""
    rows = torch.arange(len(gain))
    start, end = torch.zeros_like(gain), torch.ones_like(gain)
    route = Route.between(start, end, rows, torch.ones_like(gain[:, :1]), Channels(1, gain.shape[1], ""))
    x = 1 - left
    return path.propose(Step(0, rows, None, x, gain[:, 0], gain, gain, x != end, rows >= 0), route)


@given(seed=seeds, count=st.integers(1, 40), softness=softnesses, share=st.floats(0.01, 1.0))
def test_graded_fractions_move_the_amount_best_first(seed: int, count: int, softness: float, share: float) -> None:
    """As long as the ramp ends within the line: at softness 1, that is up to half of what is left."""
    gain, left = images(seed, 2, count), images(seed + 1, 2, count)
    left[:, ::3] = 0
    amount = left.sum(1, keepdim=True) * share / (1 + softness)
    fraction = graded_fractions(gain, left, amount, softness)
    torch.testing.assert_close((fraction * left).sum(1, keepdim=True), amount, **CLOSE)
    assert ((fraction >= 0) & (fraction <= 1)).all()
    for row in range(2):
        moved = [float(fraction[row, j]) for j in gain[row].argsort(descending=True).tolist() if left[row, j] > 0]
        assert all(a >= b - 1e-12 for a, b in pairwise(moved))


@given(seed=seeds, softness=softnesses)
def test_an_endless_amount_moves_everything_to_its_end_exactly(seed: int, softness: float) -> None:
    gain, left = images(seed, 2, 9), images(seed + 1, 2, 9)
    assert (graded_fractions(gain, left, torch.full((2, 1), torch.inf).double(), softness) == 1).all()
    assert (one_step(GradedPath(1, softness), gain, left) == 1).all()


@pytest.mark.parametrize(
    ("softness", "expected"),
    [
        (0.0, [1.0, 1.0, 0.0, 0.0, 0.0, 0.0]),
        (0.5, [1.0, 0.75, 0.25, 0.0, 0.0, 0.0]),
        (0.25, [1.0, 0.875, 0.125, 0.0, 0.0, 0.0]),
        (1.0, [0.875, 0.625, 0.375, 0.125, 0.0, 0.0]),
    ],
)
def test_a_group_moves_by_the_mean_of_the_ramp_over_its_stretch(softness: float, expected: list[float]) -> None:
    """Two of six groups' worth; with softness 1/4, the ramp from 1.5 to 2.5 begins and ends within a group."""
    gain = torch.arange(6.0, 0, -1)[None]
    fraction = graded_fractions(gain, torch.ones(1, 6), torch.tensor([[2.0]]), softness)
    assert fraction[0].tolist() == pytest.approx(expected)


@pytest.mark.parametrize(("amount", "expected"), [(0.25, [0.25, 0, 0]), (1.75, [1, 0.75, 0]), (2.5, [1, 1, 0.5])])
def test_a_hard_cut_within_a_group_moves_it_as_far_as_it_reaches(amount: float, expected: list[float]) -> None:
    gain = torch.tensor([[3.0, 2.0, 1.0]])
    fraction = graded_fractions(gain, torch.ones(1, 3), torch.tensor([[amount]]), 0.0)
    assert fraction[0].tolist() == pytest.approx(expected)


def test_ties_are_lined_up_by_index_and_arrived_groups_stay_out_of_the_line() -> None:
    gain, left = torch.tensor([[1.0, 9.0, 1.0, 1.0]]), torch.tensor([[1.0, 0.0, 1.0, 1.0]])
    assert graded_fractions(gain, left, torch.tensor([[1.0]]), 0.0).tolist() == [[1, 0, 0, 0]]


@given(
    seed=seeds,
    count=st.integers(1, 200),
    softness=softnesses,
    share=st.floats(0.01, 1.0),
    levels=st.sampled_from([1, 3, 20, 10_000]),
)
def test_the_head_of_the_line_will_do(seed: int, count: int, softness: float, share: float, levels: int) -> None:
    """To the bit, with ties, other needs of other rows, a failed and an endless row; a GPU sorts all."""
    gain = (images(seed, 4, count) * levels).floor().float()
    left = (images(seed + 1, 4, count) * 2).clamp(max=1).float()
    left[:, ::5] = 0
    amount = left.sum(1, keepdim=True) * share * torch.tensor([[1.0], [0.1], [0.5], [1.0]]) / (1 + softness)
    amount[3] = torch.inf
    gain[2] = torch.nan if seed % 3 == 0 else gain[2]
    short = graded_fractions(gain, left, amount, softness)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graded_path, "line_up", lambda gain, *_: gain.argsort(dim=1, descending=True, stable=True))
        whole = graded_fractions(gain, left, amount, softness)
    assert torch.equal(short[left > 0], whole[left > 0])


def test_only_the_head_of_a_long_line_is_sorted() -> None:
    gain, left = images(0, 2, 1000), torch.ones(2, 1000).double()
    line = line_up(gain, left, torch.tensor([[100.0], [50.0]]).double())
    assert 100 < line.shape[1] < 150
    assert torch.equal(line, gain.argsort(1, True)[:, : line.shape[1]])
    almost_there = left * torch.where(gain > 0.5, 1e-3, 1.0)  # the best have so little left that a guess falls short
    assert line_up(gain, almost_there, torch.tensor([[100.0], [50.0]]).double()).shape[1] == 1000


@given(seed=seeds, softness=st.sampled_from([0.25, 0.8, 1.0]), swap=st.integers(0, 18))
def test_two_groups_that_change_places_change_the_graded_proposal_by_little(
    seed: int, softness: float, swap: int
) -> None:
    """By one place of the ramp's 2·softness·A at most, where a hard cut jumps by a whole group."""
    gain, left, amount = images(seed, 1, 20).sort(descending=True).values, images(seed + 1, 1, 20) / 2 + 0.5, 6.0
    gain[0, swap + 1] = gain[0, swap] - 1e-9
    other = gain.clone()
    other[0, swap + 1] = gain[0, swap] + 1e-9
    fractions = [graded_fractions(g, left, torch.tensor([[amount]]).double(), softness) for g in (gain, other)]
    assert (fractions[0] - fractions[1]).abs().max() <= 1 / (2 * softness * amount) + 1e-12


def test_a_hard_cut_jumps_where_a_graded_one_does_not() -> None:
    gain = torch.linspace(1, 0, 40, dtype=torch.float64)[None].clone()
    other = gain.clone()
    gain[0, 10], other[0, 9] = gain[0, 9] - 1e-9, other[0, 10] - 1e-9  # the last to move, and the first not to
    left = torch.ones_like(gain)
    jump, slip = (
        (one_step(path, gain, left) - one_step(path, other, left)).abs().max()
        for path in (SalientPath(10), GradedPath(4, 0.8))
    )
    assert jump == 1
    assert slip <= 1 / 16


@given(seed=seeds, softness=st.sampled_from([0.25, 0.8, 1.0]), change=st.floats(1e-9, 1e-3))
def test_graded_fractions_follow_what_is_left_continuously(seed: int, softness: float, change: float) -> None:
    """So rounding of a point, too, changes the next one by as little: by its shift along the ramp."""
    gain, left, amount = images(seed, 1, 20), images(seed + 1, 1, 20) / 2 + 0.5, torch.tensor([[4.0]]).double()
    nudged = left + change * (images(seed + 2, 1, 20) - 0.5)
    difference = (
        graded_fractions(gain, left, amount, softness) - graded_fractions(gain, nudged, amount, softness)
    ).abs()
    assert difference.max() <= 20 * change / (2 * softness * 4)


@given(
    seed=seeds,
    count=st.integers(1, 300),
    steps=st.integers(1, 20),
    softness=softnesses,
    growth=st.sampled_from([0.0, 0.7, 1.0]),
)
def test_a_graded_path_takes_exactly_its_steps(
    seed: int, count: int, steps: int, softness: float, growth: float
) -> None:
    """In float32, with other gains at every step; the bounds for the host are exact."""
    path, x = GradedPath(steps, softness, growth), torch.zeros(1, count)
    route = Route.between(x, torch.ones(1, count), torch.tensor([0]), torch.ones(1, 1), Channels(1, count, ""))
    for taken in range(min(steps, count)):
        assert (x != 1).any()
        gain = images(seed + taken, 1, count).float()
        x = path.propose(Step(taken, torch.tensor([0]), None, x, x[:, 0], gain, gain, x != 1, x[:, 0] > -1), route)
    assert (x == 1).all()
    assert path.least_steps(route) == min(steps, count)
    assert path.most_steps(route) == steps


def test_a_graded_path_of_a_photo_takes_its_steps_although_sums_are_rounded() -> None:
    path, x, count = GradedPath(13, 0.8, 0.7), torch.zeros(1, 224**2), 224**2
    route = Route.between(x, torch.ones(1, count), torch.tensor([0]), torch.ones(1, 1), Channels(1, count, ""))
    for taken in range(13):
        assert (x != 1).any()
        gain = images(taken, 1, count).float()
        x = path.propose(Step(taken, torch.tensor([0]), None, x, x[:, 0], gain, gain, x != 1, x[:, 0] > -1), route)
        part = (taken + 1) / 13
        assert float(x.double().sum()) == pytest.approx(count * (0.3 * part + 0.7 * part**2), rel=1e-3)
    assert (x == 1).all()


@given(seed=seeds, steps=st.integers(1, 40))
def test_straight_stops_at_equal_parts(seed: int, steps: int) -> None:
    x = images(seed, 2, 12)
    result = travel(net(seed), x, StraightPath(steps))
    parts = torch.arange(steps + 1, dtype=torch.float64)[:, None] / steps
    for direction, i, tape in tapes(result):
        expected = parts * x[i] if direction == "to_image" else (1 - parts) * x[i]
        torch.testing.assert_close(tape.points, expected, **CLOSE)


@pytest.mark.parametrize("credit", ["left", "trapezoid", "right"])
def test_ig_equals_the_riemann_sum_written_out(credit: str) -> None:
    model, x, blank = net(8), images(8, 3, 12), images(9, 3, 12)
    method = samp.IG(steps=20, credit=credit, baseline=blank)
    result = samp.explain(model, x, target=1, method=method)
    points = torch.stack([blank + k / 20 * (x - blank) for k in range(21)]).requires_grad_()
    (gradients,) = torch.autograd.grad(model(points.flatten(0, 1))[:, 1].sum(), points)
    ends = {"left": gradients[:-1], "right": gradients[1:], "trapezoid": (gradients[:-1] + gradients[1:]) / 2}
    torch.testing.assert_close(result.values, ends[credit].mean(0) * (x - blank), **CLOSE)
    assert result.gradients.tolist() == [21] * 3


def test_straight_under_a_rule_uses_grid_points_and_the_rules_own() -> None:
    """Thirds under η = 1/4: each third takes a quarter and then the rest of it."""
    x = torch.full((1, 4), 12.0, dtype=torch.float64)
    result = travel(net(0, features=4), x, StraightPath(3), rule=MaxL1(0.25), directions=["to_image"])
    assert result.tapes["to_image"][0].points[:, 0].tolist() == pytest.approx([0, 3, 4, 7, 8, 11, 12])


@pytest.mark.parametrize("change", [0.1, 1.0, -1.0, 10.0])
@pytest.mark.parametrize("steps", [3, 50, 200])
def test_a_line_far_from_zero_is_walked_in_as_many_steps_as_asked(change: float, steps: int) -> None:
    """The year 2020 and a bit: float32 rounds each point of the line by up to an eighth of a step, which costs none."""
    x, before = torch.tensor([[2020.0 + change]]), torch.tensor([[2020.0]])
    if abs(change) < 2 * steps * 2020 * torch.finfo(torch.float32).eps:
        pytest.skip("finer than float32 can tell")
    result = samp.explain(lambda x: 2 * x.sum(1), x, method=samp.IG(steps=steps, baseline=before, direction="both"))
    assert {d: s.tolist() for d, s in result.steps.items()} == {"to_baseline": [steps], "to_image": [steps]}
    torch.testing.assert_close(result.values, 4 * (x - before))


def test_a_wide_image_walks_straight_in_as_many_steps_as_asked() -> None:
    """How far a row has come is read off sums of 150,528 float32 numbers: their rounding must not cost a step."""
    x = images(0, 1, 3, 224, 224).float() * 5 - 2
    result = samp.explain(lambda x: x.flatten(1).mean(1), x, method=samp.IG(steps=300))
    assert result.steps["to_image"].tolist() == [300]
