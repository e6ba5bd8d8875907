"""The coupled walk for Captum's users: the numbers of `samp.explain`, a delta of 0, and Captum's tools run it."""

from __future__ import annotations

import inspect
import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import samp
from laws import CLOSE, images, net
from samp.baselines import Blurred
from samp.integrations.captum import SAMP, Coupled
from samp.methods.coupled import QUALITIES

MODEL = net(seed=3, features=48, classes=4)
X = images(7, 2, 3, 4, 4)


def same(a: Any, b: Any, **tolerance: float) -> None:
    torch.testing.assert_close(a, b, **(tolerance or {"rtol": 0, "atol": 0}))


@pytest.mark.parametrize("quality", QUALITIES)
def test_it_is_the_method_of_samp_in_every_quality(quality: Any) -> None:
    both = samp.explain(MODEL, X, target=1, method=samp.Coupled(quality)).values
    same(Coupled(MODEL).attribute(X, target=1, quality=quality), both)
    one_way = samp.Coupled(quality, direction="to_image", baseline=0.0)
    expected = samp.explain(MODEL, X, target=1, method=one_way).values
    same(Coupled(MODEL).attribute(X, 0.0, 1, quality=quality), expected)


def test_without_settings_it_is_the_coupled_walk_of_samp() -> None:
    same(Coupled(MODEL).attribute(X), samp.explain(MODEL, X, method="coupled").values)


@pytest.mark.parametrize("n_steps", [1, 3, 16])
def test_n_steps_sets_the_groups_per_step(n_steps: int) -> None:
    method = samp.Coupled(pixels_per_step=math.ceil(16 / n_steps), eta=1)
    expected = samp.explain(MODEL, X, target=0, method=method)
    same(Coupled(MODEL).attribute(X, None, 0, n_steps=n_steps, eta=1), expected.values)
    assert int(expected.steps["to_image"].max()) <= n_steps


def test_options_reach_the_method() -> None:
    options: dict[str, Any] = {"quality": "fine", "eta": 0.3, "momentum": 0.9, "growth": 0.2, "weight": 3.0}
    method = samp.Coupled(**options, steps=5, baseline="uniform")
    expected = samp.explain(MODEL, X, target=2, method=method, seed=5).values
    same(Coupled(MODEL).attribute(X, "uniform", 2, n_steps=5, seed=5, direction="both", **options), expected)


OTHERS = {"quality": "draft", "eta": 0.2, "momentum": 0.0, "growth": 1.0, "weight": 5.0, "n_steps": 2, "seed": 1}


@pytest.mark.parametrize(("option", "value"), [*OTHERS.items(), ("direction", "to_baseline")])
def test_every_option_changes_the_result(option: str, value: Any) -> None:
    attribute, arguments = Coupled(MODEL).attribute, {"target": 0, "direction": "both", "n_steps": 7}
    assert not torch.allclose(
        attribute(X, "uniform", **arguments), attribute(X, "uniform", **{**arguments, option: value})
    )


@pytest.mark.parametrize("quality", QUALITIES)
@pytest.mark.parametrize("baselines", [None, 0.5])
def test_the_delta_is_nought_and_the_credit_sums_to_the_change(quality: Any, baselines: float | None) -> None:
    attributions, delta = Coupled(MODEL).attribute(X, baselines, 1, quality=quality, return_convergence_delta=True)
    same(delta, torch.zeros_like(delta), **CLOSE)
    ends = [torch.zeros_like(X), Blurred.for_image(4, 4)(X)] if baselines is None else [torch.full_like(X, baselines)]
    change = sum((MODEL(X) - MODEL(end))[:, 1] for end in ends)
    same(attributions.flatten(1).sum(1), change.detach(), **CLOSE)


