"""Algorithm 1 by hand and against an oracle; every walk arrives, within its bound, or says why it cannot."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

import samp
from laws import (
    CLOSE,
    CountingModel,
    IndexOrderPath,
    algorithm_1,
    by_hand,
    images,
    momenta,
    net,
    pixels_of,
    ratios,
    seeds,
    tapes,
    travel,
)
from samp.baselines import Blurred
from samp.engine.fixed_paths import StraightPath
from samp.engine.paths import MaxL1, SalientPath, Unlimited

RISING = {"to_image": True, "to_baseline": False}


@pytest.mark.parametrize("credit", ["momentum", "left"])
def test_algorithm_1_by_hand(credit: str) -> None:
    """f = x₁x₂ + 2x₃ − x₄ from 0 to (1, 2, 1, 1), s = 1, η = 1/5 of the walk, λ = 1/2."""
    x = torch.tensor([[1.0, 2.0, 1.0, 1.0]], dtype=torch.float64)
    method = samp.SAMPPlusPlus(1, eta=0.2, momentum=0.5, credit=credit, direction="to_image")
    result = samp.explain(by_hand, x, method=method, keep_points=True)
    (tape,) = result.tapes["to_image"]
    moves = tape.points.diff(dim=0)
    expected = [[0, 0, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
    assert moves.tolist() == expected
    assert tape.steps.tolist() == [0, 1, 2, 3, 4, 5]
    assert result.scores["to_image"].tolist() == [[0, 2, 2, 3, 4, 3]]
    assert result.order["to_image"].tolist() == [[2, 4, 1, 5]]
    assert result.values.tolist() == {"momentum": [[0, 1.25, 2, -1]], "left": [[0, 2, 2, -1]]}[credit]
    assert result.residual.tolist() == {"momentum": [0.75], "left": [0]}[credit]
    assert result.score_change["to_image"].tolist() == [3]
    assert (result.steps["to_image"].tolist(), result.gradients.tolist()) == ([5], [6])


@pytest.mark.parametrize("direction", ["to_image", "to_baseline"])
@given(
    seed=seeds,
    shape=st.sampled_from([(1, 3, 4), (2, 2, 3), (3, 3, 3)]),
    s=st.integers(1, 5),
    eta=ratios,
    lam=momenta,
    kind=st.sampled_from([nn.ReLU, nn.Tanh]),
)
def test_walk_equals_algorithm_1_as_printed(
    direction: str, seed: int, shape: Any, s: int, eta: float | None, lam: float, kind: Any
) -> None:
    model, image, blank = net(seed, math.prod(shape), 1, kind), images(seed, 2, *shape), images(seed + 1, 2, *shape)
    same = images(seed + 2, 2, 1, *shape[1:]) < 0.3  # pixels that need not move
    blank = torch.where(same, image, blank)
    method = samp.SAMP(s, eta=eta, momentum=lam, direction=direction, baseline=blank)
    result = samp.explain(model, image, method=method)
    for i in range(2):
        start, end = (blank[i], image[i]) if RISING[direction] else (image[i], blank[i])
        pixels = pixels_of(shape[0], shape[1] * shape[2])
        walk = algorithm_1(model, start, end, pixels, s=s, eta=eta or 2, lam=lam, rising=RISING[direction])
        sign = 1 if RISING[direction] else -1
        np.testing.assert_allclose(result.values[i], sign * walk.values, **CLOSE)
        assert result.order[direction][i].tolist() == walk.arrival
        steps = int(result.steps[direction][i])
        np.testing.assert_allclose(result.scores[direction][i, : steps + 1], walk.scores, **CLOSE)


@pytest.mark.parametrize("direction", ["to_image", "to_baseline"])
@given(
    x=st.lists(st.integers(0, 2), min_size=12, max_size=12),
    weight=st.lists(st.integers(-1, 1), min_size=12, max_size=12),
    s=st.integers(1, 4),
    lam=st.sampled_from([0.0, 0.5]),
)
def test_ties_go_to_the_lowest_index(direction: str, x: list[int], weight: list[int], s: int, lam: float) -> None:
    """Whole numbers and halves: every gain is exact, so equal gains are equal to the bit."""
    image, w = torch.tensor(x, dtype=torch.float64).view(1, 2, 2, 3), torch.tensor(weight, dtype=torch.float64)

    def model(x: Tensor) -> Tensor:
        flat = x.flatten(1)
        return (flat * w).sum(1) + (flat * flat.roll(5, 1)).sum(1)

    result = samp.explain(model, image, method=samp.SAMP(s, momentum=lam, direction=direction, baseline=0))
    zero = torch.zeros_like(image[0])
    ends = (zero, image[0]) if RISING[direction] else (image[0], zero)
    walk = algorithm_1(model, *ends, pixels_of(2, 6), s=s, eta=2, lam=lam, rising=RISING[direction])
    assert result.order[direction][0].tolist() == walk.arrival
    assert result.scores[direction][0].tolist() == walk.scores


def test_deletion_lowers_the_score_first_and_its_credit_has_the_images_sign() -> None:
    weight = torch.tensor([3.0, -2.0, 1.0, 0.5], dtype=torch.float64)
    x = torch.ones(1, 4, dtype=torch.float64)
    result = samp.explain(lambda x: (x * weight).sum(1), x, method=samp.SAMP(1, direction="to_baseline"))
    assert result.order["to_baseline"].tolist() == [[1, 4, 2, 3]]
    assert result.scores["to_baseline"].tolist() == [[2.5, -0.5, -1.5, -2, 0]]
    assert result.values.tolist() == [weight.tolist()]
    assert result.score_change["to_baseline"].tolist() == [2.5]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("rule", [Unlimited(), MaxL1(0.013), MaxL1(0.3)])
@pytest.mark.parametrize("path", [SalientPath(1), SalientPath(7), StraightPath(1), StraightPath(37), IndexOrderPath()])
def test_every_path_with_every_rule_arrives_in_every_dtype(path: Any, rule: Any, dtype: torch.dtype) -> None:
    model = net(2, features=27).to(dtype)
    x, blank = images(2, 3, 3, 3, 3).to(dtype), images(3, 3, 3, 3, 3).to(dtype) * 40 - 20
    result = travel(model, x, path, rule=rule, baseline=blank)
    for direction, i, tape in tapes(result):
        ends = (blank[i], x[i]) if RISING[direction] else (x[i], blank[i])
        assert torch.equal(tape.points[0], ends[0].to(tape.points.dtype))
        assert torch.equal(tape.points[-1], ends[1].to(tape.points.dtype))
        assert int(tape.steps[-1]) == int(result.steps[direction][i])
    assert result.values.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    # the last score is the model's own at the end point, so f(end) comes for free
    score = model(x)[:, 0].to(result.values.dtype)
    last = result.scores["to_image"].gather(1, result.steps["to_image"][:, None]).squeeze(1)
    torch.testing.assert_close(last, score, rtol=1e-2 if dtype in (torch.float16, torch.bfloat16) else 1e-5, atol=1e-5)


@given(seed=seeds, size=st.integers(1, 5), eta=st.floats(0.01, 1.5), scale=st.sampled_from([1e-6, 1.0, 1e6]))
def test_steps_keep_their_bound_and_no_step_is_longer_than_eta(seed: int, size: int, eta: float, scale: float) -> None:
    x = (images(seed, 2, 12) * scale).float()
    result = travel(net(seed).float(), x, SalientPath(size), rule=MaxL1(eta), momentum=0.5)
    for direction, i, tape in tapes(result):
        assert int(result.steps[direction][i]) <= math.ceil(12 / size) + math.ceil(1 / eta)
        lengths = tape.points.diff(dim=0).abs().sum(1)
        # 5e-4: a rest longer than η by no more than the root of float32's precision goes whole
        assert (lengths <= eta * x[i].abs().sum() * (1 + 5e-4)).all()


@given(seed=seeds, steps=st.integers(1, 30), eta=st.floats(0.02, 1.5))
def test_straight_path_under_a_rule_keeps_its_bound_and_stays_on_the_line(seed: int, steps: int, eta: float) -> None:
    x = images(seed, 1, 12)
    result = travel(net(seed), x, StraightPath(steps), rule=MaxL1(eta))
    for direction, i, tape in tapes(result):
        assert int(result.steps[direction][i]) <= steps + math.ceil(1 / eta)
        fraction = tape.points / x[i]
        torch.testing.assert_close(fraction, fraction[:, :1].expand_as(fraction), **CLOSE)
        assert (fraction.diff(dim=0) * (1 if RISING[direction] else -1) > 0).all()


SHORT_LONG_STRAIGHT = [samp.SAMP(2, eta=0.3), samp.SAMP(1, eta=0.02), samp.IG(40, eta=0.1, direction="both")]


@pytest.mark.parametrize("method", SHORT_LONG_STRAIGHT)
@pytest.mark.parametrize("blank", [True, False])
def test_gradients_spent_are_those_the_model_was_asked_for(method: Any, blank: bool) -> None:
    model = CountingModel(net(4))
    x = images(4, 5, 12)
    x[1, :7], x[2, :3] = 0, 0  # walks of different lengths, and one of none at all
    x[0] = 0 if blank else x[0]
    result = samp.explain(model, x, method=method)
    assert int(result.gradients.sum()) == model.rows_with_gradient
    assert torch.equal(result.gradients, sum(result.steps.values()) + 2)
    assert (int(result.gradients[0]) == 2) == blank


@pytest.mark.parametrize("method", ["samp", "samp++", "ig"])
def test_an_input_that_is_its_own_baseline_gets_nothing_in_no_step(method: str) -> None:
    x = images(6, 3, 12)
    x[1] = 0
    result = samp.explain(net(6), x, target=0, method=method)
    assert not result.values[1].any()
    assert float(result.residual[1]) == 0
    for direction, steps in result.steps.items():
        assert int(steps[1]) == 0
        assert (result.order[direction][1] == -1).all()
        assert (steps[[0, 2]] > 0).all()
    alone = samp.explain(net(6), x[1:2], target=0, method=method)
    assert all(scores.shape == (1, 1) for scores in alone.scores.values())


@pytest.mark.parametrize("method", [samp.SAMP(), samp.SAMPPlusPlus(), samp.IG(baseline="blurred")])
def test_blank_images_whose_blur_differs_by_rounding_are_explained(method: Any) -> None:
    """Some of these walks are one unit of rounding long, which no step rule can divide."""
    model, method = net(0, features=16).float(), replace(method, direction="to_image")
    x = torch.linspace(0.05, 0.95, 30)[:, None, None, None].repeat(1, 1, 4, 4)
    x[-1] = images(0, 1, 4, 4)
    crumbs = (Blurred()(x) != x).flatten(1).any(1)
    assert crumbs[:-1].any()
    for some in (
        torch.ones(30).bool(),
        crumbs,
        crumbs & (torch.arange(30) < 29),
    ):  # beside walks of all kinds, or alone
        result = samp.explain(model, x[some], target=0, method=method)
        assert torch.equal(result.steps["to_image"] > 0, crumbs[some])
        assert result.steps["to_image"][: int(some[:-1].sum())].max() <= 2
        assert result.values.isfinite().all()


@pytest.mark.parametrize("method", [samp.SAMP(1), samp.SAMPPlusPlus(1), samp.IG(steps=3)])
def test_differences_as_small_as_rounding_still_earn_their_credit(method: Any) -> None:
    """A year, a pressure: 1 part in 200,000 is some 80 units of float32 rounding, and may be all there is."""
    x, before = torch.tensor([[2020.01, 0.0], [2020.01, 3.0]]), torch.tensor([[2020.0, 0.0]])
    weight = torch.tensor([1000.0, 1.0])
    method = replace(method, direction="to_image", baseline=before)
    result = samp.explain(lambda x: ((x - before) * weight).sum(1), x, method=method)
    torch.testing.assert_close(result.values, (x - before) * weight)


@pytest.mark.parametrize("eta", [1e-12, 1e-320])
def test_an_absurdly_small_eta_is_an_error_and_not_an_endless_walk(eta: float) -> None:
    sentence = r"the walk stands still at step \d+: its steps are too short for torch.float32 .*; use a larger eta"
    with pytest.raises(ValueError, match=sentence):
        samp.explain(net(0).float(), images(0, 1, 12).float() + 1, method=samp.SAMP(eta=eta))


def test_a_rule_and_a_path_of_the_users_find_all_there_is() -> None:
    """What nobody declares to need is not kept; whoever declares it finds it."""

    class Halfway(MaxL1):
        needs_start = True

        def limit(self, x: Tensor, proposal: Tensor, route: Any) -> Tensor:
            assert not torch.equal(route.start, route.end)
            return super().limit(x, proposal, route)

    class Curious(SalientPath):
        def propose(self, step: Any, route: Any) -> Tensor:
            assert step.number == 0 or not torch.equal(step.gradient, step.guide)
            return super().propose(step, route)

    x, how = images(0, 2, 12), {"momentum": 0.5, "credit": "momentum"}
    for path, rule in ((SalientPath(3), Halfway(0.3)), (Curious(3), MaxL1(0.3))):
        result = travel(net(0), x, path, rule=rule, **how)
        assert torch.equal(result.values, travel(net(0), x, SalientPath(3), rule=MaxL1(0.3), **how).values)


def test_a_path_that_never_arrives_is_an_error_and_not_an_endless_walk() -> None:
    class Zeno:
        needs_start = True
        is_fixed = False
        may_pause = False

        def propose(self, step: Any, route: Any) -> Tensor:
            return (step.x + route.end) / 2

        def least_steps(self, route: Any) -> int:
            return 0

        def most_steps(self, route: Any) -> int:
            return 5

    with pytest.raises(ValueError, match=r"the walk stands still at step 13"):
        travel(net(0), images(0, 1, 12), Zeno())
