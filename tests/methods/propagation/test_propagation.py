"""Propagation methods × nets: each holds its law or refuses in one sentence."""

from __future__ import annotations

import gc
from copy import deepcopy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import samp
from propagation_nets import BUILDS, CLASSES, images, net
from samp.attribution import Attribution
from samp.methods.propagation import (
    LRP,
    METHODS,
    MWP,
    ContrastiveMWP,
    Deconvolution,
    DeepLIFT,
    DeepSHAP,
    GradientXInput,
    GuidedBackprop,
)

SMOOTH = {"no relu", "tanh", "gelu", "silu", "sigmoid"}  # no rectifier in there
REFUSED = {
    "lrp": {"sigmoid", "transformer"},
    "mwp": {"transformer"},
    "cmwp": {"transformer"},
    "guidedbackprop": SMOOTH | {"transformer"},
    "deconvolution": SMOOTH | {"transformer"},
    **{name: {build for build in BUILDS if build != "transformer"} for name in ("attnlrp", "libragrad")},
}
WORKS = [(m, b) for m in METHODS for b in BUILDS if b not in REFUSED.get(m, ())]
REFUSES = [(m, b) for m in METHODS for b in BUILDS if b in REFUSED.get(m, ())]
RELU_NETS = ["modules", "in place", "reused", "functional", "norm first", "overlapping pools", "residual"]

# In float64, sums of some hundred terms; smooth activations switch to the gradient at steps of 6e-6, wrong by 1e-16.
CLOSE = {"rtol": 1e-9, "atol": 1e-10}


def explain(model: Any, x: Tensor, method: Any, **more: Any) -> Attribution:
    return samp.explain(model, x, method=METHODS[method] if isinstance(method, str) else method, **more)


def total(result: Attribution) -> Tensor:
    assert isinstance(result.values, Tensor)
    return result.values.flatten(1).sum(1)


@pytest.mark.parametrize(("method", "build"), WORKS)
def test_every_method_depends_on_the_class_and_leaves_the_model_as_found(method: str, build: str) -> None:
    model, x = net(build), images()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    names = {name: set(vars(module)) for name, module in model.named_modules()}
    maps = [explain(model, x, method, target=target) for target in (0, 1)]
    assert all(m.values.shape == x.shape and torch.isfinite(m.values).all() for m in maps)
    assert not torch.allclose(maps[0].values, maps[1].values)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert {name: set(vars(module)) for name, module in model.named_modules()} == names
    assert all(p.grad is None and p.requires_grad for p in model.parameters())
    assert not any(m._forward_hooks or m._backward_hooks for m in model.modules())


@pytest.mark.parametrize(("method", "build"), REFUSES)
def test_a_net_without_a_rule_is_refused_in_one_sentence(method: str, build: str) -> None:
    with pytest.raises(NotImplementedError, match=r"^[^\n]+: use [^\n]+\.$"):
        explain(net(build), images(), method)


@pytest.mark.parametrize(("method", "build"), WORKS)
def test_the_result_does_not_depend_on_batch_size(method: str, build: str) -> None:
    model, x = net(build), images()
    whole, one = (explain(model, x, method, batch_size=size) for size in (3, 1))
    torch.testing.assert_close(whole.values, one.values, **CLOSE)
    assert whole.details.get("operations") == one.details.get("operations")


def living() -> int:
    gc.collect()
    return sum(issubclass(type(one), Tensor) for one in gc.get_objects())


@pytest.mark.parametrize("build", BUILDS)
def test_nothing_of_a_run_stays_in_memory(build: str) -> None:
    """A rule that held the tensor it was written into would never be freed."""
    model, x = net(build), images()
    before = living()
    for method in [method for method, works_on in WORKS if works_on == build]:
        explain(model, x, method)
    assert living() == before


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("baseline", ["black", "white", "gaussian"])
def test_deeplift_sums_to_the_score_change(build: str, baseline: str) -> None:
    model, x = net(build), images()
    result = explain(model, x, DeepLIFT(baseline), target=2)
    (start,) = samp.baselines.evaluate_baseline(baseline, [x])
    torch.testing.assert_close(total(result), (model(x) - model(start)).detach()[:, 2], **CLOSE)
    assert result.residual.abs().max() < 1e-10


@pytest.mark.parametrize("build", ["relu6", "residual", "transformer"])
def test_deep_shap_is_the_mean_of_deeplift_over_baselines(build: str) -> None:
    model, x = net(build), images()
    both = explain(model, x, DeepSHAP(("black", 0.7)))
    each = [explain(model, x, DeepLIFT(baseline)).values for baseline in ("black", 0.7)]
    torch.testing.assert_close(both.values, (each[0] + each[1]) / 2, **CLOSE)
    assert both.gradients.tolist() == [2] * len(x)


def test_deep_shap_takes_samples_as_baselines() -> None:
    model, x, background = net("relu6"), images(), images(5, seed=1)
    result = explain(model, x, DeepSHAP(tuple(background.split(1))), target=0)
    change = model(x)[:, 0] - model(background)[:, 0].mean()
    torch.testing.assert_close(total(result), change.detach(), **CLOSE)


