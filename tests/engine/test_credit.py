"""The laws each credit promises, on every path, rule and direction."""

from __future__ import annotations

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
    EXACT,
    PLAIN,
    blue_count,
    differs,
    directions,
    fixed_paths,
    images,
    linear,
    momenta,
    net,
    paths,
    rules,
    seeds,
    travel,
    vectors,
)
from samp.engine.credit import CREDITS, Shared, left, resolve_credit
from samp.engine.fixed_paths import StraightPath

everywhere: Any = {"path": paths, "rule": rules, "momentum": momenta, "directions": directions}


@pytest.mark.parametrize("credit", [*PLAIN, *EXACT])
@given(weight=vectors(6), image=vectors(6), baseline=vectors(6), how=st.fixed_dictionaries(everywhere))
def test_a_linear_model_gives_weight_times_difference(
    credit: str, weight: Tensor, image: Tensor, baseline: Tensor, how: dict[str, Any]
) -> None:
    result = travel(linear(weight), image, credit=credit, baseline=baseline, **how)
    expected = len(how["directions"]) * weight * (image - baseline)
    torch.testing.assert_close(result.values, expected, **CLOSE)


@pytest.mark.parametrize("credit", [*PLAIN, *EXACT])
@given(seed=seeds, dummies=st.sets(st.integers(0, 7), min_size=1, max_size=6), how=st.fixed_dictionaries(everywhere))
def test_features_without_gradient_get_nothing(credit: str, seed: int, dummies: set[int], how: dict[str, Any]) -> None:
    model = net(seed, features=8)
    with torch.no_grad():
        model[1].weight[:, sorted(dummies)] = 0
    result = travel(model, images(seed, 3, 8), credit=credit, **how)
    got_nothing = (result.values[:, sorted(dummies)] == 0).all(1)
    blind = torch.stack(list(result.blind.values())).sum(0)
    # An exact credit breaks this law only in segments it had to share blindly, and says so.
    assert (got_nothing | (blind > 0 if credit in EXACT else False)).all()


@pytest.mark.parametrize("credit", PLAIN)
@given(seed=seeds, path=fixed_paths, rule=rules, momentum=momenta, directions=directions)
def test_credit_is_additive_where_the_path_is_shared(credit: str, seed: int, **how: Any) -> None:
    f, g, x = net(seed), net(seed + 1), images(seed, 2, 12)
    one, other, both = (travel(m, x, credit=credit, **how) for m in (f, g, lambda x: f(x) + g(x)))
    torch.testing.assert_close(both.values, one.values + other.values, **CLOSE)


@pytest.mark.parametrize("credit", EXACT)
def test_exact_credits_are_not_additive(credit: str) -> None:
    """x₁³ from 1 to 2 has a residual; beside g = x₂, part of it goes to x₂, which earned all of its own already."""

    def values(f: Any) -> list[float]:
        end = torch.full((1, 2), 2.0, dtype=torch.float64)
        return travel(f, end, StraightPath(1), credit=credit, baseline=1.0, directions=["to_image"]).values[0].tolist()

    cube, line = values(lambda x: x[:, 0] ** 3), values(lambda x: x[:, 1])
    both = values(lambda x: x[:, 0] ** 3 + x[:, 1])
    assert (cube, line) == ([7, 0], [0, 1])
    # base (3, 1) or (7.5, 1), residual 4 or −0.5, shared by the base credit
    expected = {"shared": [6, 2], "shared_trapezoid": [7.5 - 0.5 * 7.5 / 8.5, 1 - 0.5 / 8.5]}[credit]
    assert both == pytest.approx(expected)
    assert sum(both) == pytest.approx(8)


def test_what_is_left_is_shared_by_the_size_of_the_credit_whatever_its_sign() -> None:
    """x₁³ − x₂ from 1 to 2 in one step: base (3, −1), of a change of 6; the residual of 4 is shared as 3 : 1."""
    x, how = torch.full((1, 2), 2.0, dtype=torch.float64), {"baseline": 1.0, "directions": ["to_image"]}
    result = travel(lambda x: x[:, 0] ** 3 - x[:, 1], x, StraightPath(1), credit="shared", **how)
    assert result.values.tolist() == [[6, 0]]


@pytest.mark.parametrize("credit", EXACT)
@given(seed=seeds, kind=st.sampled_from([nn.ReLU, nn.Tanh, nn.Softplus]), how=st.fixed_dictionaries(everywhere))
def test_exact_credit_sums_to_the_score_change(credit: str, seed: int, kind: Any, how: dict[str, Any]) -> None:
    result = travel(net(seed, activation=kind), images(seed, 3, 12), credit=credit, **how)
    change = torch.stack(list(result.score_change.values())).sum(0)
    size = torch.maximum(change.abs(), result.values.abs().sum(1))
    assert (result.residual.abs() <= 1e-9 * size).all()
    assert ((result.values.sum(1) - change).abs() <= 1e-9 * size).all()


