"""The front door: the model is left as found, and every argument does what it is meant to and nothing else."""

from __future__ import annotations

import copy
import warnings
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import samp
from laws import CLOSE, assert_same, assert_same_sample, differs, images, net

X = images(0, 3, 3, 4, 4)


class Strange(nn.Module):
    """A net with all that a careless caller could disturb: hooks, gradients, frozen weights, running statistics."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(48, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 3))
        self.double()
        self.body[1].weight.requires_grad_(False)
        self.body[4].weight.grad = torch.ones_like(self.body[4].weight)
        self.calls, self.breaks_at = 0, None
        self.body.register_forward_hook(self.count)

    def count(self, *_: Any) -> None:
        self.calls += 1
        if self.calls == self.breaks_at:
            raise RuntimeError("broken")

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x)


def state(model: nn.Module) -> dict[str, Any]:
    said: dict[str, Any] = {"random": torch.get_rng_state()}
    for name, parameter in model.named_parameters():
        said |= {
            name: parameter.detach().clone(),
            f"{name} wants": parameter.requires_grad,
            f"{name} id": id(parameter),
        }
        said[f"{name} grad"] = None if parameter.grad is None else parameter.grad.clone()
    for name, buffer in model.named_buffers():
        said |= {name: buffer.clone(), f"{name} id": id(buffer)}
    for name, module in model.named_modules():
        hooks = (module._forward_hooks, module._forward_pre_hooks, module._backward_hooks, module._backward_pre_hooks)
        said[f"{name} module"] = (module.training, *map(len, hooks))
    return said


def assert_equal_states(a: dict[str, Any], b: dict[str, Any]) -> None:
    assert a.keys() == b.keys()
    for name, value in a.items():
        assert torch.equal(value, b[name]) if isinstance(value, Tensor) else value == b[name], name


@pytest.mark.parametrize("method", ["samp", "samp++", "ig"])
@pytest.mark.parametrize("training", ["no", "yes", "in part"])
def test_the_model_is_left_as_it_was_found(method: str, training: str) -> None:
    model = Strange().train(training == "yes")
    model.body[2].train(training != "no")
    before = state(model)
    with pytest.warns(UserWarning, match="training mode") if training != "no" else nullcontext():
        samp.explain(model, X, method=method)
    assert model.calls > 0
    assert_equal_states(before, state(model))


def test_the_model_is_left_as_it_was_found_after_an_error_too() -> None:
    model = Strange().train()
    model.breaks_at = 3
    before = state(model)
    with pytest.warns(UserWarning, match="training mode"), pytest.raises(RuntimeError, match="broken"):
        samp.explain(model, X)
    assert_equal_states(before, state(model))


def test_training_mode_is_warned_of_and_evaluation_is_not() -> None:
    with pytest.warns(UserWarning, match=r"in training mode: dropout makes .* random .*; call model\.eval\(\) first"):
        samp.explain(nn.Sequential(net(0, features=48), nn.Dropout(0.1)), X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        samp.explain(net(0, features=48), X)
        samp.explain(lambda x: x.flatten(1).sum(1), X)


def test_a_random_model_gives_one_result_per_seed() -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(48, 8), nn.Dropout(0.5), nn.Linear(8, 3)).double()
    with pytest.warns(UserWarning, match="training mode"):
        one, same, other = (samp.explain(model, X, target=0, seed=seed) for seed in (1, 1, 2))
    assert_same(one, same)
    assert differs(one, other)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
@pytest.mark.parametrize("method", ["samp++", "ig"])
def test_the_callers_grad_mode_does_not_matter(mode: Any, method: str) -> None:
    inner = net(0, features=48)

    def model(x: Tensor, scale: Tensor) -> Tensor:
        return inner(x * scale)

    question: Any = {"method": method, "groups": samp.Patches(2), "target": torch.tensor([0, 1, 2])}
    expected = samp.explain(model, X, forward_args=X[:1], **question)
    with mode():
        result = samp.explain(model, X.clone(), forward_args=X[:1].clone(), **question)
        assert torch.is_grad_enabled() == (mode is torch.enable_grad)
        assert torch.is_inference_mode_enabled() == (mode is torch.inference_mode)
    assert_same(result, expected, **CLOSE)
    assert not result.values.is_inference()


@pytest.mark.parametrize("groups", [None, samp.Elements()])
def test_models_that_work_in_place_on_their_input_are_fine(groups: Any) -> None:
    inner, before = net(0, features=48), X.clone()

    def in_place(x: Tensor) -> Tensor:
        return inner(x.sub_(0.3).mul_(2).relu_())

    expected = samp.explain(lambda x: inner(((x - 0.3) * 2).relu()), X, groups=groups)
    assert_same(samp.explain(in_place, X, groups=groups), expected, **CLOSE)
    assert torch.equal(X, before)
    inplace = nn.Sequential(nn.ReLU(inplace=True), inner).eval()
    assert_same(samp.explain(inplace, X), samp.explain(nn.Sequential(nn.ReLU(), inner).eval(), X), **CLOSE)


class Wrapped(nn.Module):
    """As nn.DataParallel does: the model inside, the batch split."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module
        self.eval()

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.module(part) for part in x.split(2)])


@pytest.mark.parametrize("wrap", [Wrapped, copy.deepcopy, lambda m: m.forward, lambda m: lambda x: m(x)])
def test_any_callable_is_a_model(wrap: Any) -> None:
    model = net(0, features=48)
    assert_same(samp.explain(wrap(model), X), samp.explain(model, X), **CLOSE)


