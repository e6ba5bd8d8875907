"""Paths propose from wherever a row stands."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import samp
from laws import CLOSE, images, linear, net, seeds, tapes, travel
from samp.engine.fixed_paths import StraightPath
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
