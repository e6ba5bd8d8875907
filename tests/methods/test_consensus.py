"""The mean of jittered joint walks: against plain loops, and its laws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import samp
from laws import CLOSE, assert_same, assert_same_sample, differs, images, linear, majorant, net, pixels_of, seeds
from laws import value_and_gradient as score_of
from samp.methods.consensus import Consensus

PAIR = ("black", 0.7)
softnesses = st.sampled_from([0.0, 0.37, 0.83, 1.0])
growths = st.sampled_from([0.0, 0.7, 1.0])


# ---- the oracle ----


def noise_by_hand(elements: int, seed: int, numbers: list[int], points: int) -> np.ndarray:
    """White noise of each walk, point and direction: one field of the seed, read from a place of each walk's own."""
    random = torch.Generator().manual_seed(seed)
    length = max(elements, 2**16)
    field = torch.randn(length, generator=random, dtype=torch.float64).numpy()
    seeds = [int(torch.randint(2**62, (1,), generator=random)) for _ in range(max(numbers) + 1)]
    read = np.empty((len(numbers), points, 2, elements))
    for w, number in enumerate(numbers):
        own = torch.Generator().manual_seed(seeds[number])
        for k in range(points):
            for d in range(2):
                place = int(torch.randint(length, (1,), generator=own))
                read[w, k, d] = [field[(place + i) % length] for i in range(elements)]
    return read


def fractions_by_hand(gain: np.ndarray, left: np.ndarray, amount: float, softness: float) -> np.ndarray:
    """The part of its way that each group moves: the mean of the falling fraction over its stretch of the line."""

    def moved_up_to(t: float) -> float:
        """What the line up to t moves: all of it at first, then less and less, then nothing."""
        low, high = (1 - softness) * amount, (1 + softness) * amount
        ramp = min(max(t - low, 0), high - low)
        return min(t, low) + (ramp - ramp**2 / (2 * (high - low)) if high > low else 0)

    fraction, place = np.zeros(len(gain)), 0.0
    for j in sorted(np.flatnonzero(left), key=lambda j: (-gain[j], j)):
        share = (moved_up_to(place + left[j]) - moved_up_to(place)) / left[j]
        fraction[j] = 1 if share > 1 - 1e-9 else share
        place += left[j]
    return fraction


def walk_by_hand(
    f: Any, image: Tensor, black: Tensor, grey: Tensor, pixels: list[list[int]], noise: np.ndarray,
    *, steps: int, softness: float, lam: float, growth: float, weight: float,
) -> tuple[np.ndarray, list[int], list[list[float]]]:  # fmt: skip
    """Credit of each pixel, the step at which it arrived, and both score curves of one walk with its noise (k d n)."""
    flat = [t.flatten().numpy() for t in (image, black, grey)]
    x, end = [flat[0].copy(), flat[2].copy()], [flat[1], flat[0]]
    start = [one.copy() for one in x]
    whole = np.array([sum(np.abs(end[d][p] - start[d][p]).sum() for d in (0, 1)) for p in pixels])
    left, arrival, to_move = (whole > 0).astype(float), [-1] * len(pixels), int((whole > 0).sum())
    steps = min(steps, to_move)
    done = [(1 - growth) * k / steps + growth * (k / steps) ** 2 for k in range(steps + 1)]

    def look(k: int) -> tuple[list[float], list[np.ndarray]]:
        """Scores to first order from where the gradients are taken; at both ends the model's own."""
        scores, gradients = [], []
        for d in (0, 1):
            score, gradient = score_of(f, x[d] + noise[k, d], image.shape)
            exact = score_of(f, x[d], image.shape)[0]
            scores.append(exact if k in (0, steps) else score - gradient @ noise[k, d])
            gradients.append(gradient)
        return scores, gradients

    scores, gradients = look(0)
    curves, guide, credit_of = [[score] for score in scores], gradients, []
    for k in range(steps):
        gain = np.array([
            sum((-weight, 1)[d] * guide[d][i] * (end[d][i] - start[d][i]) for i in p for d in (0, 1)) for p in pixels
        ])  # fmt: skip
        amount = to_move * (done[k + 1] - done[k])
        fraction = fractions_by_hand(gain, left, amount, softness) if k + 1 < steps else (left > 0).astype(float)
        before, moved = [one.copy() for one in x], left * fraction
        for j, p in enumerate(pixels):
            for d in (0, 1):
                x[d][p] = end[d][p] if fraction[j] == 1 else x[d][p] + fraction[j] * (end[d][p] - x[d][p])
            arrival[j] = k + 1 if fraction[j] == 1 else arrival[j]
            left[j] = 0 if fraction[j] == 1 else left[j] - moved[j]
        scores, after = look(k + 1)
        effect = sum((np.abs(gradients[d]) + np.abs(after[d])) / 2 * np.abs(x[d] - before[d]) for d in (0, 1))
        credit_of.append((moved.sum(), np.array([effect[p].sum() for p in pixels])))
        guide = [lam * guide[d] + (1 - lam) * after[d] for d in (0, 1)]
        gradients = after
        for d in (0, 1):
            curves[d].append(scores[d])
    rises = np.diff(majorant(np.cumsum([0, *(m for m, _ in credit_of)]).tolist(), list(np.subtract(*curves[::-1]))))
    return (
        sum(rise * effect / effect.sum() for rise, (_, effect) in zip(rises, credit_of, strict=True)),
        arrival,
        curves,
    )


