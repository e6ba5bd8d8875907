"""The coupled walk and its concave credit: their laws, and both against plain loops."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import samp
from laws import CLOSE, assert_same, assert_same_sample, images, linear, majorant, net, pixels_of, seeds
from laws import value_and_gradient as score_of
from samp.engine.driver import RunOptions, run_walks
from samp.engine.joint_walk import JointWalkPlan
from samp.engine.paths import MaxL1, SalientPath
from samp.engine.problem import make_problem
from samp.metrics import completeness_of

etas = st.sampled_from([0.03, 0.1, 0.37, 1.0])
growths = st.sampled_from([0.0, 0.5, 1.0])
weights = st.sampled_from([0.3, 1.0, 2.0])
PAIR = ("black", 0.7)


# ---- the oracle ----


def next_step(mean: float, gone: float, growth: float) -> float:
    """From p(τ) = gone to p(τ + mean), where p(τ) = (1 − growth)·τ + growth·τ² and τ is found by halving."""

    def done(tau: float) -> float:
        return (1 - growth) * tau + growth * tau**2

    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if done(middle) <= gone else (low, middle)
    return done(low + mean) - gone


def coupled_by_hand(
    f: Any, image: Tensor, black: Tensor, grey: Tensor, pixels: list[list[int]],
    *, s: int, eta: float, lam: float, growth: float, weight: float,
) -> tuple[np.ndarray, list[int], list[list[float]]]:  # fmt: skip
    """Credit of each pixel, the step at which it arrived, and both score curves; one sample, plain loops."""
    flat = [t.flatten().numpy() for t in (image, black, grey)]
    x, end = [flat[0].copy(), flat[2].copy()], [flat[1], flat[0]]
    start = [one.copy() for one in x]
    ways = [np.abs(e - b).sum() for e, b in zip(end, start, strict=True)]
    left, arrival, moves, effects = np.ones(len(pixels)), [-1] * len(pixels), [], []
    known = [score_of(f, one, image.shape) for one in x]
    scores, gradients, guide = (
        [[known[d][0]] for d in (0, 1)],
        [known[d][1] for d in (0, 1)],
        [known[d][1] for d in (0, 1)],
    )
    while any((a != b).any() for a, b in zip(x, end, strict=True)):
        short = [j for j, p in enumerate(pixels) if any((x[d][p] != end[d][p]).any() for d in (0, 1))]
        gain = {
            j: sum((-weight, 1)[d] * guide[d][i] * (end[d][i] - start[d][i]) for i in pixels[j] for d in (0, 1))
            for j in short
        }
        size = len(pixels) * next_step(s / len(pixels), 1 - len(short) / len(pixels), growth) if s > 1 else 1
        chosen = sorted(short, key=lambda j: (-gain[j], j))[: math.ceil(size - 1e-4)]
        here = [i for j in chosen for i in pixels[j]]
        lengths = [np.abs(end[d][here] - x[d][here]).sum() / ways[d] for d in (0, 1)]
        gone = [1 - np.abs(end[d] - x[d]).sum() / ways[d] for d in (0, 1)]
        share = min(next_step(eta, gone[d], growth) / lengths[d] for d in (0, 1))
        share = 1.0 if share >= 1 - 1e-9 else share
        effect = np.zeros(len(flat[0]))
        for d in (0, 1):
            before = x[d].copy()
            x[d][here] = end[d][here] if share == 1 else x[d][here] + share * (end[d][here] - x[d][here])
            score, gradient = score_of(f, x[d], image.shape)
            effect += (np.abs(gradients[d]) + np.abs(gradient)) / 2 * np.abs(x[d] - before)
            gradients[d], guide[d] = gradient, lam * guide[d] + (1 - lam) * gradient
            scores[d].append(score)
        moves.append({j: left[j] * share for j in chosen})
        effects.append([effect[pixels[j]].sum() for j in range(len(pixels))])
        for j in chosen:
            left[j] *= 1 - share
            arrival[j] = len(moves) if share == 1 else arrival[j]
    return _concave(moves, np.array(effects), scores), arrival, scores


def _concave(moves: list[dict[int, float]], effects: np.ndarray, scores: list[list[float]]) -> np.ndarray:
    """What the majorant, by its definition, rises over each step, shared by effect."""
    gained = np.array(scores[1]) - np.array(scores[0])
    t = np.cumsum([0, *(sum(move.values()) for move in moves)])
    rises = np.diff(majorant(t.tolist(), gained.tolist()))
    return (rises[:, None] * effects / effects.sum(1, keepdims=True)).sum(0)


@settings(max_examples=15)
@given(
    seed=seeds,
    shape=st.sampled_from([(1, 3, 4), (3, 2, 3)]),
    s=st.integers(1, 5),
    eta=etas,
    lam=st.sampled_from([0.0, 0.6]),
    growth=growths,
    weight=weights,
)
def test_walk_and_credit_equal_plain_loops(
    seed: int, shape: Any, s: int, eta: float, lam: float, growth: float, weight: float
) -> None:
    model, x = net(seed, math.prod(shape), 1), images(seed, 2, *shape)
    black, grey = images(seed + 1, 2, *shape), images(seed + 2, 2, *shape)
    own: dict[str, Any] = {"growth": growth, "weight": weight}
    method = samp.Coupled(pixels_per_step=s, eta=eta, momentum=lam, baseline=(black, grey), **own)
    result = samp.explain(model, x, target=0, method=method)
    for i in range(2):
        pixels = pixels_of(shape[0], math.prod(shape[1:]))
        credit, arrival, scores = coupled_by_hand(model, x[i], black[i], grey[i], pixels, s=s, eta=eta, lam=lam, **own)
        for d, direction in enumerate(("to_baseline", "to_image")):
            assert result.order[direction][i].tolist() == arrival
            np.testing.assert_allclose(result.scores[direction][i, : len(scores[d])], scores[d], **CLOSE)
        np.testing.assert_allclose(result.group_values[i], credit, rtol=1e-7, atol=1e-9)


# ---- laws ----


@settings(max_examples=15)
@given(
    seed=seeds,
    eta=etas,
    weight=weights,
    growth=growths,
    direction=st.sampled_from(["both", "to_image", "to_baseline"]),
)
def test_credit_sums_to_the_score_changes_of_each_direction(
    seed: int, eta: float, weight: float, growth: float, direction: Any
) -> None:
    x = images(seed, 3, 2, 3, 4)
    method = samp.Coupled(eta=eta, weight=weight, growth=growth, steps=5, direction=direction, baseline=PAIR)
    result = samp.explain(net(seed, 24), x, method=method)
    for one in completeness_of(result).values():
        assert (one.absolute < 1e-12).all()
    change = sum(result.score_change.values())
    torch.testing.assert_close(result.values.flatten(1).sum(1), change, **CLOSE)
    torch.testing.assert_close(result.group_values.sum(1), change, **CLOSE)


@pytest.mark.parametrize(("dtype", "least"), [(torch.float64, 1e-13), (torch.float32, 1e-5), (torch.bfloat16, 1e-5)])
def test_credit_is_exact_in_every_dtype(dtype: torch.dtype, least: float) -> None:
    x, model = images(0, 4, 3, 9, 9).to(dtype), net(0, 243).to(dtype)
    result = samp.explain(model, x, target=0, method=samp.Coupled())
    change = sum(result.score_change.values()).abs()
    assert (result.residual.abs() <= least * change.clamp(min=0.1)).all()
    assert result.values.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)


@given(seed=seeds, s=st.integers(1, 6), growth=growths, weight=weights)
def test_steps_earn_less_and_less_for_each_group_they_move(seed: int, s: int, growth: float, weight: float) -> None:
    method = samp.Coupled(pixels_per_step=s, eta=1, growth=growth, weight=weight, baseline=PAIR)
    result = samp.explain(net(seed, 12), images(seed, 2, 1, 3, 4), method=method)
    for credit, order in zip(result.group_values, result.order["to_image"], strict=True):
        means = [credit[order == step].mean() for step in order.unique()]
        for earlier, later in pairwise(means):
            assert earlier >= later - 1e-12


@given(seed=seeds, s=st.integers(1, 6), weight=weights)
def test_credit_up_to_any_step_is_the_majorant_of_the_score_curve_there(seed: int, s: int, weight: float) -> None:
    """The definition, read off the results alone: what has arrived by a step has earned the majorant's height there."""
    method = samp.Coupled(pixels_per_step=s, eta=1, growth=0.5, weight=weight, baseline=PAIR)
    result = samp.explain(net(seed, 12), images(seed, 2, 1, 3, 4), method=method)
    for i, order in enumerate(result.order["to_image"]):
        steps = range(int(result.steps["to_image"][i]) + 1)
        gained = result.scores["to_image"][i, : len(steps)] - result.scores["to_baseline"][i, : len(steps)]
        moved = [float((order <= step).sum()) for step in steps]
        earned = [float(result.group_values[i][order <= step].sum()) for step in steps]
        np.testing.assert_allclose(earned, majorant(moved, (gained - gained[0]).tolist()), rtol=1e-9, atol=1e-12)


