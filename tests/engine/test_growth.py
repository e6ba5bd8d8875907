"""Steps that grow along a walk."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from laws import images, net, seeds, travel
from samp.engine.paths import MaxL1, SalientPath, next_step_share

growths = st.floats(0, 1)


@given(steps=st.integers(1, 60), growth=growths)
def test_the_way_takes_as_many_steps_as_without_growth_and_each_is_longer_than_the_last(
    steps: int, growth: float
) -> None:
    gone, taken = torch.zeros((), dtype=torch.float64), []
    for _ in range(steps):
        taken.append(next_step_share(1 / steps, gone, growth))
        gone = gone + taken[-1]
    assert gone.item() == pytest.approx(1)
    lengths = torch.stack(taken)
    torch.testing.assert_close(lengths.diff(), torch.full((steps - 1,), 2 * growth / steps**2).double())
    assert lengths[0].item() == pytest.approx((1 - growth) / steps + growth / steps**2)


@given(first=st.floats(0, 1), more=st.floats(0, 1), growth=growths)
def test_whoever_stands_further_on_is_not_overtaken(first: float, more: float, growth: float) -> None:
    """So a walk whose steps a rule cuts short takes no more whole steps than one that is left alone."""
    here, there = (torch.tensor(gone, dtype=torch.float64) for gone in sorted((first, more)))
    assert here + next_step_share(0.1, here, growth) <= there + next_step_share(0.1, there, growth) + 1e-12


@given(seed=seeds, steps=st.integers(1, 14), growth=growths)
def test_sizes_grow_and_take_all_groups_in_as_many_steps(seed: int, steps: int, growth: float) -> None:
    x = images(seed, 2, 500)
    result = travel(net(seed, 500), x, SalientPath(-(-500 // steps), growth=growth), directions=["to_image"])
    even = travel(net(seed, 500), x, SalientPath(-(-500 // steps)), directions=["to_image"])
    assert torch.equal(result.steps["to_image"], even.steps["to_image"])
    for order in result.order["to_image"]:
        sizes = order.bincount()[1:]
        assert (sizes[:-1].diff() >= -1).all()  # rounding up may take the next one's last group
        assert sizes.sum() == 500


@pytest.mark.parametrize("size", [1, 7, 100])
def test_sizes_are_those_of_the_schedule(size: int) -> None:
    result = travel(net(0, 500), images(0, 1, 500), SalientPath(size, growth=0.8), directions=["to_image"])
    moved, expected = 0, []
    while moved < 500:  # p(τ) = 0.2 τ + 0.8 τ²; one at a time stays one at a time
        tau = (-0.2 + (0.04 + 3.2 * moved / 500) ** 0.5) / 1.6 + size / 500
        target = 500 * (0.2 * tau + 0.8 * tau**2)
        expected.append(min(math.ceil(target - moved - 1e-4) if size > 1 else 1, 500 - moved))
        moved += expected[-1]
    assert result.order["to_image"][0].bincount()[1:].tolist() == expected


def test_masks_of_each_sample_grow_by_their_own_groups() -> None:
    x = images(0, 2, 60)
    masks = torch.stack([torch.arange(60), torch.arange(60) // 2])
    both = travel(net(0, 60), x, SalientPath(steps=5, growth=0.7), groups=masks, directions=["to_image"])
    assert both.steps["to_image"].tolist() == [5, 5]
    for i in range(2):
        alone = travel(
            net(0, 60), x[i : i + 1], SalientPath(steps=5, growth=0.7), groups=masks[i], directions=["to_image"]
        )
        assert torch.equal(both.order["to_image"][i][: alone.order["to_image"].shape[1]], alone.order["to_image"][0])


@given(seed=seeds, growth=growths, eta=st.sampled_from([0.04, 0.1, 0.3]))
def test_a_bound_that_grows_is_kept_and_its_walk_takes_one_over_eta_steps(seed: int, growth: float, eta: float) -> None:
    x = images(seed, 1, 12)
    result = travel(net(seed), x, SalientPath(12), rule=MaxL1(eta, growth), directions=["to_image"])
    points = result.tapes["to_image"][0].points
    lengths, way = points.diff(dim=0).abs().sum(1), x.sum()
    assert len(lengths) == -(-1 // eta)
    gone = points[:-1].sum(1) / way
    torch.testing.assert_close(lengths[:-1] / way, next_step_share(eta, gone, growth)[:-1], rtol=1e-7, atol=1e-9)
    assert lengths[-1] / way <= next_step_share(eta, gone, growth)[-1] * (1 + 1e-6)


@given(seed=seeds, growth=growths, eta=st.sampled_from([0.04, 0.15]), size=st.integers(2, 40))
def test_sizes_and_bound_grow_together_within_the_number_of_steps(
    seed: int, growth: float, eta: float, size: int
) -> None:
    x = images(seed, 2, 40)
    result = travel(net(seed, 40), x, SalientPath(size, growth=growth), rule=MaxL1(eta, growth))
    for steps in result.steps.values():
        assert (steps <= -(-40 // size) + -(-1 // eta)).all()
