"""AGI, Path-Weighted, Weighted, Geodesic and Reveal-IG, and FRInGe: their laws, oracles and refusals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, permutations
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import samp
from laws import CLOSE, CountingModel, assert_same, assert_same_sample, differs, images, net
from samp.methods.agi import AGI
from samp.methods.fringe import FRInGe, even_waypoints, pulled_back_metric, solve
from samp.methods.geodesic_ig import GeodesicIG, link_nearest, shortest_way
from samp.methods.path_weighted_ig import PathWeightedIG, Power
from samp.methods.reveal_ig import RevealIG
from samp.methods.weighted_ig import WeightedIG

explain = samp.explain
SMOOTH = net(4, features=3 * 6 * 5, activation=nn.Softplus)
X = images(4, 5, 3, 6, 5)
METHODS: list[Any] = [
    AGI(6, bounds=(0, 1)),
    AGI(6, restart=False),
    PathWeightedIG(12),
    WeightedIG(12),
    GeodesicIG(points=6, neighbors=3),
    RevealIG(12, draws=3),
    FRInGe(kl=0.01, iterations=3),
]


def name_of(method: Any) -> str:
    return f"{type(method).__name__}{'-walk' * (getattr(method, 'restart', None) is False)}"


# ---- laws of all ----


@pytest.mark.parametrize("method", METHODS, ids=name_of)
def test_result_does_not_depend_on_batch_size_or_neighbours(method: Any) -> None:
    target = [0, 1, 2, 0, 1]
    together = explain(SMOOTH, X, target=target, method=method)
    for size in (1, 2, 3):
        assert_same(together, explain(SMOOTH, X, target=target, method=method, batch_size=size), **CLOSE)
    for i in range(len(X)):
        alone = explain(SMOOTH, X[i : i + 1], target=target[i], method=method)
        assert_same_sample(together, i, alone, 0, **CLOSE)


@pytest.mark.parametrize("method", METHODS, ids=name_of)
def test_same_seed_same_bits(method: Any) -> None:
    assert_same(explain(SMOOTH, X, method=method, seed=3), explain(SMOOTH, X, method=method, seed=3))


@pytest.mark.parametrize("method", [WeightedIG(12), GeodesicIG(6, 3), RevealIG(12, 3)], ids=name_of)
def test_another_seed_draws_other_noise(method: Any) -> None:
    assert differs(explain(SMOOTH, X, method=method, seed=3), explain(SMOOTH, X, method=method, seed=4))


FINER: list[tuple[Any, Callable[[Any, int], Any]]] = [
    (AGI(4, 0.1, restart=False), lambda m, k: replace(m, steps=m.steps * k, step=m.step / k)),
    (PathWeightedIG(8), lambda m, k: replace(m, steps=m.steps * k)),
    (WeightedIG(8), lambda m, k: replace(m, steps=m.steps * k)),
    (GeodesicIG(4, 2, steps=1), lambda m, k: replace(m, steps=m.steps * min(k, 8))),
    (RevealIG(8, 2), lambda m, k: replace(m, steps=m.steps * k)),
    (FRInGe(kl=0.05, eta_max=100, smooth_step=0, smooth_image=0), lambda m, k: replace(m, kl=m.kl / k**2)),
]


@pytest.mark.parametrize(("method", "finer"), FINER, ids=[name_of(m) for m, _ in FINER])
def test_credit_comes_to_sum_to_what_the_method_claims(method: Any, finer: Callable[[Any, int], Any]) -> None:
    """Ten times the steps, a fifth of the residual or less: the errors are of first order or better."""

    def missed(k: int) -> float:
        return float(explain(SMOOTH, X, target=0, method=finer(method, k)).residual.abs().mean())

    assert missed(10) < missed(1) / 5


def test_agi_that_starts_again_at_the_image_claims_no_sum() -> None:
    assert explain(SMOOTH, X, target=0, method=AGI(6)).residual.isnan().all()


@pytest.mark.parametrize("method", METHODS, ids=name_of)
def test_map_depends_on_the_target_and_the_model_is_left_as_found(method: Any) -> None:
    state = {name: value.clone() for name, value in SMOOTH.state_dict().items()}
    assert differs(explain(SMOOTH, X, target=0, method=method), explain(SMOOTH, X, target=1, method=method))
    assert all(torch.equal(value, state[name]) for name, value in SMOOTH.state_dict().items())
    assert all(p.grad is None and p.requires_grad for p in SMOOTH.parameters())


@pytest.mark.parametrize("method", METHODS[2:6], ids=name_of)
def test_gradients_are_counted(method: Any) -> None:
    model = CountingModel(SMOOTH)
    result = explain(model, X, target=0, method=method)
    assert int(result.gradients.sum()) == model.rows_with_gradient


def test_agi_takes_two_gradients_of_one_forward() -> None:
    model = CountingModel(SMOOTH)
    assert int(explain(model, X, target=0, method=AGI(6)).gradients.sum()) == 2 * model.rows_with_gradient


CHANGES: list[tuple[Any, dict[str, Any]]] = [
    (AGI(6), {"steps": 3, "step": 0.2, "classes": (1,), "bounds": (0, 3), "restart": False, "score": "logit"}),
    (PathWeightedIG(8), {"steps": 3, "weight": Power(2), "credit": "left", "baseline": 1}),
    (WeightedIG(8), {"steps": 3, "baselines": ("white", "black"), "ratio": 0.9, "fill": -3.0}),
    (GeodesicIG(6, 3), {"points": 4, "neighbors": 2, "steps": 1, "noise": 0.3, "baseline": 1}),
    (GeodesicIG(6, 3), {"points": images(3, 8, 3, 6, 5)}),
    (RevealIG(8, 3), {"steps": 3, "draws": 2, "sigma": 0.5, "spread": 0.3, "baseline": 1}),
    (
        FRInGe(kl=0.01, iterations=3),
        {
            "kl": 0.02,
            "reach": 0.01,
            "eta_max": 0.01,
            "damping": 0.1,
            "smooth_step": 0.1,
            "smooth_image": 0.1,
            "iterations": 2,
        },
    ),
]


@pytest.mark.parametrize(("method", "name", "value"), [(m, k, v) for m, change in CHANGES for k, v in change.items()])
def test_every_argument_changes_the_result(method: Any, name: str, value: Any) -> None:
    other = replace(method, **{name: value})
    was, now = explain(SMOOTH, X, target=0, method=method), explain(SMOOTH, X, target=0, method=other)
    assert differs(was, now)
    assert was.method != now.method


@pytest.mark.parametrize("method", METHODS, ids=name_of)
def test_works_in_float32_and_keeps_its_sum(method: Any) -> None:
    narrow = explain(net(4, features=90, activation=nn.Softplus).float(), X.float(), target=0, method=method)
    wide = explain(SMOOTH, X, target=0, method=method)
    assert narrow.values.dtype == torch.float32
    torch.testing.assert_close(narrow.values.sum((1, 2, 3)).double(), wide.values.sum((1, 2, 3)), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("method", METHODS, ids=name_of)
def test_takes_two_inputs(method: Any) -> None:
    a, b = images(0, 2, 4), images(1, 2, 3)

    def model(a: Tensor, b: Tensor) -> Tensor:
        return torch.stack([a.sum(1).sin() * b.square().sum(1), a.prod(1), b.sum(1)], 1)

    result = explain(model, (a, b), target=0, method=method)
    assert [tuple(v.shape) for v in result.values] == [(2, 4), (2, 3)]
    assert all(bool(v.isfinite().all()) for v in result.values)


SCALAR = nn.Sequential(nn.Flatten(), nn.Linear(90, 1)).double().eval()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: AGI(steps=0), "steps is a whole number of at least 1, not 0"),
        (lambda: AGI(step=-1), "step is a share of the input's range above 0, not -1"),
        (lambda: AGI(classes=()), "classes is a whole number of at least 1"),
        (lambda: AGI(bounds=(1,)), "bounds is a pair of a lowest and a highest value"),
        (lambda: explain(SMOOTH, X, target=0, method=AGI(classes=(7,))), "class 7 is out of range: .* goes to 2"),
        (
            lambda: explain(SCALAR, X, method=AGI(score="logit")),
            r"AGI needs the probabilities of all classes.*\(1, 1\)",
        ),
        (lambda: explain(SCALAR, X, method=FRInGe()), r"FRInGe needs the probabilities of all classes.*'coupled'"),
        (lambda: FRInGe(kl=0), "kl is a number above 0, not 0"),
        (lambda: FRInGe(smooth_step=-1), "smooth_step is a number of at least 0, not -1"),
        (lambda: PathWeightedIG(baseline=(0, 1)), "PathWeightedIG walks to the image only"),
        (
            lambda: explain(SMOOTH, X, method=PathWeightedIG(4, lambda t: float("nan"))),
            "weight returns a finite number",
        ),
        (lambda: WeightedIG(baselines=()), "baselines is a tuple of at least one baseline"),
        (lambda: WeightedIG(ratio=1), "ratio is a share of the score between 0 and 1, not 1"),
        (lambda: GeodesicIG(noise=-1), "noise is a share of the way from baseline to image"),
        (
            lambda: explain(SMOOTH, X, method=GeodesicIG(torch.rand(4, 5))),
            r"points has shape \(4, 5\): give m × \(3, 6",
        ),
        (lambda: RevealIG(sigma=0), "sigma and spread are deviations above 0, not 0"),
    ],
)
def test_what_cannot_be_gets_a_sentence(make: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        make()


# ---- each by itself ----


def test_agi_that_walks_on_equals_its_oracle() -> None:
    """One image, by hand: up the false class's probability, from where the last move ended, until it is predicted."""
    result = explain(SMOOTH, X[1:2], target=1, method=AGI(30, 0.04, classes=(0, 2), bounds=(0, 1), restart=False))
    expected, change = torch.zeros_like(X[1:2]), 0.0
    for false in (0, 2):
        x = X[1:2].clone()
        for _ in range(30):
            leaf = x.clone().requires_grad_()
            output = SMOOTH(leaf)
            if int(output.argmax()) == false:
                break
            p = output.softmax(1)
            (up,) = torch.autograd.grad(p[0, false], leaf, retain_graph=True)
            (slope,) = torch.autograd.grad(p[0, 1], leaf)
            there = (x + 0.04 * up.sign()).clamp(0, 1)
            expected, x = expected - slope * (there - x), there
        change += float((SMOOTH(X[1:2]).softmax(1)[0, 1] - SMOOTH(x).softmax(1)[0, 1]).detach())
    torch.testing.assert_close(result.values, expected, **CLOSE)
    assert float(result.score_change["to_image"]) == pytest.approx(change, abs=1e-12)