DEFAULT: dict[str, Any] = {"pixels_per_step": 3, "eta": 0.2, "momentum": 0.5, "baseline": 0.1}


@pytest.mark.parametrize(
    "changed",
    [
        {"target": 1},
        {"target": [0, 1, 2]},
        {"groups": samp.Elements()},
        {"groups": samp.Patches(2)},
        {"groups": torch.arange(16).view(4, 4) // 3},
        {"forward_args": (2.0,)},
        {"method": "samp"},
        {"method": "samp++"},
        {"method": "ig"},
        *({"method": samp.SAMP(**{**DEFAULT, **setting})} for setting in (
            {"pixels_per_step": 5}, {"eta": 0.05}, {"eta": None}, {"momentum": 0.0}, {"momentum": 0.9},
            {"credit": "left"}, {"credit": "right"}, {"credit": "trapezoid"}, {"credit": "shared"},
            {"credit": "shared_trapezoid"}, {"direction": "to_image"}, {"direction": "to_baseline"},
            {"baseline": 0.2}, {"baseline": (0.1, 0.2)}, {"baseline": (0.2, 0.1)}, {"baseline": "blurred"},
        )),
    ],
    ids=str,
)  # fmt: skip
def test_every_argument_changes_the_result(changed: dict[str, Any]) -> None:
    inner = net(0, features=48)
    question: Any = {"target": 0, "method": samp.SAMP(**DEFAULT), "forward_args": (1.0,)}
    results = [
        samp.explain(lambda x, power: inner(x) * torch.tanh(power * x.sum((1, 2, 3)))[:, None], X, **asked)
        for asked in (question, question | changed)
    ]
    values = [result.values for result in results]
    assert not torch.allclose(*values)


@pytest.mark.parametrize(
    "steps", [{"steps": 5}, {"eta": 0.03}, {"credit": "left"}, {"direction": "both"}, {"baseline": 1}]
)
def test_every_setting_of_ig_changes_the_result(steps: dict[str, Any]) -> None:
    model = net(0, features=48)
    results = [samp.explain(model, X, target=0, method=samp.IG(**s)) for s in ({"steps": 10}, {"steps": 10, **steps})]
    assert differs(*results)


@pytest.mark.parametrize("baseline", ["uniform", "gaussian"])
def test_the_seed_changes_random_baselines_and_the_noise_of_the_default_only(baseline: str) -> None:
    model = net(0, features=48)
    one, other = (samp.explain(model, X, target=0, method=samp.SAMP(baseline=baseline), seed=s) for s in (0, 1))
    assert differs(one, other)
    assert_same(*(samp.explain(model, X, target=0, method="coupled", seed=seed) for seed in (0, 1)))
    assert differs(*(samp.explain(model, X, target=0, seed=seed) for seed in (0, 1)))
    assert_same(*(samp.explain(model, X, target=0, seed=seed) for seed in (1, 1)))


@pytest.mark.parametrize(
    "changed", [{"batch_size": 1}, {"batch_size": 4}, {"keep_points": True}, {"keep_points": 1}, {"progress": True}]
)
def test_how_it_is_run_does_not_change_the_result(changed: dict[str, Any]) -> None:
    model = net(0, features=48)
    assert_same(samp.explain(model, X, **changed), samp.explain(model, X), **CLOSE)


def test_a_large_batch_and_a_single_image_agree_on_a_convolutional_net() -> None:
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        model = nn.Sequential(
            nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 5, 3), nn.ReLU(), nn.Flatten(), nn.LazyLinear(4)
        )
        model = model.double().eval()
        x = images(1, 5, 3, 9, 9)
        model(x)
    together = samp.explain(model, x)
    for i in range(5):
        assert_same_sample(together, i, samp.explain(model, x[i : i + 1]), 0, **CLOSE)


@pytest.mark.parametrize("seed", [None, 1.5, "a", True, 2**70])
def test_a_seed_that_is_none_gets_a_sentence(seed: Any) -> None:
    with pytest.raises(ValueError, match=r"^seed is a whole number from -2\*\*63 to 2\*\*63 - 1, not "):
        samp.explain(net(0), images(0, 1, 12), target=0, seed=seed)


def test_a_seed_of_numpys_is_a_seed() -> None:
    ask = partial(samp.explain, net(0), images(0, 1, 12), target=0, method=samp.IG(baseline="uniform"))
    assert torch.equal(ask(seed=np.int64(3)).values, ask(seed=3).values)  # type: ignore[arg-type]  # the point
    assert not torch.equal(ask(seed=3).values, ask(seed=4).values)


def test_what_is_no_model_gets_a_sentence() -> None:
    with pytest.raises(TypeError, match=r"^a model is a module or a function, not NoneType\.$"):
        samp.explain(None, images(0, 1, 12), target=0)  # type: ignore[arg-type]  # the point of the test


def test_an_argument_that_a_model_writes_into_stays_as_it_was() -> None:
    def scaled(x: Tensor, by: Tensor) -> Tensor:
        return (x * by.mul_(0.9)).sum(1)

    x = images(0, 2, 12)
    by = torch.ones(1, 12).to(x)
    result = samp.explain(scaled, x, forward_args=(by,), method="ig")
    assert torch.equal(by, torch.ones_like(by))
    torch.testing.assert_close(result.values, 0.9 * x)


def test_no_further_arguments_may_be_said_as_none() -> None:
    x = images(0, 2, 12)
    ask = partial(samp.explain, net(0), x, target=0)
    assert_same(ask(forward_args=None), ask())  # type: ignore[arg-type]  # the point of the test
