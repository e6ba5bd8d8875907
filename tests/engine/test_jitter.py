"""Noise on gradients' points, the mean of walks, and the resolution at which maps of walks agree."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import samp
from laws import CLOSE, CountingModel, images, net, seeds
from samp.engine.graded_path import GradedPath
from samp.engine.jitter import (
    AGREEMENT,
    MOST_POINTS,
    SIDES,
    EndScores,
    Jitter,
    JitterSettings,
    WalkMean,
    map_resolution,
    noise_scale,
)
from samp.engine.joint_walk import JointWalkPlan
from samp.engine.paths import Unlimited
from samp.engine.problem import Problem, make_problem
from samp.engine.record import WalkRecord
from samp.methods.consensus import Consensus


def jitter_for(problem: Problem, walks: int, noise: float, seed: int = 0, first_walk: int = 0) -> tuple[Jitter, Tensor]:
    """Jitter of all walks of all samples in both directions, and their starts (rd n)."""
    baselines = {"to_baseline": torch.zeros_like(problem.x), "to_image": torch.full_like(problem.x, 0.5)}
    plan = JointWalkPlan(GradedPath(3), Unlimited(), 0.0, baselines, "", walks=walks, noise=noise)
    rows = range(walks * problem.batch)
    route = plan._route(problem, rows)
    settings = JitterSettings(baselines, noise, walks, first_walk, seed)
    made = Jitter.make(problem, route, rows, settings, EndScores(baselines))
    return made, route.start.view(2 * len(rows), -1)


# ---- noise ----


def look(x: Tensor) -> Tensor:
    """A quadratic score: its gradient at a point is the point."""
    return (x.flatten(1) ** 2).sum(1) / 2


def noise_read(jitter: Jitter, points: Tensor, rows: Tensor) -> Tensor:
    """The noise at these points, read off the gradient of a quadratic score."""
    return jitter.value_and_gradient(points, rows)[1] - points


def test_noise_is_white_of_the_given_share_of_the_images_span_and_new_at_each_point() -> None:
    x = images(0, 2, 3, 20, 20)
    x[1] *= 4
    problem = make_problem(look, x, target=lambda output: output)
    jitter, points = jitter_for(problem, walks=3, noise=0.02)
    seen = torch.stack([noise_read(jitter, points, torch.arange(6)) for _ in range(4)])  # k rd n
    own = (x.flatten(1).amax(1) - x.flatten(1).amin(1)).repeat_interleave(6)
    assert (seen.std(2) / own / 0.02 - 1).abs().max() < 0.1  # of 1200 draws
    assert seen.mean(2).abs().max() < 0.1 * 0.08
    first = (seen / own[:, None])[:, :6].flatten(0, 1)  # of one sample's walks
    alike = np.abs(np.corrcoef(first) - np.eye(24))
    assert alike.max() < 0.15  # other walks, directions and points have noise of their own
    torch.testing.assert_close(seen[:, :6] / own[0], seen[:, 6:] / own[6], **CLOSE)  # samples share theirs


def test_the_score_is_corrected_to_first_order_but_for_the_ends() -> None:
    """Of a quadratic, what is left of the noise is its square; the first point is the start, whatever it is called."""
    x = images(0, 1, 1, 4, 4)
    problem = make_problem(look, x, target=lambda output: output)
    jitter, points = jitter_for(problem, walks=2, noise=0.1)
    rows = torch.arange(2)
    at_start, _ = jitter.value_and_gradient(points, rows)
    torch.testing.assert_close(at_start.flatten(), look(points), **CLOSE)
    between, gradient = jitter.value_and_gradient(points + 0.1, rows)
    noise = gradient - points - 0.1
    torch.testing.assert_close(between.flatten(), look(points + 0.1) - (noise**2).sum(1) / 2, **CLOSE)
    at_end, _ = jitter.value_and_gradient(jitter.end.view(4, -1), rows)
    torch.testing.assert_close(at_end.flatten(), look(jitter.end.view(4, -1)), **CLOSE)


def test_an_end_is_recognized_for_each_row_and_only_where_both_directions_are_there() -> None:
    problem = make_problem(look, images(0, 1, 1, 4, 4), target=lambda output: output)
    jitter, points = jitter_for(problem, walks=2, noise=0.1)
    jitter.value_and_gradient(points, torch.arange(2))
    end = jitter.end.view(2, 2, -1).clone()
    end[0, 0] += 0.1  # the first row's deletion is not there yet
    value, _ = jitter.value_and_gradient(end.flatten(0, 1), torch.arange(2))
    exact = look(end.flatten(0, 1)).view(2, 2)
    assert torch.equal(value[1], exact[1])
    assert (value[0] != exact[0]).all()


def test_rows_that_are_left_over_keep_their_noise_and_their_ends() -> None:
    problem = make_problem(look, images(0, 2, 1, 4, 4), target=lambda output: output)
    (whole, points), (part, _) = (jitter_for(problem, walks=2, noise=0.1) for _ in range(2))
    rows, keep = torch.arange(4), torch.tensor([1, 3])
    everyone = [whole.value_and_gradient(points, rows) for _ in range(2)]
    some = points.view(4, 2, -1)[keep].flatten(0, 1)
    for step in range(2):
        value, gradient = part.value_and_gradient(some, keep)
        assert torch.equal(value, everyone[step][0][keep])
        assert torch.equal(gradient, everyone[step][1].view(4, 2, -1)[keep].flatten(0, 1))


def test_a_failure_with_noise_stays_one_at_the_ends() -> None:
    """The score is a number at the ends, but not where the noise leads."""

    def fragile(x: Tensor) -> Tensor:
        flat = x.flatten(1)
        return look(x) + torch.where(((flat == 0.5) | (flat == 0) | (flat == 1)).all(1), 0.0, torch.nan)

    problem = make_problem(fragile, torch.ones(1, 1, 4, 4).index_fill(3, torch.tensor(0), 0), lambda output: output)
    jitter, points = jitter_for(problem, walks=1, noise=0.1)
    for at in (points, jitter.end.view(2, -1)):
        assert jitter.value_and_gradient(at, torch.arange(1))[0].isnan().all()
    assert jitter.start_scores.isfinite().all()
    assert jitter.end_scores.isfinite().all()


def test_noise_repeats_after_very_many_points() -> None:
    problem = make_problem(look, images(0, 1, 1, 4, 4), target=lambda output: output)
    jitter, points = jitter_for(problem, walks=1, noise=0.1)
    first = noise_read(jitter, points, torch.arange(1))
    jitter.step = MOST_POINTS
    assert torch.equal(noise_read(jitter, points, torch.arange(1)), first)


def test_the_unit_of_noise_is_the_span_of_an_image_and_the_way_of_other_elements() -> None:
    image, table = images(0, 2, 3, 4, 4), images(1, 2, 5)
    model: Any = lambda *parts: sum(part.flatten(1).sum(1) for part in parts)  # noqa: E731  # it is short
    ends = [torch.full((2, 48), 0.3), torch.full((2, 48), 0.6)]
    span = (image.flatten(1).amax(1) - image.flatten(1).amin(1))[:, None]
    alone = noise_scale(make_problem(model, image), {"to_baseline": ends[0], "to_image": ends[1]})
    torch.testing.assert_close(alone, span)
    ways = {"to_baseline": torch.full((2, 5), 0.3), "to_image": torch.full((2, 5), 0.6)}
    furthest = torch.maximum((table - 0.3).abs(), (table - 0.6).abs())
    torch.testing.assert_close(noise_scale(make_problem(model, table), ways), furthest, rtol=1e-6, atol=1e-6)
    both = {d: torch.cat([end, ways[d]], 1) for d, end in zip(ways, ends, strict=True)}
    mixed = noise_scale(make_problem(model, (image, table)), both)
    torch.testing.assert_close(mixed, torch.cat([span.expand(2, 48), furthest], 1), rtol=1e-6, atol=1e-6)


def test_end_scores_are_computed_once_for_each_sample() -> None:
    model = CountingModel(net(0, 12))
    problem = make_problem(model, images(0, 5, 12), target=1)
    baselines = {"to_baseline": torch.zeros_like(problem.x), "to_image": torch.full_like(problem.x, 0.5)}
    ends = EndScores(baselines)
    for count in (2, 2, 1, 5):
        start, end = ends.up_to(count, problem)
    assert model.rows == 15
    assert model.rows_with_gradient == 0
    score = model(problem.x)[:, 1].detach()
    torch.testing.assert_close(start, torch.stack([score, model(baselines["to_image"])[:, 1].detach()], 1), **CLOSE)
    torch.testing.assert_close(end, torch.stack([model(baselines["to_baseline"])[:, 1].detach(), score], 1), **CLOSE)


@pytest.mark.parametrize("batch_size", [1, 2, 6, "auto"])
def test_forward_passes_are_counted_as_the_model_saw_them(batch_size: Any) -> None:
    model = CountingModel(net(0, 27))
    method = Consensus(walks=3, steps=4)
    result = samp.explain(model, images(0, 4, 3, 3, 3), target=0, method=method, batch_size=batch_size)
    assert model.rows - model.rows_with_gradient == 4 * result.details["forwards"] == 12
    assert model.rows_with_gradient == int(result.gradients.sum()) == 4 * 2 * 3 * 5


# ---- the mean ----


def record_of(rows: range, values: Tensor, failed: int = -1) -> WalkRecord:
    """The record of these walks of samples in two directions; the values of a row are its number's."""
    count = 2 * len(rows)
    steps = torch.tensor([row % 3 + 1 for row in rows]).repeat_interleave(2)
    scores = torch.full((count, 4), float("nan")).double()
    return WalkRecord(
        values=values[2 * rows.start : 2 * rows.stop],
        scores=scores,
        order=torch.arange(2 * rows.start, 2 * rows.stop, dtype=torch.int32)[:, None].expand(-1, 4).clone(),
        steps=steps,
        blind=torch.arange(2 * rows.start, 2 * rows.stop) % 2,
        failed=torch.full((count,), failed),
        tapes=[],
    )