@pytest.mark.parametrize("credit", PLAIN)
def test_other_credits_miss_the_score_change_and_say_by_how_much(credit: str) -> None:
    result = travel(net(3), images(3, 4, 12), StraightPath(3), credit=credit)
    change = torch.stack(list(result.score_change.values())).sum(0)
    torch.testing.assert_close(result.residual, change - result.values.sum(1), **CLOSE)
    assert (result.residual.abs() > 1e-6).all()


@pytest.mark.parametrize("credit", EXACT)
def test_a_change_without_gradient_is_shared_by_distance_and_counted(credit: str) -> None:
    """A switch has no gradient anywhere; one of its two segments flips it."""

    def switch(x: Tensor) -> Tensor:
        return (x.sum(1) > 3).to(x) + 0 * x.sum(1)

    x = torch.tensor([[1.0, 3.0], [0.5, 0.25]], dtype=torch.float64)
    result = travel(switch, x, StraightPath(2), credit=credit, directions=["to_image"])
    torch.testing.assert_close(result.values, torch.tensor([[0.25, 0.75], [0.0, 0.0]], dtype=torch.float64))
    assert result.blind["to_image"].tolist() == [1, 0]
    assert result.residual.abs().max() <= 1e-15


@pytest.mark.parametrize("credit", EXACT)
def test_a_segment_is_not_blind_where_any_element_has_credit(credit: str) -> None:
    """The second element has no gradient, the first always has one: nothing is shared by distance."""
    x = torch.tensor([[1.0, 3.0], [2.0, 0.0]], dtype=torch.float64)
    result = travel(lambda x: (x[:, 0] + 1) ** 2, x, StraightPath(3), credit=credit)
    assert [count.tolist() for count in result.blind.values()] == [[0, 0]] * len(result.blind)
    assert (result.values[:, 1] == 0).all()


@pytest.mark.parametrize("credit", EXACT)
def test_every_blind_segment_is_counted(credit: str) -> None:
    """A staircase: three steps up on the way to (4, 2), two to (1, 3), one to (1, 1)."""
    x = torch.tensor([[4.0, 2.0], [1.0, 3.0], [1.0, 1.0]], dtype=torch.float64)
    result = travel(lambda x: (x.sum(1) / 2 - 0.1).ceil() + 0 * x.sum(1), x + 0.01, StraightPath(7), credit=credit)
    rises = {d: (scores.diff(dim=1) != 0).sum(1) for d, scores in result.scores.items()}
    assert rises["to_image"].tolist() == [3, 2, 1]
    for direction, count in rises.items():
        assert torch.equal(result.blind[direction], count)


def test_plain_credits_count_nothing_as_blind() -> None:
    result = travel(lambda x: (x.sum(1) > 0.5).to(x) + 0 * x.sum(1), images(0, 2, 3), StraightPath(2), credit="left")
    assert all(not blind.any() for blind in result.blind.values())


def slope(residuals: list[float], lengths: list[float]) -> float:
    return float(np.polyfit(np.log(lengths), np.log(residuals), 1)[0])


@pytest.mark.parametrize(("credit", "order"), [("left", 1), ("momentum", 1), ("right", 1), ("trapezoid", 2)])
def test_residual_shrinks_at_the_promised_order_on_the_straight_path(credit: str, order: int) -> None:
    model, x, parts = net(5, activation=nn.Softplus), images(5, 6, 12), [16, 32, 64, 128]
    missed = [
        travel(model, x, StraightPath(k), credit=credit, directions=["to_image"]).residual.abs().mean().item()
        for k in parts
    ]
    # 0.1: the fit sees the next order too, a 16th of the first at most
    assert slope(missed, [1 / k for k in parts]) == pytest.approx(order, abs=0.1)


def test_the_trapezoid_is_of_first_order_where_the_gradient_jumps() -> None:
    """f = relu(x − c) from 0 to 1: the part with the kink at θ of its length is off by abs(θ − 1/2) of it, in x."""
    x, kink = torch.ones(1, 1, dtype=torch.float64), 2**0.5 / 2
    for parts in (25, 50, 100, 200, 400):
        result = samp.explain(lambda z: (z - kink).relu().sum(1), x, method=samp.IG(parts))
        theta = parts * kink % 1
        assert float(result.residual.abs()) == pytest.approx(abs(theta - 0.5) / parts, abs=1e-12)


@pytest.mark.parametrize(("credit", "order"), [("left", 1), ("momentum", 1), ("right", 1), ("trapezoid", 2)])
def test_residual_shrinks_at_the_promised_order_on_the_salient_path(credit: str, order: int) -> None:
    model, x, etas = net(5, activation=nn.Softplus), images(5, 6, 12), [1 / 32, 1 / 64, 1 / 128, 1 / 256]
    missed = [
        samp.explain(
            model, x, target=0, method=samp.SAMP(6, eta=eta, momentum=0.5, credit=credit, direction="to_image")
        )
        .residual.abs()
        .mean()
        .item()
        for eta in etas
    ]
    # 0.35: the path itself changes with η, so the error's factor is not constant
    assert slope(missed, etas) == pytest.approx(order, abs=0.35)