def test_agi_spreads_its_false_classes_evenly_as_published() -> None:
    assert AGI()._false_classes(1000) == list(range(0, 999, 50))
    assert AGI()._false_classes(10) == list(range(10))
    assert AGI(classes=3)._false_classes(10) == [0, 3, 6]


def test_agi_without_false_classes_to_reach_earns_nothing() -> None:
    """Towards the predicted class there is no way to go, and the explained class is no false one."""
    predicted = SMOOTH(X).argmax(1)
    for i, c in enumerate(predicted.tolist()):
        other = (c + 1) % 3
        result = explain(SMOOTH, X[i : i + 1], target=other, method=AGI(5, classes=(c, other)))
        assert (result.values == 0).all()


def test_pwig_with_weight_one_is_integrated_gradients() -> None:
    weighted = explain(SMOOTH, X, target=0, method=PathWeightedIG(20, Power(0)))
    plain = explain(SMOOTH, X, target=0, method=samp.IG(20))
    torch.testing.assert_close(weighted.values, plain.values, **CLOSE)
    torch.testing.assert_close(weighted.residual, plain.residual, **CLOSE)


def test_pwig_with_weight_t_is_the_mean_over_baselines_on_the_line() -> None:
    """IG from a baseline at u of the line, averaged over u: what lies at t is counted by all u below t."""
    weighted = explain(SMOOTH, X, target=0, method=PathWeightedIG(400))
    shares = (torch.arange(100) + 0.5) / 100
    mean = sum(explain(SMOOTH, X, target=0, method=samp.IG(40, baseline=u * X)).values for u in shares.tolist()) / 100
    torch.testing.assert_close(weighted.values, mean, rtol=1e-3, atol=1e-5)