@settings(max_examples=15)
@given(
    seed=seeds,
    shape=st.sampled_from([(1, 3, 4), (3, 2, 3)]),
    steps=st.integers(1, 15),
    softness=softnesses,
    growth=growths,
    lam=st.sampled_from([0.0, 0.6]),
    weight=st.sampled_from([0.3, 1.0]),
    first=st.integers(0, 3),
)
def test_walks_and_credit_equal_plain_loops(
    seed: int, shape: Any, steps: int, softness: float, growth: float, lam: float, weight: float, first: int
) -> None:
    model, x = net(seed, math.prod(shape), 1), images(seed, 2, *shape)
    black, grey = images(seed + 1, 2, *shape), images(seed + 2, 2, *shape)
    black[1, :, 0, :2] = grey[1, :, 0, :2] = x[1, :, 0, :2]  # two pixels of the second need not move
    own: dict[str, Any] = {"steps": steps, "softness": softness, "growth": growth, "weight": weight}
    method = Consensus(walks=3, noise=0.05, momentum=lam, first_walk=first, baseline=(black, grey), **own)
    result = samp.explain(model, x, target=0, method=method, seed=seed)
    noise = noise_by_hand(x[0].numel(), seed, [first, first + 1, first + 2], steps + 1) * 0.05
    pixels = pixels_of(shape[0], math.prod(shape[1:]))
    for i in range(2):
        span = float(x[i].max() - x[i].min())
        walks = [walk_by_hand(model, x[i], black[i], grey[i], pixels, span * one, lam=lam, **own) for one in noise]
        np.testing.assert_allclose(result.group_values[i], np.mean([w[0] for w in walks], 0), rtol=1e-7, atol=1e-9)
        _, arrival, curves = walks[0]
        for d, direction in enumerate(("to_baseline", "to_image")):
            np.testing.assert_allclose(result.scores[direction][i, : len(curves[d])], curves[d], **CLOSE)
            if softness in (0.37, 0.83):  # otherwise a corner of the ramp may fall between pixels, and rounding decides
                assert result.order[direction][i].tolist() == arrival


# ---- laws ----


@settings(max_examples=20)
@given(
    seed=seeds,
    steps=st.integers(1, 9),
    walks=st.integers(1, 3),
    softness=softnesses,
    growth=growths,
    direction=st.sampled_from(["both", "to_image", "to_baseline"]),
    noise=st.sampled_from([0.001, 0.1, 1.0]),
)
def test_credit_sums_to_the_score_changes_of_each_direction(
    seed: int, steps: int, walks: int, softness: float, growth: float, direction: Any, noise: float
) -> None:
    x, model = images(seed, 3, 2, 3, 4), net(seed, 24)
    method = Consensus(
        steps=steps, walks=walks, softness=softness, growth=growth, noise=noise, direction=direction, baseline=PAIR
    )
    result = samp.explain(model, x, target=0, method=method)
    ends = {"to_baseline": torch.zeros_like(x), "to_image": torch.full_like(x, 0.7)}
    for walked, residual in result.residual_by_direction.items():
        change = (model(x) - model(ends[walked]))[:, 0].detach()
        torch.testing.assert_close(result.score_change[walked], change, **CLOSE)
        assert (residual.abs() <= 1e-10 * change.abs().clamp(min=0.1)).all()
    torch.testing.assert_close(result.values.flatten(1).sum(1), sum(result.score_change.values()), **CLOSE)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_credit_is_exact_in_every_dtype(dtype: torch.dtype) -> None:
    """In bfloat16 the score is rounded to 1/256, but the one of the ends is the same in credit and change."""
    x, model = images(0, 3, 3, 9, 9).to(dtype), net(0, 243).to(dtype)
    result = samp.explain(model, x, target=0, method=Consensus("draft"))
    change = sum(result.score_change.values()).abs()
    assert (result.residual.abs() <= (1e-10 if dtype == torch.float64 else 1e-5) * change.clamp(min=0.1)).all()
    assert result.values.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)


