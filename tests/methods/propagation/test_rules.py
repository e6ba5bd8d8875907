"""The mechanism: which operations have rules, what is counted and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import samp
from samp.errors import NonFiniteError
from samp.methods.propagation import LRP, METHODS, MWP, DeepLIFT, DeepSHAP, GuidedBackprop
from samp.methods.propagation.operation_kinds import KINDS

ELEMENTWISE: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "relu_": lambda x: x.clone().relu_(),
    "relu6": F.relu6,
    "hardtanh_": lambda x: F.hardtanh_(x * 1.0),
    "clamp": lambda x: x.clamp(-0.3, 0.4),
    "leaky": F.leaky_relu,
    "elu": F.elu,
    "gelu": F.gelu,
    "silu": F.silu,
    "mish": F.mish,
    "softplus": F.softplus,
    "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "abs": abs,
    "square": lambda x: x**2,
    "exp": torch.exp,
    "log": lambda x: (x.square() + 1).log(),
    "rsqrt": lambda x: (x * x + 1e-5).rsqrt(),
    "quotient": lambda x: x / (1 + x.abs()),
    "constant over": lambda x: 2 / (1 + x.square()),
    "less": lambda x: (1 - x) * (x - 2) / 3,
    "in place": lambda x: torch.mul(x, 2).add_(1).mul_(x).sub_(x),
    "softmax": lambda x: x.softmax(1),
    "far softmax": lambda x: (300 * x).softmax(1),
    "log_softmax": lambda x: F.log_softmax(x, 1),
    "masked softmax": lambda x: x.masked_fill(torch.arange(6) > 3, -torch.inf).softmax(-1) * x,
    "layer_norm": lambda x: F.layer_norm(x, (6,)),
    "group_norm": lambda x: F.group_norm(x, 2, torch.arange(6.0).double(), torch.ones(6).double()),
    "products": lambda x: (x[:, :, None] @ x[:, None, :]).flatten(1),
    "attention": lambda x: F.scaled_dot_product_attention(*[x.view(-1, 3, 2) * k for k in (1, 2, 3)]).flatten(1),
    "max_pool1d": lambda x: F.max_pool1d(x[:, None], 3, 1).flatten(1),
    "adaptive_max_pool1d": lambda x: F.adaptive_max_pool1d(x[:, None], 2).flatten(1),
    "max_pool3d": lambda x: F.max_pool3d(x.view(-1, 1, 1, 2, 3), (1, 2, 2), 1).flatten(1),
    "bilinear": lambda x: F.interpolate(x.view(-1, 1, 2, 3), scale_factor=2, mode="bilinear").flatten(1),
    "same twice": lambda x: x * x,
    "set item": lambda x: _with_item(x),
}


def _with_item(x: Tensor) -> Tensor:
    y = torch.zeros_like(x)
    y[:, :2] = x[:, 1:3].relu()
    return y


def scored(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Σ of the function's values with weights of its own, after a linear map that mixes the features."""
    mix = torch.linspace(-1, 1, 36, dtype=torch.float64).cos().view(6, 6) * 2 - 1.1

    def score(x: Tensor) -> Tensor:
        y = function(F.linear(x, mix))
        return (y * torch.linspace(-1, 2, y.shape[1], dtype=y.dtype)).sum(1)

    return score


def points() -> Tensor:
    return torch.randn(5, 6, generator=torch.Generator().manual_seed(3), dtype=torch.float64)


@pytest.mark.parametrize("name", ELEMENTWISE)
@pytest.mark.parametrize("far", [1.0, 1e-7])
def test_deeplift_is_complete_for_every_operation_near_and_far(name: str, far: float) -> None:
    score, x = scored(ELEMENTWISE[name]), points()
    result = samp.explain(score, x, method=DeepLIFT(x - far * x.flip(0)))
    change = score(x) - score(x - far * x.flip(0))
    torch.testing.assert_close(result.values.sum(1), change, rtol=1e-6, atol=1e-13 / far)


def test_next_to_the_image_deeplift_is_gradient_times_difference() -> None:
    for name in ("gelu", "softmax", "log_softmax", "layer_norm", "attention", "quotient"):
        score, x = scored(ELEMENTWISE[name]), points()
        start = x - 1e-6 * x.flip(0)
        leaf = x.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(score(leaf).sum(), leaf)
        found = samp.explain(score, x, method=DeepLIFT(start)).values
        torch.testing.assert_close(found, gradient * (x - start), rtol=1e-3, atol=1e-10)