def test_pwig_of_the_second_half_is_ig_from_the_middle() -> None:
    half = explain(SMOOTH, X, target=0, method=PathWeightedIG(20, lambda t: float(t > 0.5)))
    middle = explain(SMOOTH, X, target=0, method=samp.IG(10, baseline=X / 2))
    torch.testing.assert_close(half.values, middle.values, **CLOSE)
    torch.testing.assert_close(half.score_change["to_image"], middle.score_change["to_image"], **CLOSE)


def test_pwig_in_the_fast_mode_weighs_the_same_way() -> None:
    model = net(0, features=90).float()
    exact, fast = (explain(model, X.float(), target=0, method=PathWeightedIG(30), speed=s) for s in ("exact", "fast"))
    torch.testing.assert_close(fast.values, exact.values, rtol=0.1, atol=0.01 * float(exact.values.abs().max()))


def test_weighted_ig_of_one_baseline_is_integrated_gradients() -> None:
    one = explain(SMOOTH, X, target=0, method=WeightedIG(20, baselines=("white",)))
    torch.testing.assert_close(one.values, explain(SMOOTH, X, target=0, method=samp.IG(20, baseline="white")).values)


def test_weighted_ig_weighs_by_the_features_that_halve_the_score() -> None:
    """A linear score without classes: its fall can be counted feature by feature."""
    weight = torch.tensor([5.0, 1.0, 3.0, 2.0, 1.5], dtype=torch.float64)
    x = torch.ones(1, 5, dtype=torch.float64)
    baselines = (torch.zeros(1, 5).double(), torch.tensor([[1.0, 0, 1, 0, 0]]).double())
    result = explain(lambda z: z @ weight, x, method=WeightedIG(4, baselines, fill=0.0))
    needed = []
    for baseline in baselines:
        order = (weight * (x - baseline)).abs()[0].argsort(descending=True, stable=True).tolist()
        left = [float(weight.sum() - weight[order[:k]].sum()) for k in range(6)]
        needed.append(next(k for k in range(6) if left[k] <= float(weight.sum()) / 2))
    inverse = torch.tensor([1 / k for k in needed], dtype=torch.float64)
    assert needed == [2, 4]
    assert result.details["baseline_weights"][0] == pytest.approx((inverse / inverse.sum()).tolist())


