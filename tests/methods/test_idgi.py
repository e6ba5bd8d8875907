"""IDGI's laws: complete, nothing without gradient, credit to what did not move; and its ten-line oracle."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import samp
from laws import (
    CLOSE,
    differs,
    directions,
    images,
    linear,
    momenta,
    net,
    paths,
    rules,
    seeds,
    travel,
    value_and_gradient,
    vectors,
)
from samp.engine.credit import CREDITS, idgi, resolve_credit
from samp.engine.fixed_paths import StraightPath
from samp.methods.blur_ig import BlurIG
from samp.methods.guided_ig import GuidedIG
from samp.methods.ig2 import IG2
from samp.methods.spectral_ig import SpectralIG

everywhere: Any = {"path": paths, "rule": rules, "momentum": momenta, "directions": directions}


def by_brute_force(f: Any, points: Tensor) -> Tensor:
    """g² Δf / Σg² along these points (k n), element by element, with the gradient before each move."""
    total = [0.0] * points.shape[1]
    for here, there in pairwise(points):
        before, g = value_and_gradient(f, here.numpy(), here.shape)
        after, _ = value_and_gradient(f, there.numpy(), there.shape)
        norm = sum(one * one for one in g.tolist())
        for i, one in enumerate(g.tolist()):
            total[i] += one * one * (after - before) / norm
    return torch.tensor(total, dtype=torch.float64)


@given(seed=seeds, how=st.fixed_dictionaries({**everywhere, "directions": st.sampled_from([("to_image",)])}))
def test_idgi_equals_the_brute_force(seed: int, how: dict[str, Any]) -> None:
    model, x = net(seed), images(seed, 1, 12)
    result = travel(model, x, credit="idgi", **how)
    points = result.tapes["to_image"][0].points
    torch.testing.assert_close(result.values[0], by_brute_force(lambda z: model(z)[:, 0], points), **CLOSE)


@given(seed=seeds, how=st.fixed_dictionaries(everywhere))
def test_idgi_sums_to_the_score_change(seed: int, how: dict[str, Any]) -> None:
    result = travel(net(seed), images(seed, 3, 12), credit="idgi", **how)
    size = torch.stack(list(result.score_change.values())).abs().sum(0) + result.values.abs().sum(1)
    assert (result.residual.abs() <= 1e-9 * size).all()


@given(seed=seeds, dummies=st.sets(st.integers(0, 7), min_size=1, max_size=6), how=st.fixed_dictionaries(everywhere))
def test_features_without_gradient_get_nothing(seed: int, dummies: set[int], how: dict[str, Any]) -> None:
    model = net(seed, features=8)
    with torch.no_grad():
        model[1].weight[:, sorted(dummies)] = 0
    result = travel(model, images(seed, 3, 8), credit="idgi", **how)
    assert (result.values[:, sorted(dummies)] == 0).all()


@given(weight=vectors(6), image=vectors(6), baseline=vectors(6), how=st.fixed_dictionaries(everywhere))
def test_a_linear_model_gives_squared_weights(
    weight: Tensor, image: Tensor, baseline: Tensor, how: dict[str, Any]
) -> None:
    """Not weight × difference: each direction's whole change goes by w², whichever elements moved."""
    result = travel(linear(weight), image, credit="idgi", baseline=baseline, **how)
    change = (weight * (image - baseline)).sum(1, keepdim=True)
    share = weight**2 / (weight**2).sum().clamp(min=1e-300)
    torch.testing.assert_close(result.values, len(how["directions"]) * change * share, **CLOSE)


def test_idgi_credits_features_that_did_not_move() -> None:
    x = torch.tensor([[2.0, 1.0]], dtype=torch.float64)
    start = torch.tensor([[0.0, 1.0]], dtype=torch.float64)
    result = travel(
        lambda z: z[:, 0] + z[:, 1], x, StraightPath(4), credit="idgi", baseline=start, directions=["to_image"]
    )
    assert result.values.tolist() == [[1.0, 1.0]]


def test_idgi_takes_the_gradient_before_the_move() -> None:
    def f(z: Tensor) -> Tensor:
        return z[:, 0] ** 2 + z[:, 1]

    x = torch.tensor([[3.0, 1.0]], dtype=torch.float64)
    result = travel(f, x, StraightPath(1), credit="idgi", directions=["to_image"])
    assert result.values.tolist() == [[0.0, 10.0]]  # at 0 the square is flat: the other gets all


def test_idgi_is_not_additive() -> None:
    f, g, x = net(0), net(1), images(0, 2, 12)
    one, other, both = (travel(m, x, StraightPath(5), credit="idgi") for m in (f, g, lambda z: f(z) + g(z)))
    assert not torch.allclose(both.values, one.values + other.values, rtol=1e-3)


def test_a_segment_that_starts_without_gradient_gives_nothing_and_shows_in_the_residual() -> None:
    def kink(z: Tensor) -> Tensor:
        return (z.sum(1) - 1).relu()

    x = torch.tensor([[1.0, 3.0]], dtype=torch.float64)
    result = travel(kink, x, StraightPath(2), credit="idgi", directions=["to_image"])
    assert result.values.tolist() == [[1.0, 1.0]]
    assert result.residual.tolist() == [1.0]


@pytest.mark.parametrize("scale", [1e-30, 1e25])
def test_tiny_and_huge_gradients_are_shared_all_the_same(scale: float) -> None:
    x, weight = torch.ones(1, 2), torch.tensor([3.0, 4.0])
    result = samp.explain(lambda z: scale * (z @ weight), x, method=samp.IG(3, credit="idgi"))
    torch.testing.assert_close(result.values / scale, torch.tensor([[7 * 9 / 25, 7 * 16 / 25]]))


@pytest.mark.parametrize(
    "method",
    [
        samp.IG(8, credit="idgi"),
        samp.SAMPPlusPlus(credit="idgi"),
        BlurIG(8, credit="idgi"),
        GuidedIG(8, credit="idgi"),
        SpectralIG(8, credit="idgi"),
        IG2(8, credit="idgi"),
    ],
)
def test_idgi_is_complete_on_every_path_and_changes_the_result(method: Any) -> None:
    model, x = net(2, features=48), images(2, 3, 3, 4, 4)
    result = samp.explain(model, x, target=0, method=method)
    assert result.residual.abs().max() < 1e-12
    plain = samp.explain(model, x, target=0, method=type(method)(8, credit="left"))
    assert differs(result, plain)


def test_the_name_stands_for_the_function() -> None:
    assert resolve_credit("idgi") is idgi is CREDITS["idgi"]