@settings(max_examples=15)
@given(seed=seeds, eta=st.sampled_from([0.03, 0.2, 1.0]), s=st.integers(1, 5), momentum=st.sampled_from([0.0, 0.5]))
@pytest.mark.parametrize("direction", ["to_image", "to_baseline"])
def test_with_one_direction_and_the_gain_of_equation_8_the_path_is_samps(
    direction: Any, seed: int, eta: float, s: int, momentum: float
) -> None:
    x, model = images(seed, 2, 3, 2, 4), net(seed, 24)
    problem = make_problem(model, x, 0)
    plan = JointWalkPlan(
        SalientPath(s), MaxL1(eta), momentum, {direction: torch.full_like(problem.x, 0.3)}, "", weight=0.5
    )
    ours = run_walks(problem, plan, RunOptions(tape_bytes=2**20))
    common = {"pixels_per_step": s, "eta": eta, "momentum": momentum, "direction": direction, "baseline": 0.3}
    theirs = samp.explain(model, x, target=0, method=samp.SAMP(**common), keep_points=True)
    assert torch.equal(ours.order[direction], theirs.order[direction])
    assert torch.equal(ours.scores[direction].nan_to_num(9), theirs.scores[direction].nan_to_num(9))
    for a, b in zip(ours.tapes[direction], theirs.tapes[direction], strict=True):
        assert torch.equal(a.points, b.points)