@pytest.mark.parametrize("function", [torch.atan, lambda x: x.cummax(1).values, lambda x: x.sort(1).values])
@pytest.mark.parametrize("method", [DeepLIFT(), LRP(), MWP()])
def test_an_operation_without_a_rule_is_named(function: Any, method: Any) -> None:
    with pytest.raises(NotImplementedError, match=r"no rule for the operation (atan|cummax|sort)"):
        samp.explain(scored(function), points(), method=method)


class Doubled(torch.autograd.Function):
    """A model's own autograd function."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return 2 * x

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return 2 * grads[0]


@pytest.mark.parametrize("method", [DeepLIFT(), LRP(), MWP(), GuidedBackprop()])
def test_autograd_functions_of_the_models_own_are_named(method: Any) -> None:
    with pytest.raises(NotImplementedError, match="Doubled, an autograd function of the model's own"):
        samp.explain(scored(Doubled.apply), points(), method=method)


def test_a_model_whose_way_depends_on_its_input_is_refused() -> None:
    def forked(x: Tensor) -> Tensor:
        return (x.tanh() if x.sum() == 0 else x.sigmoid()).sum(1)

    def longer(x: Tensor) -> Tensor:
        return (x.tanh().tanh() if x.sum() == 0 else x.tanh()).sum(1)

    for model in (forked, longer):
        with pytest.raises(NotImplementedError, match="the model's way depends on its input"):
            samp.explain(model, points(), method=DeepLIFT())


@pytest.mark.parametrize("layer", [lambda: nn.BatchNorm1d(6), nn.Dropout])
@pytest.mark.filterwarnings("ignore:the model is in training mode")
def test_training_mode_is_refused(layer: Callable[[], nn.Module]) -> None:
    model = nn.Sequential(nn.Linear(6, 6), layer(), nn.ReLU()).double().train()
    with pytest.raises(ValueError, match=r"call model.eval\(\)"):
        samp.explain(model, points(), target=0, method=DeepLIFT())


def test_counts_say_what_went_by_a_rule() -> None:
    model = nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 6), nn.ReLU6(), nn.Linear(6, 2)).double().eval()
    found = samp.explain(model, points(), method=DeepLIFT()).details["operations"]
    assert found == {"by rule": {"relu": 1, "hardtanh": 1}, "by gradient": {"linear": 3}}


def test_several_inputs_share_the_credit() -> None:
    def model(x: Tensor, y: Tensor) -> Tensor:
        return (x * y).relu().sum(1)

    inputs = (points(), points().flip(0))
    result = samp.explain(model, inputs, method=DeepLIFT())
    torch.testing.assert_close(sum(v.sum(1) for v in result.values), model(*inputs), rtol=1e-9, atol=1e-12)


def test_a_score_that_does_not_depend_on_the_input_is_refused() -> None:
    for method in (DeepLIFT(), LRP(), MWP()):
        with pytest.raises(ValueError, match="does not depend on the input"):
            samp.explain(lambda x: x.detach().sum(1), points(), method=method)


def test_a_sample_that_fails_is_named_and_the_others_are_kept() -> None:
    x = torch.tensor([[1.0], [-1.0]])
    with pytest.raises(NonFiniteError, match=r"samples \[1\]") as failure:
        samp.explain(lambda x: x.log().sum(1), x, method=DeepLIFT(2.0))
    assert failure.value.result.values.isfinite().tolist() == [[True], [False]]


def test_parameters_made_from_parameters_are_constants() -> None:
    model = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(6, 4)), nn.ReLU(), nn.Linear(4, 1))
    model = model.double().eval()
    result = samp.explain(model, points(), target=0, method=DeepLIFT())
    assert result.residual.abs().max() < 1e-12


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_methods_say_what_they_are(method: Any) -> None:
    assert method.about.paper
    assert method.about.cost
    assert repr(method).startswith(type(method).__name__)


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="epsilon"):
        LRP(-1)
    with pytest.raises(ValueError, match="baselines"):
        DeepSHAP(())


def test_no_operation_has_two_kinds_and_half_precision_works() -> None:
    assert len(KINDS) > 100
    model = nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 2)).bfloat16().eval()
    result = samp.explain(model, points().bfloat16(), method=GuidedBackprop())
    assert torch.isfinite(result.values).all()