@given(seed=seeds, walks=st.integers(1, 4), cuts=st.sets(st.integers(1, 11), max_size=4))
def test_the_mean_is_that_of_each_samples_rows_however_they_are_cut(seed: int, walks: int, cuts: set[int]) -> None:
    """To the bit: every sample's walks are added in the same order."""
    samples = 3
    problem = make_problem(net(0, 4), images(seed, samples, 1, 2, 2), target=0)
    values = images(seed, 2 * walks * samples, 4) - 0.5

    def mean(edges: list[int]) -> WalkRecord:
        collected = WalkMean(problem, 2)
        collected.add((record_of(range(*cut), values) for cut in itertools.pairwise(edges)), walks)
        return collected.record()

    total = walks * samples
    whole, cut = mean([0, total]), mean([0, *sorted(c for c in cuts if c < total), total])
    by_hand = values.view(samples, walks, 2, 4).mean(1).flatten(0, 1)
    torch.testing.assert_close(whole.values, by_hand, **CLOSE)
    steps = torch.tensor([row % 3 + 1 for row in range(total)]).view(samples, walks)
    assert whole.gradients is not None
    assert whole.gradients.tolist() == (steps + 1).sum(1).repeat_interleave(2).tolist()
    assert whole.steps.tolist() == steps[:, 0].repeat_interleave(2).tolist()
    assert whole.order[:, 0].tolist() == [2 * walks * i + d for i in range(samples) for d in (0, 1)]
    assert whole.blind.tolist() == [0, walks] * samples
    for name in ("values", "order", "steps", "blind", "failed", "gradients", "resolution"):
        ours, theirs = getattr(whole, name), getattr(cut, name)
        assert ours is theirs is None if name == "resolution" and walks == 1 else torch.equal(ours, theirs), name