@settings(max_examples=15)
@given(seed=seeds, eta=etas, s=st.integers(1, 7))
def test_both_directions_move_the_same_groups_by_the_same_fraction_within_the_bound(
    seed: int, eta: float, s: int
) -> None:
    x = images(seed, 2, 3, 2, 4)
    method = samp.Coupled(pixels_per_step=s, eta=eta, baseline=(-0.2, 1.3), growth=0)
    result = samp.explain(net(seed, 24), x, method=method, keep_points=True)
    for i in range(2):
        down, up = result.tapes["to_baseline"][i], result.tapes["to_image"][i]
        gone = [(t.points - t.points[0]) / (t.points[-1] - t.points[0]) for t in (down, up)]
        torch.testing.assert_close(gone[0], gone[1], rtol=1e-9, atol=1e-9)
        lengths = [
            t.points.diff(dim=0).abs().flatten(1).sum(1) / (t.points[-1] - t.points[0]).abs().sum() for t in (down, up)
        ]
        assert (torch.stack(lengths) <= eta * (1 + 1e-6)).all()
        cut = (gone[0].diff(dim=0) > 0) & (gone[0][1:] < 1)
        assert (
            torch.stack(lengths).amax(0)[cut.flatten(1).any(1)].sub(eta).abs().le(1e-6).all()
        )  # a cut step is as long as allowed