@pytest.mark.parametrize("build", [b for b in BUILDS if b not in REFUSED["lrp"]])
@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 0.1])
def test_lrp_credit_and_what_is_absorbed_sum_to_the_score(build: str, epsilon: float) -> None:
    model, x = net(build), images()
    result = explain(model, x, LRP(epsilon), target=1)
    absorbed = torch.tensor(result.details["absorbed"], dtype=x.dtype)
    torch.testing.assert_close(total(result) + absorbed, model(x).detach()[:, 1], **CLOSE)
    assert result.residual.abs().max() < 1e-10


@pytest.mark.parametrize("build", RELU_NETS)
@pytest.mark.parametrize("bias", [True, False])
def test_lrp_without_epsilon_is_gradient_x_input_on_relu_nets(build: str, bias: bool) -> None:
    model, x = net(build, bias), images()
    torch.testing.assert_close(explain(model, x, LRP(0)).values, explain(model, x, GradientXInput()).values, **CLOSE)


def test_lrp_absorbs_nothing_without_biases_and_epsilon() -> None:
    result = explain(net("modules", bias=False), images(), LRP(0))
    assert max(map(abs, result.details["absorbed"])) < 1e-12


def test_epsilon_changes_the_map() -> None:
    model, x = net("modules"), images()
    assert not torch.allclose(explain(model, x, LRP(0.1)).values, explain(model, x, LRP(0)).values)


@pytest.mark.parametrize("build", ["modules", "in place", "reused", "functional", "relu6", "no relu", "tanh", "gelu"])
def test_winning_probabilities_sum_to_one(build: str) -> None:
    """Every unit of these nets has children of both signs."""
    result = explain(net(build), images(), MWP())
    assert isinstance(result.values, Tensor)
    assert result.values.min() >= 0
    torch.testing.assert_close(total(result), torch.ones(3, dtype=torch.float64), **CLOSE)
    torch.testing.assert_close(
        total(explain(net(build), images(), ContrastiveMWP())), torch.zeros(3, dtype=torch.float64), **CLOSE
    )


def test_a_unit_that_its_bias_drives_loses_its_probability_and_the_result_says_so() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1)).double().eval()
    with torch.no_grad():
        model[0].weight.copy_(torch.tensor([[1.0, 1.0], [-1.0, -1.0]]))
        model[0].bias.copy_(torch.tensor([0.0, 9.0]))
        model[2].weight.copy_(torch.tensor([[1.0, 1.0]]))
    result = explain(model, torch.ones(1, 2).double(), MWP())  # the units are 2, excited, and 7, by bias alone
    torch.testing.assert_close(result.values, torch.tensor([[1 / 9, 1 / 9]], dtype=torch.float64))
    assert result.details["kept"] == pytest.approx([2 / 9])


def test_winning_probabilities_are_those_of_the_paper_on_non_negative_activations() -> None:
    model, x = net("modules", bias=True), images().abs()
    a, b, head = model[0], model[2], model[5]
    first = a(x).relu()
    second = b(first).relu().flatten(1)
    p = torch.eye(CLASSES, dtype=torch.float64)[[3, 3, 3]]
    p = second * ((p / (second @ head.weight.clamp(min=0).T)) @ head.weight.clamp(min=0))
    p = _excited(b.weight, first, p.view(3, 5, 4, 4))
    torch.testing.assert_close(explain(model, x, MWP(), target=3).values, _excited(a.weight, x, p).detach(), **CLOSE)


def test_the_contrast_is_the_map_of_the_class_with_its_last_weights_negated() -> None:
    model, x = net("modules", bias=True), images().abs()
    negated = deepcopy(model)
    with torch.no_grad():
        negated[5].weight.neg_()
    expected = explain(model, x, MWP(), target=3).values - explain(negated, x, MWP(), target=3).values
    torch.testing.assert_close(explain(model, x, ContrastiveMWP(), target=3).values, expected, **CLOSE)


def _excited(weight: Tensor, a: Tensor, p: Tensor) -> Tensor:
    """The paper's rule for a convolution."""
    positive = weight.clamp(min=0)
    total = nn.functional.conv2d(a, positive)
    return a * nn.functional.conv_transpose2d(torch.where(total > 0, p / total, 0), positive)


@pytest.mark.parametrize("build", [b for b in BUILDS if b not in REFUSED["guidedbackprop"]])
@pytest.mark.parametrize("method", [GuidedBackprop(), Deconvolution()])
def test_guided_maps_are_not_the_plain_gradient(build: str, method: Any) -> None:
    model, x = net(build), images().requires_grad_()
    (gradient,) = torch.autograd.grad(model(x)[:, 0].sum(), x)
    result = explain(model, x.detach(), method, target=0)
    assert not torch.allclose(result.values, gradient)
    assert sum(result.details["operations"]["by rule"].values()) >= 1


@pytest.mark.parametrize("method", [GuidedBackprop(), Deconvolution()])
def test_a_rectifier_of_the_target_keeps_its_gradient(method: Any) -> None:
    """Such as that of a detection's overlap: the rules are those of the model's layers."""
    model, x = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2)).double().eval(), torch.rand(3, 4).double()
    inside = explain(model, x, method, target=lambda output: 5 - output[:, 1])
    outside = explain(model, x, method, target=lambda output: (5 - output[:, 1]).clamp(min=0))
    assert float(inside.values.abs().max()) > 0
    assert torch.equal(outside.values, inside.values)
    with pytest.raises(NotImplementedError, match="this model has none"):
        explain(nn.Linear(4, 2).double().eval(), x, method, target=lambda output: output[:, 0].relu())
