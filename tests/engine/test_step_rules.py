"""The infinitesimal constraint (Eq. 9)."""

from __future__ import annotations

import torch
from hypothesis import assume, given
from hypothesis import strategies as st

import samp
from laws import images, net, vectors
from samp.engine.paths import MaxL1, Unlimited
from samp.engine.walk import Route
from samp.groups import Channels


def route(start: torch.Tensor, end: torch.Tensor) -> Route:
    return Route.between(start, end, torch.zeros(1).long(), torch.ones(1, 1), Channels(1, start.shape[1], "elements"))


def test_a_step_within_the_bound_is_returned_unchanged() -> None:
    whole = route(torch.zeros(1, 3), torch.tensor([[0.1, 0.2, 0.7]]))
    proposal = torch.tensor([[0.1, 0.2, 0.0]])
    assert torch.equal(MaxL1(0.5).limit(whole.start, proposal, whole), proposal)
    assert torch.equal(Unlimited().limit(whole.start, whole.end, whole), whole.end)


@given(start=vectors(5), end=vectors(5), ratio=st.floats(0.01, 2))
def test_a_longer_step_keeps_its_direction_and_has_length_eta(
    start: torch.Tensor, end: torch.Tensor, ratio: float
) -> None:
    assume(not torch.equal(start, end))  # a row that stands on its end is never asked to move
    whole = route(start, end)
    step = MaxL1(ratio).limit(start, end, whole) - start
    length, longest = step.abs().sum(), min(ratio, 1) * whole.length
    # 2e-8: a step longer than η by no more than the root of float64's precision goes whole
    torch.testing.assert_close(length, longest.squeeze(), rtol=2e-8, atol=1e-12)
    torch.testing.assert_close(step * whole.length, (end - start) * longest, rtol=2e-8, atol=1e-12)


def test_rounding_leaves_no_crumbs_that_take_a_step_of_their_own() -> None:
    """Ten tenths are the whole walk, although ten times 0.1 of a float32 length seldom add up to it."""
    x = images(0, 40, 12).float()
    method = samp.SAMP(12, eta=0.1, direction="to_image")
    assert samp.explain(net(0).float(), x, method=method).steps["to_image"].tolist() == [10] * 40


def test_each_row_is_limited_by_its_own_walk() -> None:
    start, end = torch.zeros(2, 2), torch.tensor([[1.0, 1.0], [10.0, 0.0]])
    both = Route.between(start, end, torch.arange(2), torch.ones(2, 1), Channels(1, 2, "elements"))
    assert MaxL1(0.5).limit(start, end, both).tolist() == [[0.5, 0.5], [5.0, 0.0]]
