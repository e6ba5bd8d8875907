"""The optimal path and its neighbours: against all d! orders, and against the net itself."""

from __future__ import annotations

from itertools import permutations
from math import comb

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from samp_lab.theory.optimal_path import (
    Manipulation,
    beam_search,
    credits,
    evaluate_order,
    greedy_path,
    max_area_path,
    max_variance_path,
    variance,
)

sizes = st.integers(1, 6)
seeds = st.integers(0, 2**32 - 1)


def scores(groups: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=2**groups)


def by_hand(score: np.ndarray, order: tuple[int, ...]) -> float:
    """Def. 1 with plain loops."""
    moved: frozenset[int] = frozenset()
    found = []
    for group in order:
        after = moved | {group}
        found.append(score[sum(1 << g for g in after)] - score[sum(1 << g for g in moved)])
        moved = after
    mean = sum(found) / len(found)
    return sum((credit - mean) ** 2 for credit in found) / len(found)


@settings(max_examples=25)
@given(sizes, seeds)
def test_no_order_of_all_has_a_larger_variance(groups: int, seed: int) -> None:
    score = scores(groups, seed)
    best = max_variance_path(score)
    assert best.variance == pytest.approx(max(by_hand(score, order) for order in permutations(range(groups))))
    assert best.variance == pytest.approx(by_hand(score, tuple(best.order.tolist())))


@settings(max_examples=25)
@given(sizes, seeds)
def test_no_order_of_all_has_a_larger_area(groups: int, seed: int) -> None:
    score = scores(groups, seed)

    def area(order: tuple[int, ...]) -> float:
        points = [score[sum(1 << g for g in order[:moves])] for moves in range(groups + 1)]
        return float(np.mean(points))

    best = max_area_path(score)
    assert best.area == pytest.approx(max(map(area, permutations(range(groups)))))
    assert best.area == pytest.approx(area(tuple(best.order.tolist())))
    assert evaluate_order(score, best.order).variance == pytest.approx(by_hand(score, tuple(best.order.tolist())))


@given(sizes, seeds)
def test_every_search_gives_an_order_of_all_groups_and_none_beats_the_optimum(groups: int, seed: int) -> None:
    score = scores(groups, seed)
    best = max_variance_path(score).variance
    for path in (greedy_path(score), *(beam_search(score, width) for width in (1, 2, 5))):
        assert sorted(path.order.tolist()) == list(range(groups))
        assert path.variance <= best * (1 + 1e-12)
        assert path.area <= max_area_path(score).area + 1e-12


@given(sizes, seeds)
def test_a_beam_as_wide_as_a_level_is_exact(groups: int, seed: int) -> None:
    score = scores(groups, seed)
    assert beam_search(score, comb(groups, groups // 2)).variance == pytest.approx(max_variance_path(score).variance)


@given(sizes, seeds)
def test_greedy_takes_the_largest_rise_and_a_beam_of_one_the_largest_change(groups: int, seed: int) -> None:
    score = scores(groups, seed)
    for path, worth in ((greedy_path(score), float), (beam_search(score, 1), abs)):
        moved = 0
        for group in path.order.tolist():
            left = [g for g in range(groups) if not moved >> g & 1]
            gains = {g: worth(score[moved | 1 << g] - score[moved]) for g in left}
            assert gains[group] == max(gains.values())
            moved |= 1 << group


@given(sizes, seeds, st.floats(-3, 3))
def test_the_optimum_does_not_depend_on_sign_or_a_constant(groups: int, seed: int, shift: float) -> None:
    score = scores(groups, seed)
    assert max_variance_path(shift - score).variance == pytest.approx(max_variance_path(score).variance)


@given(sizes, seeds)
def test_credits_sum_to_the_score_change_along_every_order(groups: int, seed: int) -> None:
    score, random = scores(groups, seed), np.random.default_rng(seed)
    orders = random.permuted(np.tile(np.arange(groups), (7, 1)), axis=1)
    found = credits(score, orders)
    assert found.sum(1) == pytest.approx(np.full(7, score[-1] - score[0]))
    assert variance(found).tolist() == pytest.approx([by_hand(score, tuple(order)) for order in orders.tolist()])


def test_where_credits_do_not_interact_all_orders_are_the_optimum() -> None:
    weights = np.array([3.0, -1.0, 0.5])
    score = np.array([sum(w for i, w in enumerate(weights) if s >> i & 1) for s in range(8)])
    for order in permutations(range(3)):
        assert by_hand(score, order) == pytest.approx(max_variance_path(score).variance) == pytest.approx(weights.var())


def test_two_features_that_only_matter_together_are_moved_last() -> None:
    # f = x0·x1: who comes second earns all, in either order; a third feature is worth its own
    score = np.array([(s & 1) * (s >> 1 & 1) * 5.0 + (s >> 2 & 1) for s in range(8)])
    assert max_variance_path(score).variance == pytest.approx(np.array([0.0, 5.0, 1.0]).var())


def test_sixteen_groups_are_solved_and_the_beam_comes_near() -> None:
    score = scores(16, 0)
    best = max_variance_path(score).variance
    found = [beam_search(score, width).variance for width in (1, 16, 256)]
    assert found[0] < found[1] < found[2] <= best


def test_scores_of_sets_are_those_of_the_points() -> None:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(18, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    start, end = torch.rand(2, 2, 3, 3)
    ids = torch.tensor([[0, 0, 1], [2, 2, 1], [2, 2, 1]])
    walk = Manipulation(lambda x: net(x)[:, 0], start, end, ids)
    table = walk.score_all_sets()
    for number in range(8):
        point = start.clone()
        for group in range(3):
            if number >> group & 1:
                point[:, ids == group] = end[:, ids == group]
        assert table[number] == pytest.approx(net(point[None]).item(), abs=1e-6)  # batches may round differently
    orders = np.array([[2, 0, 1], [0, 1, 2]])
    assert np.diff(walk.score_along(orders)) == pytest.approx(credits(table, orders), abs=1e-6)
    assert walk.score_along(orders[0]) == pytest.approx(walk.score_along(orders)[0], abs=1e-6)


def test_errors_say_what_to_do() -> None:
    with pytest.raises(ValueError, match="at most 20 groups"):
        Manipulation(lambda x: x[:, 0], torch.zeros(21), torch.ones(21), torch.arange(21)).score_all_sets()
    with pytest.raises(ValueError, match="2, 4, 8"):
        max_variance_path(np.zeros(6))
    with pytest.raises(ValueError, match="NaN or Inf"):
        max_variance_path(np.array([0.0, np.nan]))
    with pytest.raises(ValueError, match="at least 1"):
        beam_search(np.zeros(4), 0)