def test_a_sample_with_a_failed_walk_has_failed() -> None:
    problem = make_problem(net(0, 4), images(0, 2, 1, 2, 2), target=0)
    mean, values = WalkMean(problem, 2), images(0, 8, 4)
    mean.add([record_of(range(3), values), record_of(range(3, 4), values, failed=5)], walks=2)
    assert mean.record().failed.tolist() == [-1, -1, 5, 5]


def test_the_halves_are_the_even_and_the_odd_walks() -> None:
    """Four walks of a 1 × 8 × 8 image whose odd ones are checks: their means agree over 2 × 2 pixels."""
    problem = make_problem(net(0, 64), images(0, 1, 1, 8, 8), target=0)
    slope = torch.arange(8.0).expand(8, 8).double()
    checks = torch.tensor([[1.0, -1.0], [-1.0, 1.0]]).repeat(4, 4).double() * 4
    walks = torch.stack([slope + checks, slope - checks, slope + checks, slope - checks])
    mean = WalkMean(problem, 2)
    mean.add([record_of(range(4), walks.flatten(1).repeat_interleave(2, 0))], walks=4)
    assert mean.record().resolution.tolist() == [2]
    swapped = WalkMean(problem, 2)
    swapped.add([record_of(range(4), walks[[0, 1, 3, 2]].flatten(1).repeat_interleave(2, 0))], walks=4)
    assert swapped.record().resolution.tolist() == [1]  # checks cancel within each half


# ---- resolution ----


