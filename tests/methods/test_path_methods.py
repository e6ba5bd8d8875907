"""BlurIG, Guided IG, Spectral IG and IG2: their laws and their oracles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import samp
from laws import CLOSE, CountingModel, assert_same, assert_same_sample, differs, images, net
from samp import images as photos
from samp import models
from samp.methods.blur_ig import BlurIG, gaussian_blur
from samp.methods.guided_ig import GuidedIG
from samp.methods.ig2 import IG2
from samp.methods.spectral_ig import SpectralIG


def mirrored(x: Tensor) -> Tensor:
    return x.flip(-1)


METHODS: list[Any] = [
    BlurIG(12, max_sigma=3.0),
    GuidedIG(12),
    GuidedIG(12, max_dist=1.0),
    SpectralIG(12),
    IG2(12, reference=mirrored),
]
# No ties and no kinks: where gradients are equal, rounding would choose GuidedIG's path.
SMOOTH = net(4, features=3 * 6 * 5, activation=nn.Softplus)
X = images(4, 5, 3, 6, 5)
explain = samp.explain


def cnn(seed: int = 0) -> nn.Module:
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        body = [nn.Conv2d(3, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3), nn.ReLU()]
        return nn.Sequential(*body, nn.Flatten(), nn.Linear(200, 4)).double().eval()


# ---- laws of all ----


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_result_does_not_depend_on_batch_size_or_neighbours(method: Any) -> None:
    target = [0, 1, 2, 0, 1]
    together = explain(SMOOTH, X, target=target, method=method)
    for size in (1, 2, 3):
        assert_same(together, explain(SMOOTH, X, target=target, method=method, batch_size=size), **CLOSE)
    for i in range(len(X)):
        alone = explain(SMOOTH, X[i : i + 1], target=target[i], method=method)
        assert_same_sample(together, i, alone, 0, **CLOSE)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_same_question_same_bits(method: Any) -> None:
    assert_same(explain(SMOOTH, X, method=method), explain(SMOOTH, X, method=method))


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_credit_comes_to_sum_to_the_score_change(method: Any) -> None:
    """Ten times the steps, a fifth of the residual or less: the errors are of first order or better."""

    def missed(steps: int) -> float:
        finer = replace(method, steps=steps, **({"step": 0.5 / steps} if isinstance(method, IG2) else {}))
        return float(explain(SMOOTH, X, target=0, method=finer).residual.abs().mean())

    assert missed(160) < missed(16) / 5


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_map_depends_on_the_target_and_the_model_is_left_as_found(method: Any) -> None:
    model = cnn()
    x = images(1, 2, 3, 16, 16)
    state = {name: value.clone() for name, value in model.state_dict().items()}
    known = set(vars(model))
    assert differs(explain(model, x, target=0, method=method), explain(model, x, target=1, method=method))
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())
    assert set(vars(model)) == known
    assert all(p.grad is None and p.requires_grad for p in model.parameters())
    assert not any(m._forward_hooks or m._backward_hooks for m in model.modules())


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_gradients_are_counted(method: Any) -> None:
    model = CountingModel(SMOOTH)
    result = explain(model, X, target=0, method=method)
    assert int(result.gradients.sum()) == model.rows_with_gradient
    assert result.gradients.tolist() == [36 if isinstance(method, IG2) else 13] * 5


CHANGES: list[tuple[Any, dict[str, Any]]] = [
    (BlurIG(12), {"steps": 3, "max_sigma": 0.7, "sqrt": True, "credit": "left"}),
    (GuidedIG(12), {"steps": 3, "fraction": 0.7, "max_dist": 0.3, "eta": 0.01, "credit": "trapezoid", "baseline": 1}),
    (GuidedIG(12), {"direction": "to_baseline"}),
    (SpectralIG(12), {"steps": 3, "width": 0.7, "credit": "trapezoid", "baseline": "white"}),
    (IG2(12), {"steps": 3, "step": 0.01, "reference": "white", "layer": "1", "bounds": (0, 2), "credit": "trapezoid"}),
]


@pytest.mark.parametrize(("method", "name", "value"), [(m, k, v) for m, change in CHANGES for k, v in change.items()])
def test_every_argument_changes_the_result(method: Any, name: str, value: Any) -> None:
    other = replace(method, **{name: value})
    was, now = explain(SMOOTH, X, target=0, method=method), explain(SMOOTH, X, target=0, method=other)
    assert differs(was, now)
    assert was.method != now.method


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_an_image_without_information_gets_a_map_of_zeros_beside_others(method: Any) -> None:
    x = torch.cat([torch.zeros_like(X[:1]), X[:2]])
    result = explain(SMOOTH, x, target=0, method=method)
    assert (result.values[0] == 0).all()
    assert_same_sample(result, 2, explain(SMOOTH, X[1:2], target=0, method=method), 0, **CLOSE)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_works_in_float32_and_keeps_its_sum(method: Any) -> None:
    narrow = explain(net(4, features=90, activation=nn.Softplus).float(), X.float(), target=0, method=method)
    wide = explain(SMOOTH, X, target=0, method=method)
    assert narrow.values.dtype == torch.float32
    torch.testing.assert_close(narrow.values.sum((1, 2, 3)).double(), wide.values.sum((1, 2, 3)), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: BlurIG(steps=0), "steps is a whole number of at least 1, not 0"),
        (lambda: BlurIG(max_sigma=0), "max_sigma is a width above 0, in pixels, not 0"),
        (lambda: GuidedIG(steps=1.5), "steps is a whole number of at least 1, not 1.5"),
        (lambda: GuidedIG(fraction=0), "fraction is a share of the features above 0 and up to 1, not 0"),
        (lambda: GuidedIG(max_dist=2), "max_dist is a share of a feature's way from 0 to 1, not 2"),
        (lambda: SpectralIG(steps=0), "steps is a whole number of at least 1, not 0"),
        (lambda: SpectralIG(width=-1), "width is a share of the path from 0 to 1, not -1"),
        (lambda: SpectralIG(baseline=(0, 1)), "SpectralIG walks to the image only: give one baseline"),
        (lambda: IG2(steps=0), "steps is a whole number of at least 1, not 0"),
        (lambda: IG2(step=0), "step is a share of the input's range above 0, not 0"),
        (lambda: BlurIG(credit="lef"), "unknown credit 'lef'"),
        (lambda: explain(net(0), images(0, 1, 12), method=BlurIG()), "BlurIG explains one b c h w image input"),
        (lambda: explain(net(0), images(0, 1, 12), method=SpectralIG()), "SpectralIG explains one b c h w image"),
    ],
)
def test_what_cannot_be_gets_a_sentence(make: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        make()


# ---- each by itself ----


def test_blur_starts_fully_blurred_and_scales_with_the_image() -> None:
    result = explain(SMOOTH, X, target=0, method=BlurIG(4), keep_points=True)
    assert f"max_sigma={50 * 6 / 224}" in result.method
    points = result.tapes["to_image"][0].points
    for k, point in enumerate(points):
        torch.testing.assert_close(point, gaussian_blur(X[0], 50 * 6 / 224 * (1 - k / 4)))
    assert torch.equal(points[-1], X[0])


def test_square_root_schedule_takes_equal_parts_of_the_variance() -> None:
    result = explain(SMOOTH, X, target=0, method=BlurIG(4, max_sigma=3.0, sqrt=True), keep_points=True)
    for k, point in enumerate(result.tapes["to_image"][1].points):
        torch.testing.assert_close(point, gaussian_blur(X[1], (3 - 3 * k / 4) ** 0.5))


def test_square_root_schedule_is_the_same_integral_as_the_linear_one() -> None:
    linear = explain(SMOOTH, X, target=0, method=BlurIG(400, max_sigma=2.0))
    root = explain(SMOOTH, X, target=0, method=BlurIG(400, max_sigma=4.0, sqrt=True))  # σ up to √4
    torch.testing.assert_close(root.values, linear.values, rtol=1e-2, atol=1e-4)


def test_guided_without_room_is_integrated_gradients() -> None:
    guided = explain(SMOOTH, X, target=0, method=GuidedIG(20, max_dist=0.0))
    torch.testing.assert_close(
        guided.values, explain(SMOOTH, X, target=0, method=samp.IG(20, credit="left")).values, **CLOSE
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_guided_points_keep_to_schedule_and_corridor(dtype: torch.dtype) -> None:
    model, x, n = net(4, features=90, activation=nn.Softplus).to(dtype), X.to(dtype), 20
    result = explain(model, x, target=0, method=GuidedIG(n, max_dist=0.1), keep_points=True)
    assert result.steps["to_image"].tolist() == [n] * len(x)
    alpha = result.tapes["to_image"][0].points / x[0]  # k *d, from black
    along = torch.arange(n + 1, dtype=dtype)[:, None] / n
    assert ((alpha.flatten(1) - along).abs() <= 0.1 + 1e-5).all()
    travelled = (alpha * x[0].abs()).flatten(1).sum(1) / x[0].abs().sum()
    torch.testing.assert_close(travelled, along[:, 0], rtol=0, atol=1e-5)


def test_guided_moves_the_flattest_first() -> None:
    weight = torch.tensor([4.0, 1.0, 3.0, 2.0], dtype=torch.float64)
    x = torch.ones(1, 4, dtype=torch.float64)
    result = explain(lambda z: z @ weight, x, method=GuidedIG(4, max_dist=1.0))
    assert result.order["to_image"].tolist() == [[4, 1, 3, 2]]


def test_guided_takes_any_inputs_any_direction_and_a_step_rule() -> None:
    a, b = images(0, 2, 4), images(1, 2, 3)

    def model(a: Tensor, b: Tensor) -> Tensor:
        return a.sum(1).sin() * b.square().sum(1)

    result = explain(model, (a, b), method=GuidedIG(100, direction="both", eta=0.007, baseline=0.1))
    assert [tuple(v.shape) for v in result.values] == [(2, 4), (2, 3)]
    assert all((steps > 100).all() for steps in result.steps.values())
    assert (result.residual.abs() < 0.1 * sum(c.abs() for c in result.score_change.values())).all()


# ---- real nets ----

NETS = {"squeezenet1_1": models.squeezenet1_1, "mobilenet_v2": models.mobilenet_v2}


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("method", [BlurIG(8), GuidedIG(8), SpectralIG(8), IG2(8)], ids=lambda m: type(m).__name__)
def test_works_on_real_nets(data: Path, name: str, method: Any) -> None:
    classifier = NETS[name](data / "models" / f"{name}_fp16.safetensors")
    x = classifier.prepare(photos.read(photos.example_photo("coffee")))
    result = explain(classifier.net, x, method=replace(method, credit="idgi"))
    assert result.values.isfinite().all()
    assert result.residual.abs() < 1e-4 * result.values.abs().sum()  # float32 sums over 150,528 elements
    other = explain(classifier.net, x, target=281, method=replace(method, credit="idgi"))
    assert differs(result, other)