def test_geodesic_on_a_linear_model_is_weight_times_difference_whatever_the_way() -> None:
    weight = torch.arange(1.0, 7.0, dtype=torch.float64)
    x = images(0, 2, 6)
    result = explain(lambda z: z @ weight, x, method=GeodesicIG(8, 3, noise=0.5))
    torch.testing.assert_close(result.values, weight * x, **CLOSE)


def test_geodesic_goes_around_a_steep_hill() -> None:
    """Two points lie between baseline and image, one on the slope of a hill and one far from it, off the line."""
    points = torch.tensor([[0.45, 0.5], [0.9, 0.1]], dtype=torch.float64)

    def hill(x: Tensor) -> Tensor:
        return 3 * torch.exp(-30 * (x - 0.5).square().sum(1)) + 0.1 * x.sum(1)

    x = torch.ones(1, 2, dtype=torch.float64)
    by_detour = explain(hill, x, method=GeodesicIG(points, neighbors=2, steps=40))
    legs = [torch.zeros(1, 2).double(), points[1:], x]
    along = sum(explain(hill, b, method=samp.IG(4000, baseline=a)).values for a, b in pairwise(legs))
    torch.testing.assert_close(by_detour.values, along, rtol=1e-4, atol=1e-6)


def test_shortest_way_is_the_shortest_of_all_ways() -> None:
    generator = torch.Generator().manual_seed(0)
    for _ in range(20):
        nodes = torch.rand(7, 3, generator=generator).double()
        edges = link_nearest(nodes, 2)
        lengths = torch.rand(len(edges), generator=generator).tolist()
        cost = {pair: length for (i, j), length in zip(edges, lengths, strict=True) for pair in ((i, j), (j, i))}
        ways = (pairwise((6, *between, 5)) for n in range(6) for between in permutations(range(5), n))
        totals = [sum(cost[leg] for leg in way) for way in map(list, ways) if all(leg in cost for leg in way)]
        way = shortest_way(edges, lengths, 6, 5)
        assert way[0][0] == 6
        assert way[-1][1] == 5
        assert sum(cost[leg] for leg in way) == pytest.approx(min(totals))


def test_reveal_of_constant_width_is_ig_averaged_over_noise() -> None:
    generator = torch.Generator().manual_seed(0)
    noise = torch.stack([torch.randn(90, generator=generator) for _ in range(3)]).double().view(3, 1, 3, 6, 5)
    result = explain(SMOOTH, X, target=0, method=RevealIG(200, draws=3, sigma=0.5, spread=0.5))
    shifted = [explain(SMOOTH, X + 0.5 * e, target=0, method=samp.IG(200, baseline=0.5 * e)).values for e in noise]
    torch.testing.assert_close(result.values, torch.stack(shifted).mean(0), rtol=1e-3, atol=1e-5)