def agreement_by_hand(even: np.ndarray, odd: np.ndarray, side: int) -> float:
    rows, columns = (count // side for count in even.shape)
    squares = [
        [half[side * i : side * (i + 1), side * j : side * (j + 1)].mean() for i in range(rows) for j in range(columns)]
        for half in (even, odd)
    ]
    halves = np.corrcoef(*squares)[0, 1]
    return float(2 * halves / (1 + halves))


@given(seed=seeds, size=st.tuples(st.integers(4, 40), st.integers(4, 40)), level=st.floats(0.01, 3.0))
def test_resolution_is_the_smallest_side_at_which_halves_agree(seed: int, size: Any, level: float) -> None:
    shared = images(seed, 1, *size).cumsum(1).cumsum(2)
    shared = (shared - shared.mean()) / shared.std()
    even, odd = (shared + level * torch.randn(shared.shape, generator=torch.Generator().manual_seed(s)) for s in (1, 2))
    sides = [side for side in SIDES if side == 1 or 4 * side <= min(size)]
    agree = [side for side in sides if agreement_by_hand(even[0].numpy(), odd[0].numpy(), side) >= AGREEMENT]
    assert map_resolution(even, odd).tolist() == [agree[0] if agree else 0]


def test_resolution_gets_coarser_with_what_the_halves_do_not_share() -> None:
    shared = images(0, 1, 64, 64).cumsum(1).cumsum(2)
    shared = (shared - shared.mean()) / shared.std()
    noise = torch.randn(64, 64, generator=torch.Generator().manual_seed(0)).double()
    found = [int(map_resolution(shared + level * noise, shared - level * noise)) for level in (0, 0.1, 1, 2, 30)]
    *known, last = found
    assert known == sorted(known)
    assert known[0] == 1
    assert max(known) <= 16  # the largest with four squares in a row
    assert last == 0  # none of them is enough
    assert len(set(known)) >= 3


@pytest.mark.parametrize("size", [(1, 1), (1, 9), (3, 3), (2, 50)])
def test_small_maps_have_no_coarser_resolution_than_a_pixel(size: tuple[int, int]) -> None:
    even, odd = images(0, 2, *size), images(1, 2, *size)
    assert map_resolution(even, odd).max() <= 1
    assert map_resolution(even, even).tolist() == [1, 1]


def test_resolution_does_not_depend_on_scale_offset_order_or_neighbours() -> None:
    even, odd = images(0, 4, 24, 24).cumsum(1), images(1, 4, 24, 24).cumsum(1) / 2 + images(0, 4, 24, 24).cumsum(1)
    found = map_resolution(even, odd)
    assert torch.equal(found, map_resolution(odd, even))
    assert torch.equal(found, map_resolution(3 * even + 1, 7 * odd - 5))
    assert torch.equal(found.flip(0), map_resolution(even.flip(0), odd.flip(0)))
    assert torch.equal(found, map_resolution(even.float() * 1e-20, odd.float() * 1e-20))


def test_opposite_halves_agree_nowhere_and_equal_ones_everywhere() -> None:
    even = images(0, 1, 32, 32) - 0.5
    assert map_resolution(even, -even).tolist() == [0]
    for level in (even, torch.zeros_like(even), torch.full_like(even, 0.3)):
        assert map_resolution(level, level).tolist() == [1]
    assert map_resolution(even, torch.full_like(even, torch.nan)).tolist() == [0]


@given(seed=seeds, rounds=st.lists(st.integers(1, 3), min_size=2, max_size=4))
def test_walks_added_in_rounds_are_walks_added_at_once_and_a_copy_stays_as_it_is(seed: int, rounds: list[int]) -> None:
    """To the bit, resolution included: walks are halved by their number in all."""
    total, samples = sum(rounds), 3
    problem = make_problem(net(0, 64), images(seed, samples, 1, 8, 8), target=0)
    values = images(seed, samples, total, 2, 64) - 0.4

    def record(first: int, last: int) -> WalkRecord:
        chosen = values[:, first:last].flatten(0, 2)
        return record_of(range(samples * (last - first)), chosen)

    whole = WalkMean(problem, 2)
    whole.add([record(0, total)], total)
    running, done = WalkMean(problem, 2), 0
    for walks in rounds:
        earlier, said = running, running.record() if done else None
        running = earlier.copy()
        running.add([record(done, done + walks)], walks)
        if said is not None:
            assert torch.equal(earlier.record().values, said.values)
            assert torch.equal(earlier.record().blind, said.blind)
        done += walks
    for name in ("values", "blind", "failed", "resolution"):
        assert torch.equal(getattr(running.record(), name), getattr(whole.record(), name)), name