COLOURS = {"blue": (0, 0, 1), "half": (0, 0, 0.5), "red": (1, 0, 0), "green": (0, 1, 0), "white": (1, 1, 1)}


@pytest.mark.parametrize("method", [samp.SAMPPlusPlus(eta=0.02, baseline=0), samp.SAMP(4, eta=0.02, baseline=0)])
@pytest.mark.parametrize("credit", [*PLAIN, *EXACT])
def test_counting_model_credits_equally_blue_pixels_equally(method: Any, credit: str) -> None:
    pixels = torch.tensor([*COLOURS.values(), (0, 0, 0)], dtype=torch.float64).repeat(6, 1)
    pixels = pixels[torch.randperm(36, generator=torch.Generator().manual_seed(0))]
    image = pixels.T.reshape(1, 3, 6, 6)
    result = samp.explain(blue_count, image, method=replace(method, credit=credit, direction="to_image"))
    got = {name: result.map.flatten()[(pixels == torch.tensor(rgb)).all(1)] for name, rgb in COLOURS.items()}
    # A blue pixel's gradient is constant on its way, so only an exact credit, which shares in what the white pixels
    # miss, can tell two of them apart, and by less than a hundredth.
    apart = 1e-12 if credit in PLAIN else 0.01
    for name, blueness in {"blue": 1, "half": 0.5}.items():
        assert got[name].max() - got[name].min() <= apart
        assert (got[name] - blueness).abs().max() <= 3 * apart
    for name in ("red", "green"):
        assert got[name].abs().max() <= 1e-12
    # White rises by 4/27 and falls again: what is left is the error of steps of 1/50 of the walk.
    assert got["white"].abs().max() < 0.1


def test_a_credit_may_be_a_function_or_an_exact_version_of_one() -> None:
    assert resolve_credit(left) is left
    x = images(1, 2, 12)
    shared_left = samp.explain(net(1), x, target=0, method=samp.IG(steps=3, credit=Shared(left)))
    assert shared_left.residual.abs().max() < 1e-12
    plain = samp.explain(net(1), x, target=0, method=samp.IG(steps=3, credit=left))
    assert torch.equal(plain.values, samp.explain(net(1), x, target=0, method=samp.IG(steps=3, credit="left")).values)


def test_the_papers_credit_is_by_the_momentum_gradient_on_a_straight_line_too() -> None:
    """x²/2 from 0 to 1 in two steps at λ = 0.5: gradients 0 and 0.5, guides 0 and 0.25, each times a move of 0.5."""
    x, how = torch.ones(1, 1, dtype=torch.float64), {"momentum": 0.5, "directions": ["to_image"]}

    def earned(credit: str) -> float:
        return travel(lambda x: x.square().sum(1) / 2, x, StraightPath(2), credit=credit, **how).values.item()

    assert {credit: earned(credit) for credit in ("momentum", "left", "right")} == {
        "momentum": 0.125,
        "left": 0.25,
        "right": 0.75,
    }


def test_a_segment_in_which_any_element_earns_is_not_blind() -> None:
    """The second feature has no gradient, and moves with the first, which earns all of the change."""
    x = torch.tensor([[2.0, 3.0]], dtype=torch.float64)
    how: Any = {"baseline": 1.0, "directions": ["to_image"]}
    result = travel(lambda x: x[:, 0] ** 3 + 0 * x[:, 1], x, StraightPath(4), credit="shared", **how)
    assert result.values.tolist() == [[pytest.approx(7), 0]]
    assert result.blind["to_image"].tolist() == [0]


@pytest.mark.parametrize(("name", "base"), [("shared", "momentum"), ("shared_trapezoid", "trapezoid")])
def test_exact_credits_share_what_their_base_leaves(name: str, base: str) -> None:
    """Every group moves in every step, so that the shares depend on the base; η keeps them apart from all others."""
    results = {
        other: samp.explain(net(1), images(1, 2, 12), target=0, method=samp.SAMPPlusPlus(12, credit=other))
        for other in (name, *(Shared(CREDITS[plain]) for plain in PLAIN))
    }
    same = [plain for plain in PLAIN if not differs(results[name], results[Shared(CREDITS[plain])])]
    assert same == [base]


def test_unknown_credits_are_refused_with_the_closest_first() -> None:
    with pytest.raises(ValueError, match=r"unknown credit 'trapezium': did you mean 'trapezoid'\? .* trapezoid, mom"):
        samp.SAMP(credit="trapezium")
    with pytest.raises(TypeError, match=r"a credit is a name or a function of two Steps, not 3\."):
        samp.IG(credit=3)
    assert set(CREDITS) == {*PLAIN, *EXACT, "idgi"}  # whose laws are in test_idgi.py
