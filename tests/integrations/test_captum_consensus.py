"""The default for Captum's users: the numbers of `samp.explain`, a delta of 0, and Captum's tools run it."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch
from torch import Tensor

import samp
from laws import CLOSE, images, net
from samp.baselines import Blurred
from samp.integrations.captum import SAMP, Consensus
from samp.methods.consensus import QUALITIES

MODEL = net(seed=3, features=48, classes=4)
X = images(7, 2, 3, 4, 4)


def same(a: Any, b: Any, **tolerance: float) -> None:
    torch.testing.assert_close(a, b, **(tolerance or {"rtol": 0, "atol": 0}))


def test_without_settings_it_is_the_default_of_samp() -> None:
    same(Consensus(MODEL).attribute(X), samp.explain(MODEL, X).values)


@pytest.mark.parametrize("quality", QUALITIES)
def test_it_is_the_method_of_samp_in_every_quality(quality: Any) -> None:
    both = samp.explain(MODEL, X, target=1, method=samp.Consensus(quality)).values
    same(Consensus(MODEL).attribute(X, target=1, quality=quality), both)
    one_way = samp.Consensus(quality, direction="to_image", baseline=0.0)
    same(
        Consensus(MODEL).attribute(X, 0.0, 1, quality=quality),
        samp.explain(MODEL, X, target=1, method=one_way).values,
    )


def test_options_reach_the_method() -> None:
    options: dict[str, Any] = {"quality": "draft", "walks": 3, "noise": 0.2, "softness": 0.1, "momentum": 0.9}
    options |= {"growth": 0.2, "weight": 3.0}
    method = samp.Consensus(**options, steps=5, baseline="uniform")
    expected = samp.explain(MODEL, X, target=2, method=method, seed=5).values
    same(Consensus(MODEL).attribute(X, "uniform", 2, n_steps=5, seed=5, direction="both", **options), expected)


OTHERS = {"quality": "draft", "walks": 2, "noise": 0.5, "softness": 0.0, "momentum": 0.9, "growth": 0.0}
OTHERS |= {"weight": 5.0, "n_steps": 2, "seed": 1, "direction": "to_baseline"}


@pytest.mark.parametrize(("option", "value"), OTHERS.items())
def test_every_option_changes_the_result(option: str, value: Any) -> None:
    attribute, arguments = Consensus(MODEL).attribute, {"target": 0, "direction": "both", "n_steps": 7}
    assert not torch.allclose(
        attribute(X, "uniform", **arguments), attribute(X, "uniform", **{**arguments, option: value})
    )


@pytest.mark.parametrize("baselines", [None, 0.5])
def test_the_delta_is_nought_and_the_credit_sums_to_the_change(baselines: float | None) -> None:
    attributions, delta = Consensus(MODEL).attribute(X, baselines, 1, return_convergence_delta=True)
    same(delta, torch.zeros_like(delta), **CLOSE)
    ends = [torch.zeros_like(X), Blurred.for_image(4, 4)(X)] if baselines is None else [torch.full_like(X, baselines)]
    change = sum((MODEL(X) - MODEL(end))[:, 1] for end in ends)
    same(attributions.flatten(1).sum(1), change.detach(), **CLOSE)


def test_mistakes_get_a_sentence() -> None:
    with pytest.raises(ValueError, match="unknown quality 'best': the known ones are draft, standard, fine"):
        Consensus(MODEL).attribute(X, quality="best")
    with pytest.raises(ValueError, match="noise is a share above 0"):
        Consensus(MODEL).attribute(X, noise=0.0)
    with pytest.raises(TypeError, match="eta"):
        Consensus(MODEL).attribute(X, eta=0.1)


def test_captum_s_part_of_the_signature_is_that_of_samp_s_class() -> None:
    ours, theirs = (inspect.signature(one(MODEL).attribute).parameters for one in (Consensus, SAMP))
    assert [p for p in ours.values() if p.kind is p.POSITIONAL_OR_KEYWORD] == [
        p for p in theirs.values() if p.kind is p.POSITIONAL_OR_KEYWORD
    ]
    assert Consensus(forward_func=MODEL).has_convergence_delta()


@pytest.mark.parametrize("more", [{}, {"baselines": 0.25}])
def test_noise_tunnel_runs_it_unchanged(more: dict[str, Any]) -> None:
    attr = pytest.importorskip("captum.attr")
    torch.manual_seed(0)
    arguments: dict[str, Any] = {"nt_samples": 3, "stdevs": 0.1, "target": [1, 2], "return_convergence_delta": True}
    result, delta = attr.NoiseTunnel(Consensus(MODEL)).attribute(X, quality="draft", **arguments, **more)
    torch.manual_seed(0)
    noisy = X.repeat_interleave(3, 0) + torch.normal(0, torch.tensor(0.1).expand(6, 3, 4, 4))
    baseline = more.get("baselines")
    method = samp.Consensus("draft", direction="both" if baseline is None else "to_image", baseline=baseline)
    expected = samp.explain(MODEL, noisy, target=[1, 1, 1, 2, 2, 2], method=method)
    assert isinstance(expected.values, Tensor)
    same(result, expected.values.view(2, 3, 3, 4, 4).mean(1), **CLOSE)
    same(delta, torch.zeros_like(delta), **CLOSE)