@settings(max_examples=6)
@given(seed=seeds, eta=etas)
def test_result_does_not_depend_on_the_batch(seed: int, eta: float) -> None:
    x, model = images(seed, 5, 2, 3, 3), net(seed, 18)
    method = samp.Coupled(steps=4, eta=eta, growth=0.5, baseline=PAIR)
    together = samp.explain(model, x, target=1, method=method, batch_size=100)
    for size in (1, 3):
        assert_same(together, samp.explain(model, x, target=1, method=method, batch_size=size), **CLOSE)
    for i in range(5):
        assert_same_sample(together, i, samp.explain(model, x[i : i + 1], target=1, method=method), 0, **CLOSE)


# ---- who earns nothing ----


@given(seed=seeds, eta=etas, s=st.integers(1, 12))
def test_weights_of_zero_earn_nothing(seed: int, eta: float, s: int) -> None:
    weight = images(seed, 12).mul(4).sub(2) * (images(seed + 1, 12) < 0.6)
    result = samp.explain(
        linear(weight), images(seed + 2, 3, 12), method=samp.Coupled(pixels_per_step=s, eta=eta, baseline=PAIR)
    )
    assert (result.values[:, weight == 0] == 0).all()
    assert (result.residual.abs() < 1e-12).all()


def test_pixels_that_a_convolutional_net_does_not_see_earn_nothing_and_nor_does_a_dead_channel() -> None:
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 6, 3), nn.ReLU(), nn.Conv2d(6, 6, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    inside = nn.Sequential(*layers, nn.Linear(6, 3)).double().eval()
    inside[0].weight.data[:, 1] = 0  # green is never looked at
    result = samp.explain(lambda x: inside(x[:, :, 4:16, 3:14])[:, 1], images(0, 2, 3, 20, 20), method="coupled")
    seen = torch.zeros(20, 20, dtype=torch.bool)
    seen[4:16, 3:14] = True
    assert (result.map[:, ~seen] == 0).all()
    assert (result.values[:, 1] == 0).all()
    assert (result.map[:, seen] != 0).all()
    assert (result.residual.abs() < 1e-12).all()
    assert (result.blind["to_image"] == 0).all()


def test_what_need_not_move_earns_nothing() -> None:
    x = images(0, 2, 12)
    x[:, :4] = 0
    result = samp.explain(net(0), x, target=0, method=samp.Coupled(baseline=0))
    assert (result.values[:, :4] == 0).all()
    assert (result.order["to_image"][:, :4] == -1).all()


def test_without_any_gradient_the_change_is_shared_by_the_way_and_said_to_be_blind() -> None:
    def steps(x: Tensor) -> Tensor:
        return (x > 0.5).double().sum(1) + 0 * x.sum(1)

    result = samp.explain(steps, torch.ones(1, 4).double(), method=samp.Coupled(steps=2, baseline=0))
    assert result.values.sum().item() == pytest.approx(8)
    assert (result.blind["to_image"] > 0).all()


def test_what_comes_alive_only_by_its_move_earns_and_is_not_blind() -> None:
    """Before its move the pixel has no gradient, after it one: both are looked at."""
    weight = torch.tensor([1.0, 0.5]).double()

    def awake(x: Tensor) -> Tensor:
        return ((x - 0.5).relu() * weight).sum(1)

    result = samp.explain(
        awake, torch.ones(1, 2).double(), method=samp.Coupled(steps=1, direction="to_image", baseline=0)
    )
    torch.testing.assert_close(result.values, weight[None] / 2, **CLOSE)
    assert (result.blind["to_image"] == 0).all()