def test_inputs_targets_masks_and_further_arguments_are_those_of_samp_s_class() -> None:
    """They are handed on by the same code, so one call with all of them is enough."""

    def scaled(a: Tensor, b: Tensor, factor: Tensor) -> Tensor:
        return MODEL(torch.cat([a, b], 1)) * factor[:, None]

    a, b, factor = images(1, 2, 20), images(2, 2, 28).float(), torch.tensor([2.0, 5.0], dtype=torch.float64)
    masks = (torch.arange(20)[None] // 4, 5 + torch.arange(28)[None] // 4)
    arguments: dict[str, Any] = {"baselines": (0.5, 0.0), "target": [1, 3], "feature_mask": masks}
    arguments |= {"additional_forward_args": factor, "internal_batch_size": 1, "return_convergence_delta": True}
    (for_a, for_b), delta = Coupled(scaled).attribute((a, b), **arguments)
    assert (for_a.dtype, for_b.dtype) == (torch.float64, torch.float32)
    method = samp.Coupled(direction="to_image", baseline=[0.5, 0.0])
    how: dict[str, Any] = {"groups": masks, "forward_args": samp.PerSample(factor)}
    expected = samp.explain(scaled, (a, b), target=[1, 3], method=method, **how)
    same((for_a, for_b), (expected.values[0], expected.values[1].float()), rtol=1e-6, atol=1e-7)  # b is in float32
    same(delta, torch.zeros_like(delta), rtol=0, atol=1e-9)


def test_mistakes_get_a_sentence() -> None:
    with pytest.raises(ValueError, match="unknown quality 'best': the known ones are draft, standard, fine"):
        Coupled(MODEL).attribute(X, quality="best")
    with pytest.raises(ValueError, match="steps is a whole number"):
        Coupled(MODEL).attribute(X, n_steps=0)
    with pytest.raises(TypeError, match="credit"):
        Coupled(MODEL).attribute(X, credit="shared")


def test_captum_s_part_of_the_signature_is_that_of_samp_s_class() -> None:
    ours, theirs = (inspect.signature(one(MODEL).attribute).parameters for one in (Coupled, SAMP))
    assert [p for p in ours.values() if p.kind is p.POSITIONAL_OR_KEYWORD] == [
        p for p in theirs.values() if p.kind is p.POSITIONAL_OR_KEYWORD
    ]
    method = Coupled(forward_func=MODEL)
    assert method.has_convergence_delta()
    assert method.multiplies_by_inputs is True


@pytest.mark.parametrize("more", [{}, {"baselines": 0.25}, {"baselines": X / 2, "quality": "draft"}])
@pytest.mark.parametrize("inputs", [X, (X,)], ids=["tensor", "tuple"])
def test_noise_tunnel_runs_it_unchanged(more: dict[str, Any], inputs: Any) -> None:
    attr = pytest.importorskip("captum.attr")
    torch.manual_seed(0)
    arguments: dict[str, Any] = {"nt_samples": 3, "stdevs": 0.1, "target": [1, 2], "return_convergence_delta": True}
    result, delta = attr.NoiseTunnel(Coupled(MODEL)).attribute(inputs, **arguments, **more)
    torch.manual_seed(0)
    noisy = X.repeat_interleave(3, 0) + torch.normal(0, torch.tensor(0.1).expand(6, 3, 4, 4))
    baseline = more.get("baselines")
    baseline = baseline.repeat_interleave(3, 0) if isinstance(baseline, Tensor) else baseline
    direction: Any = "both" if baseline is None else "to_image"
    method = samp.Coupled(more.get("quality", "standard"), direction=direction, baseline=baseline)
    expected = samp.explain(MODEL, noisy, target=[1, 1, 1, 2, 2, 2], method=method)
    assert isinstance(result, type(inputs))
    same(result[0] if isinstance(result, tuple) else result, expected.values.view(2, 3, 3, 4, 4).mean(1), **CLOSE)
    same(delta, torch.zeros_like(delta), **CLOSE)


def test_sensitivity_max_runs_it_unchanged() -> None:
    metrics = pytest.importorskip("captum.metrics")
    options = {"target": 1, "quality": "draft", "feature_mask": torch.arange(16).view(1, 1, 4, 4) // 2}
    got = metrics.sensitivity_max(Coupled(MODEL).attribute, X, lambda x: x + 0.1, n_perturb_samples=2, **options)
    here, there = (Coupled(MODEL).attribute(x, **options).flatten(1) for x in (X, X + 0.1))
    same(got, (here - there).norm(dim=1) / here.norm(dim=1), **CLOSE)


def test_infidelity_asks_it() -> None:
    """Of one pixel all credit is its pixel's: taking it away changes the score by just the credit."""
    metrics = pytest.importorskip("captum.metrics")
    model = nn.Sequential(nn.Flatten(), nn.Linear(1, 3)).double().eval()
    x, method = images(3, 2, 1, 1, 1) + 0.1, Coupled(model)

    @metrics.infidelity_perturb_func_decorator(method.multiplies_by_inputs)
    def halve(x: Tensor) -> Tensor:
        return x / 2

    credit = method.attribute(x, 0.0, 2)
    for attributions, right in ((credit, True), (-credit, False)):
        found = metrics.infidelity(model, halve, x, attributions, target=2, n_perturb_samples=4)
        assert bool((found < 1e-20).all()) is right