def test_reveal_searches_the_noise_that_keeps_the_score() -> None:
    """f = 10 − |x|²/n at x = 0: noise σ leaves 10 − σ², which is 95 % at σ = √0.5."""
    x = torch.zeros(2, 400, dtype=torch.float64)

    def model(z: Tensor) -> Tensor:
        return 10 - z.square().mean(1)

    result = explain(model, x, method=RevealIG(4, draws=1, sigma=None))
    assert result.details["sigma"] == pytest.approx([0.5**0.5] * 2, rel=0.02)  # the mean of ε² over 25,600 draws
    fixed = explain(model, x, method=RevealIG(4, draws=1, sigma=result.details["sigma"][0]))
    torch.testing.assert_close(result.values, fixed.values, **CLOSE)
    assert result.details["forwards"] == 2 + 1 + 15 * 64


def test_reveal_searches_for_each_sample_alone() -> None:
    together = explain(SMOOTH, X[:3], target=0, method=RevealIG(4, draws=1, sigma=None))
    for i in range(3):
        alone = explain(SMOOTH, X[i : i + 1], target=0, method=RevealIG(4, draws=1, sigma=None), batch_size=1)
        assert_same_sample(together, i, alone, 0, **CLOSE)


def test_the_metric_is_the_fisher_information_pulled_back() -> None:
    x = X[:2].flatten(1).clone().requires_grad_()
    output = SMOOTH(x)
    p = output.softmax(1).detach()
    v = images(9, 2, 90)
    found = pulled_back_metric(x, output, p)(v)
    for i in range(2):
        jacobian = torch.autograd.functional.jacobian(lambda z: SMOOTH(z[None])[0], x[i].detach())
        fisher = torch.diag(p[i]) - torch.outer(p[i], p[i])
        torch.testing.assert_close(found[i], jacobian.T @ fisher @ jacobian @ v[i], **CLOSE)


def test_conjugate_gradients_solve_each_row_alone() -> None:
    root = images(2, 3, 6, 6)
    matrices = root @ root.transpose(1, 2) + torch.eye(6).double()
    right = images(3, 3, 6) * torch.tensor([[1e3], [1.0], [0.0]]).double()

    def system(v: Tensor) -> Tensor:
        return torch.einsum("rij,rj->ri", matrices, v)

    found, used = solve(system, right, lambda v: v, None, 50)
    torch.testing.assert_close(
        found, torch.linalg.solve(matrices, right), rtol=1e-2, atol=1e-3
    )  # TOLERANCE of a residual
    assert int(used[2]) == 0
    warm, fewer = solve(system, right, lambda v: v, found, 50)
    assert_close_and_done(warm, found, fewer)


def assert_close_and_done(warm: Tensor, found: Tensor, used: Tensor) -> None:
    torch.testing.assert_close(warm, found)
    assert used.tolist() == [0, 0, 0]


def test_waypoints_lead_evenly_from_the_prediction_to_the_even_distribution() -> None:
    output = SMOOTH(X).detach()
    at, counts = even_waypoints(output, kl=0.001)
    rows = torch.arange(len(X))
    points = torch.stack([at(rows, torch.full((len(X),), t / 10).double()) for t in range(11)])  # t b c
    torch.testing.assert_close(points[0].square(), output.softmax(1))
    torch.testing.assert_close(points[-1].square(), torch.full_like(output, 1 / 3))
    angles = (points[1:] * points[:-1]).sum(2).acos()
    torch.testing.assert_close(angles, angles.mean(0, keepdim=True).expand_as(angles))
    assert ((2 * 10 * angles.mean(0) / (counts - 1)) <= 0.002**0.5).all()


def test_fringe_walks_towards_not_knowing() -> None:
    """The score of the predicted class falls on the way, so that the credit is for what made it high."""
    predicted = SMOOTH(X).argmax(1).tolist()
    result = explain(SMOOTH, X, target=predicted, method=FRInGe(kl=0.01, eta_max=100, smooth_image=0, smooth_step=0))
    assert (result.score_change["to_image"] > 0).all()


@pytest.mark.parametrize("method", METHODS, ids=name_of)
def test_a_sample_without_a_finite_score_fails_alone(method: Any) -> None:
    """One sample's score is NaN everywhere on its way; the other's result is in the error."""
    x = images(6, 2, 6)
    model, bad = net(0, features=6), torch.tensor([float("nan"), 0.0], dtype=torch.float64)

    def target(output: Tensor, samples: Tensor) -> Tensor:
        return output[:, 0] + bad[samples]

    asked = replace(method, score="logit") if isinstance(method, AGI) else method
    with pytest.raises(samp.errors.NonFiniteError) as error:
        explain(model, x, target=target, method=asked)
    alone = explain(model, x[1:], target=lambda output: output[:, 0], method=asked)
    torch.testing.assert_close(error.value.result.values[1:], alone.values, **CLOSE)
