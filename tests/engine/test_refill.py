"""Refill: rows that begin as others arrive walk as they would alone, and the batch stays full until none waits."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import samp
from laws import CLOSE, IndexOrderPath, Recording, assert_same, images, net, seeds, uneven_images
from samp.engine.credit import CREDITS
from samp.engine.driver import BATCHES_A_WALK, RunOptions, WalkPlan, run_walks
from samp.engine.fixed_paths import StraightPath
from samp.engine.paths import MaxL1, SalientPath, Unlimited
from samp.engine.problem import make_problem
from samp.engine.refill import can_refill
from samp.methods.coupled import Coupled
from samp.methods.guided_ig import GuidedIG

PATHS = (
    SalientPath(1),
    SalientPath(3),
    SalientPath(2, full_distance=True),
    SalientPath(steps=4, growth=0.7),
)


@given(
    seed=seeds,
    room=st.integers(1, 7),
    count=st.integers(1, 9),
    path=st.sampled_from(PATHS),
    eta=st.sampled_from([None, 0.07, 0.3]),
    momentum=st.sampled_from([0.0, 0.5]),
    credit=st.sampled_from(["momentum", "trapezoid", "shared"]),
)
def test_rows_that_share_a_batch_at_different_steps_walk_as_in_one_batch(
    seed: int, room: int, count: int, path: Any, eta: float | None, momentum: float, credit: str
) -> None:
    x = uneven_images(seed, count, 3, 2, 2)
    problem = make_problem(net(seed), x, 0)
    baselines = {"to_baseline": torch.zeros_like(problem.x), "to_image": torch.full_like(problem.x, 0.3)}
    rule = Unlimited() if eta is None else MaxL1(eta)
    chosen: Any = CREDITS[credit]
    plan = WalkPlan(path, rule, momentum, chosen, baselines, "by hand")  # type: ignore[arg-type]  # a dict of both
    expected = run_walks(problem, plan, RunOptions(tape_bytes=2**20))
    refilled = run_walks(problem, plan, RunOptions(batch_size=room, tape_bytes=2**20))
    assert_same(refilled, expected, **CLOSE)
    for direction, tapes in expected.tapes.items():
        for ours, theirs in zip(refilled.tapes[direction], tapes, strict=True):
            assert torch.equal(ours.steps, theirs.steps)
            torch.testing.assert_close(ours.points, theirs.points, **CLOSE)


@pytest.mark.parametrize(
    "method", [samp.SAMP(1, baseline=0.0), samp.SAMPPlusPlus(baseline=0.0), GuidedIG(baseline=0.0)]
)
def test_calls_stay_full_until_no_row_waits(method: Any) -> None:
    x = uneven_images(0, 40, 12)
    model = Recording(net(0))
    result = samp.explain(model, x, target=0, method=method, batch_size=8)
    together = samp.explain(net(0), x, target=0, method=method)
    assert_same(result, together, **CLOSE)
    assert sum(model.gradient_rows) == int(result.gradients.sum())  # none for rows that have arrived
    shrinking = next(i for i, rows in enumerate(model.gradient_rows) if rows < 8)
    tail = model.gradient_rows[shrinking:]
    longest = max(int(steps.max()) for steps in result.steps.values())
    assert all(a >= b for a, b in pairwise(tail))
    assert len(tail) <= longest + 1  # one tail for all samples, not one for each batch
    assert sum(rows == 8 for rows in model.gradient_rows) > 3 * longest


def test_one_walk_takes_so_many_batches_and_the_next_begins_anew() -> None:
    x, model = uneven_images(0, 2 * BATCHES_A_WALK + 3, 12), Recording(net(0))
    method = samp.SAMP(1, direction="to_image", baseline=0.0)
    result = samp.explain(model, x, target=0, method=method, batch_size=2)
    assert_same(result, samp.explain(net(0), x, target=0, method=method), **CLOSE)
    assert sum(model.gradient_rows) == int(result.gradients.sum())


def test_walks_that_are_watched_go_batch_by_batch() -> None:
    x, seen = uneven_images(0, 5, 12), []

    def watch(step: samp.WalkStep) -> None:
        seen.append((step.number, step.samples.tolist()))

    method = samp.SAMP(1, direction="to_image", baseline=0.0)
    watched = samp.explain(net(0), x, target=0, method=method, batch_size=2, on_step=watch)
    assert_same(watched, samp.explain(net(0), x, target=0, method=method, batch_size=2), **CLOSE)
    assert [number for number, _ in seen].count(0) == 3  # 2, 2 and 1 samples


def test_paths_that_count_their_steps_or_do_not_say_are_not_refilled() -> None:
    assert can_refill(SalientPath(1))
    assert not can_refill(IndexOrderPath())  # does not say
    assert not can_refill(StraightPath(3))
    x, plan = uneven_images(0, 4, 12), {"rule": Unlimited(), "momentum": 0.0, "credit": CREDITS["left"], "label": ""}
    problem = make_problem(net(0), x, 0)
    baselines = {"to_image": torch.zeros_like(problem.x)}
    lazy = WalkPlan(path=IndexOrderPath(), baselines=baselines, **plan)  # type: ignore[arg-type]  # a dict of settings
    assert not lazy.can_refill(problem)
    assert_same(run_walks(problem, lazy, RunOptions(batch_size=2)), run_walks(problem, lazy, RunOptions()), **CLOSE)


@dataclass(frozen=True)
class Snail(SalientPath):
    """A path whose bound on its steps is too low by far."""

    def most_steps(self, route: Any) -> int:
        return 0


@dataclass(frozen=True)
class Rock(SalientPath):
    """A path that never moves a row whose first element is below a half."""

    def propose(self, step: Any, route: Any) -> Tensor:
        return torch.where(route.end[:, :1] < 0.5, step.x, super().propose(step, route))


@pytest.mark.parametrize(("path", "step"), [(Snail(1), "step 8"), (Rock(1), r"step \d+")])
def test_a_row_that_does_not_arrive_is_an_error_although_others_have_begun_since(path: Any, step: str) -> None:
    x = images(0, 6, 24)
    x[:, 0] = torch.tensor([0.9, 0.8, 0.9, 0.7, 0.1, 0.9])
    problem = make_problem(net(0, features=24), x, 0)
    plan = WalkPlan(path, Unlimited(), 0.0, CREDITS["left"], {"to_image": torch.zeros_like(problem.x)}, "")
    with pytest.raises(ValueError, match=f"the walk stands still at {step}"):
        run_walks(problem, plan, RunOptions(batch_size=2))


def test_a_row_that_fails_leaves_its_place_to_the_next_and_is_named() -> None:
    x, inner = uneven_images(1, 6, 12), net(1)
    x[2] = images(5, 12)
    x[2, 0] = 0.987654321

    def model(x: Tensor) -> Tensor:
        return torch.where((x[:, :1] == 0.987654321) & (x[:, 1:].sum(1, keepdim=True) > 1), torch.nan, inner(x))

    method = samp.SAMP(1, direction="to_image", baseline=0.0)
    with pytest.raises(samp.NonFiniteError, match=r"sample 2 at step \d+ of its walk to_image") as caught:
        samp.explain(model, x, target=0, method=method, batch_size=2)
    with pytest.raises(samp.NonFiniteError) as alone:
        samp.explain(model, x[2:3], target=0, method=method)
    assert str(caught.value).split("step ")[1].split(" ")[0] == str(alone.value).split("step ")[1].split(" ")[0]
    expected = samp.explain(inner, x, target=0, method=method)
    others = [0, 1, 3, 4, 5]
    torch.testing.assert_close(caught.value.result.values[others], expected.values[others], **CLOSE)


def test_joint_walks_go_batch_by_batch() -> None:
    x = uneven_images(0, 5, 3, 2, 2)
    method = Coupled(quality="fine")
    together = samp.explain(net(0), x, target=0, method=method)
    assert_same(samp.explain(net(0), x, target=0, method=method, batch_size=4), together, **CLOSE)