@given(seed=seeds, steps=st.integers(1, 12), softness=softnesses)
def test_weights_of_zero_earn_nothing(seed: int, steps: int, softness: float) -> None:
    weight = images(seed, 12).mul(4).sub(2) * (images(seed + 1, 12) < 0.6)
    method = Consensus(steps=steps, walks=2, softness=softness, noise=0.5, baseline=PAIR)
    result = samp.explain(linear(weight), images(seed + 2, 3, 12), method=method)
    assert (result.values[:, weight == 0] == 0).all()
    assert (result.residual.abs() < 1e-12).all()


def test_pixels_that_a_convolutional_net_does_not_see_earn_nothing_and_nor_does_a_dead_channel() -> None:
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 6, 3), nn.ReLU(), nn.Conv2d(6, 6, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    inside = nn.Sequential(*layers, nn.Linear(6, 3)).double().eval()
    inside[0].weight.data[:, 1] = 0  # green is never looked at
    result = samp.explain(lambda x: inside(x[:, :, 4:16, 3:14])[:, 1], images(0, 2, 3, 20, 20), method=Consensus())
    seen = torch.zeros(20, 20, dtype=torch.bool)
    seen[4:16, 3:14] = True
    assert (result.map[:, ~seen] == 0).all()
    assert (result.values[:, 1] == 0).all()
    assert (result.map[:, seen] != 0).all()


def row_by_row(seed: int, elements: int) -> Any:
    """A bent score whose rows do not share a product of matrices: its bits do not depend on the batch."""
    weight = images(seed, 2, elements) - 0.4

    def score(x: Tensor) -> Tensor:
        flat = x.flatten(1)
        return torch.stack([(flat * one).sum(1).tanh() + (flat**2 * one).sum(1).sin() for one in weight], 1)

    return score


@settings(max_examples=10)
@given(seed=seeds, steps=st.integers(1, 9), walks=st.integers(1, 4))
def test_result_does_not_depend_on_the_batch_to_the_bit(seed: int, steps: int, walks: int) -> None:
    x, model = images(seed, 5, 2, 3, 3), row_by_row(seed, 18)
    x[1, :, 0] = 0  # some have less to move in deletion, and fewer steps
    x[3] = 0.7
    method = Consensus(steps=steps, walks=walks, noise=0.05, baseline=PAIR)
    together = samp.explain(model, x, target=1, method=method)
    for size in (1, 3, 100):
        assert_same(together, samp.explain(model, x, target=1, method=method, batch_size=size))
    for i in range(5):
        assert_same_sample(together, i, samp.explain(model, x[i : i + 1], target=1, method=method), 0)
    mixed = samp.explain(model, x[[4, 2, 0]], target=1, method=method)
    for place, i in enumerate((4, 2, 0)):
        assert_same_sample(together, i, mixed, place)


@given(seed=seeds)
def test_a_seed_is_a_map_and_another_seed_another(seed: int) -> None:
    x, model = images(seed, 2, 3, 4, 4), net(seed, 48)
    maps = [samp.explain(model, x, target=0, method=Consensus("draft"), seed=s) for s in (seed, seed, seed + 1)]
    assert_same(maps[0], maps[1])
    assert not torch.equal(maps[0].values, maps[2].values)


@settings(max_examples=10)
@given(seed=seeds, walks=st.integers(1, 3), first=st.integers(0, 3))
def test_a_walk_is_the_same_whatever_the_number_of_walks(seed: int, walks: int, first: int) -> None:
    x, model = images(seed, 2, 3, 4, 4), net(seed, 48)

    def mean(walks: int, first: int) -> Any:
        return samp.explain(model, x, target=0, method=Consensus("draft", walks=walks, first_walk=first), seed=seed)

    parts, whole = [mean(walks, first), mean(walks, first + walks)], mean(2 * walks, first)
    torch.testing.assert_close((parts[0].values + parts[1].values) / 2, whole.values, **CLOSE)
    assert torch.equal(parts[0].scores["to_image"], whole.scores["to_image"])  # those of the first walk
    assert not torch.equal(parts[0].values, parts[1].values)


@given(
    seed=seeds,
    count=st.integers(1, 12),
    steps=st.integers(1, 15),
    softness=softnesses,
    growth=growths,
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_every_walk_takes_its_steps_and_moves_as_much_as_the_schedule_says(
    seed: int, count: int, steps: int, softness: float, growth: float, dtype: torch.dtype
) -> None:
    x = images(seed, 2, count).to(dtype) + 0.1
    x[1, : count // 3] = 0  # has less to move
    method = Consensus(walks=1, steps=steps, softness=softness, growth=growth, baseline=0)
    result = samp.explain(net(seed, count).to(dtype), x, target=0, method=method, keep_points=True)
    for i in range(2):
        moving = x[i] != 0
        own = min(steps, int(moving.sum()))
        assert result.steps["to_image"][i] == own
        part = torch.arange(own + 1) / own
        gone = (result.tapes["to_image"][i].points[:, moving] / x[i, moving]).sum(1)
        expected = ((1 - growth) * part + growth * part**2) * moving.sum()
        torch.testing.assert_close(gone, expected.to(dtype), rtol=1e-5, atol=1e-5)


@given(seed=seeds, count=st.integers(2, 12), steps=st.integers(1, 6))
def test_with_a_hard_cut_whole_groups_move_but_for_one(seed: int, count: int, steps: int) -> None:
    x = images(seed, 1, count) + 0.1
    method = Consensus(walks=1, steps=steps, softness=0, baseline=0)
    tape = samp.explain(net(seed, count), x, target=0, method=method, keep_points=True).tapes["to_image"][0]
    gone = tape.points / x
    moved, part = gone.diff(dim=0) > 1e-9, gone[1:] < 1 - 1e-9
    assert ((moved & part).sum(1) <= 1).all()
    assert (moved & ~part).any()


@given(seed=seeds, steps=st.integers(1, 9), softness=softnesses)
def test_both_directions_move_alike(seed: int, steps: int, softness: float) -> None:
    x = images(seed, 1, 3, 2, 4)
    method = Consensus(steps=steps, softness=softness, baseline=(-0.2, 1.3))
    result = samp.explain(net(seed, 24), x, method=method, keep_points=True)
    gone = [(t.points - t.points[0]) / (t.points[-1] - t.points[0]) for (t,) in result.tapes.values()]
    torch.testing.assert_close(gone[0], gone[1], rtol=1e-9, atol=1e-9)


def test_what_walks_do_not_agree_on_averages_out() -> None:
    """Means of more walks agree better with those of another seed, and the maps' resolution is finer."""
    x, model = images(0, 4, 1, 16, 16), net(0, 256)

    def look(walks: int) -> tuple[float, float]:
        one, other = (
            samp.explain(model, x, target=0, method=Consensus(walks=walks, steps=6, noise=0.3), seed=seed)
            for seed in (0, 1)
        )
        pairs = zip(one.map.flatten(1), other.map.flatten(1), strict=True)
        agreement = [float(torch.corrcoef(torch.stack(pair))[0, 1]) for pair in pairs]
        sides = one.resolution.double()
        return min(agreement), float(torch.where(sides > 0, sides, torch.inf).mean())  # 0: they do not agree

    few, many = look(2), look(16)
    assert many[0] > few[0]
    assert many[1] < math.inf
    assert many[1] <= few[1]


def test_a_linear_score_earns_each_pixel_its_own_change() -> None:
    """All walks agree: the score to first order is exact, and each pixel's effect is what it changes."""
    weight = images(0, 16) + 0.5
    x = images(1, 2, 1, 4, 4)
    result = samp.explain(linear(weight), x, method=Consensus(walks=4, steps=16, softness=0, growth=0, baseline=0))
    torch.testing.assert_close(result.values.flatten(1), 2 * weight * x.flatten(1), rtol=1e-6, atol=1e-6)
    assert result.resolution.tolist() == [1, 1]


def test_every_argument_changes_the_result() -> None:
    x, model = images(0, 2, 3, 6, 6), net(0, 108)
    plain = samp.explain(model, x, target=0, method=Consensus())
    others: list[dict[str, Any]] = [
        {"quality": "fine"}, {"walks": 3}, {"steps": 4}, {"noise": 0.1}, {"softness": 0.1}, {"momentum": 0.9},
        {"growth": 0.0}, {"weight": 1.0}, {"first_walk": 1}, {"direction": "to_image"}, {"baseline": "black"},
    ]  # fmt: skip
    for other in others:
        assert differs(plain, samp.explain(model, x, target=0, method=Consensus(**other))), other
