"""Infidelity by Captum: the definition by brute force, its ends, and what may not change it."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import samp
from laws import CLOSE, CountingModel, images, linear, net
from samp.engine.problem import make_problem
from samp.metrics.imputation import NoisyLinear
from samp.metrics.infidelity import Hidden, Noise, Perturbation, infidelity
from samp.metrics.subsets import Subsets

pytest.importorskip("captum")

WEIGHTS = torch.tensor([3.0, -1.0, 2.0, 0.5], dtype=torch.float64)
PIXELS = net(0, 2 * 4 * 4)
BOTH: list[Perturbation] = [Hidden(share=0.5, fill=0.25), Noise(sigma=0.3)]


def bent(x: Tensor) -> Tensor:
    return x[:, 0] * x[:, 1] + 2 * x[:, 2] - x[:, 3] ** 2


def test_hidden_equals_brute_force_on_four_features() -> None:
    x, values = images(0, 3, 4), images(1, 3, 4) - 0.5
    found = infidelity(bent, x, values, perturbation=Hidden(0.5, 0.25), perturbations=30, seed=4)
    for i in range(3):
        errors = []
        for number in range(30):
            some = Subsets.draw(make_problem(bent, x), torch.full((3, 1), 2), range(number, number + 1), 4)
            hidden = some.membership(torch.tensor([i]), torch.tensor([0]))
            drop = bent(x[i : i + 1]) - bent(torch.where(hidden, 0.25, x[i : i + 1]))
            errors.append((float(values[i][hidden[0]].sum()) - float(drop)) ** 2)
        assert found.infidelity[i].item() == pytest.approx(np.mean(errors), rel=1e-9)


@pytest.mark.parametrize("fill", [None, -0.5, 0.5, 2.0])  # below all elements, among them, above all
def test_noise_equals_brute_force_on_four_features(fill: float | None) -> None:
    x, values = images(0, 3, 4), images(1, 3, 4) - 0.5
    found = infidelity(bent, x, values, perturbation=Noise(0.3, fill), perturbations=30, seed=4)
    errors = torch.zeros(3, dtype=torch.float64)
    for number in range(30):
        noise = 0.3 * torch.from_numpy(np.random.default_rng([4, number]).standard_normal(4))
        weight = noise if fill is None else noise / (x - fill)
        errors += ((weight * values).sum(1) - (bent(x) - bent(x - noise))) ** 2 / 30
    torch.testing.assert_close(found.infidelity, errors, **CLOSE)


def test_exact_maps_of_a_linear_model_leave_no_error_and_reversed_ones_four_times_that_of_none() -> None:
    x = images(2, 3, 4) + 0.1
    maps = {Hidden(0.5): WEIGHTS * x, Noise(0.3): WEIGHTS.expand(3, 4), Noise(0.3, 0.0): WEIGHTS * x}
    for perturbation, exact in maps.items():
        error = [
            infidelity(linear(WEIGHTS), x, factor * exact, perturbation=perturbation).infidelity
            for factor in (1, 0, -1)
        ]
        torch.testing.assert_close(error[0], torch.zeros(3, dtype=torch.float64), **CLOSE)
        assert (error[1] > 0.01).all()
        torch.testing.assert_close(error[2], 4 * error[1], **CLOSE)  # (−2Δ)² against Δ²


def test_normalised_maps_may_have_any_scale_and_sign() -> None:
    x = images(2, 3, 4) + 0.1
    values = WEIGHTS * x + images(3, 3, 4)
    arguments: dict[str, Any] = {"perturbation": Hidden(0.5), "normalise": True}
    plain = infidelity(linear(WEIGHTS), x, values, **arguments).infidelity
    for factor in (1e-6, 50, -1):
        scaled = infidelity(linear(WEIGHTS), x, factor * values, **arguments).infidelity
        torch.testing.assert_close(scaled, plain, rtol=1e-6, atol=1e-9)
    assert (plain < infidelity(linear(WEIGHTS), x, values, perturbation=Hidden(0.5)).infidelity).all()
    nothing = infidelity(linear(WEIGHTS), x, 0 * values, **arguments).infidelity
    assert torch.isfinite(nothing).all()
    assert (nothing > plain).all()


@pytest.mark.parametrize("perturbation", BOTH)
def test_result_does_not_depend_on_batch_size_or_neighbours(perturbation: Perturbation) -> None:
    x, maps = images(6, 3, 2, 4, 4), images(7, 3, 4, 4)
    arguments: dict[str, Any] = {"perturbation": perturbation, "perturbations": 11}
    whole = infidelity(PIXELS, x, maps, [0, 1, 2], **arguments).infidelity
    for batch_size in (1, 4, 7, 1000):
        again = infidelity(PIXELS, x, maps, [0, 1, 2], batch_size=batch_size, **arguments).infidelity
        torch.testing.assert_close(again, whole, **CLOSE)
    alone = infidelity(PIXELS, x[1:2], maps[1:2], 1, **arguments).infidelity
    torch.testing.assert_close(alone[0], whole[1], **CLOSE)
    torch.manual_seed(5)
    assert torch.equal(infidelity(PIXELS, x, maps, [0, 1, 2], **arguments).infidelity, whole)


@pytest.mark.parametrize("perturbation", BOTH)
def test_every_kind_of_target_is_understood(perturbation: Perturbation) -> None:
    x, maps = images(6, 3, 2, 4, 4), images(7, 3, 4, 4)
    arguments: dict[str, Any] = {"perturbation": perturbation, "perturbations": 5}
    best = PIXELS(x).argmax(1)
    whole = infidelity(PIXELS, x, maps, best, **arguments).infidelity
    per_sample = best.tolist()
    targets: list[Any] = [None, per_sample, lambda out, samples: out[torch.arange(len(out)), best[samples]]]
    for target in targets:
        torch.testing.assert_close(infidelity(PIXELS, x, maps, target, **arguments).infidelity, whole, **CLOSE)
    deep = infidelity(lambda x: PIXELS(x)[:, :, None], x, maps, [(c, 0) for c in per_sample], **arguments)
    torch.testing.assert_close(deep.infidelity, whole, **CLOSE)


def test_every_argument_changes_the_result() -> None:
    x, maps = images(9, 2, 2, 4, 4), images(10, 2, 2, 4, 4)
    arguments: dict[str, Any] = {"target": 0, "perturbations": 10}
    plain = infidelity(PIXELS, x, maps, **arguments).infidelity
    others: list[dict[str, Any]] = [
        {"target": 1}, {"perturbation": Hidden(share=0.5)}, {"perturbation": Hidden(fill=1.0)}, {"seed": 1},
        {"perturbation": Noise()}, {"perturbation": Noise(0.1)}, {"perturbation": Noise(fill=0.0)},
        {"perturbations": 11}, {"normalise": True}, {"groups": samp.Elements()}, {"score": "probability"},
    ]  # fmt: skip
    seen = [plain]
    for other in others:
        found = infidelity(PIXELS, x, maps, **{**arguments, **other}).infidelity
        assert not any(torch.allclose(found, one) for one in seen), other
        seen.append(found)
    scale = torch.tensor([1.0, -1.0], dtype=torch.float64)
    scaled = infidelity(
        lambda x, s: PIXELS(x * s.view(-1, 1, 1, 1)), x, maps, **arguments, forward_args=samp.PerSample(scale)
    )
    torch.testing.assert_close(scaled.infidelity[0], plain[0], **CLOSE)
    assert scaled.infidelity[1] != plain[1]


def test_maps_and_inputs_may_come_in_other_dtypes() -> None:
    x, maps = images(6, 3, 2, 4, 4), images(7, 3, 2, 4, 4)
    expected = infidelity(PIXELS, x, maps, 0).infidelity
    torch.testing.assert_close(infidelity(PIXELS, x, maps.numpy(), 0).infidelity, expected)
    single = infidelity(net(0, 2 * 4 * 4).float(), x.float(), maps.float(), 0).infidelity
    torch.testing.assert_close(single, expected, rtol=1e-4, atol=1e-5)  # float32 scores


def test_several_inputs_are_judged_together() -> None:
    a, b = images(1, 2, 3), images(2, 2, 4)
    weight = torch.arange(1.0, 8.0, dtype=torch.float64)
    exact = weight * torch.cat([a, b], 1)
    for perturbation in (Hidden(0.4), Noise(0.1, 0.0)):
        found = infidelity(
            lambda a, b: (torch.cat([a, b], 1) * weight).sum(1),
            (a, b),
            (exact[:, :3], exact[:, 3:]),
            perturbation=perturbation,
        )
        torch.testing.assert_close(found.infidelity, torch.zeros(2, dtype=torch.float64), **CLOSE)


def test_elements_equal_to_the_fill_count_nothing() -> None:
    x = torch.tensor([[0.0, 1.0]], dtype=torch.float64)
    found = infidelity(lambda x: x[:, 1] * 3, x, torch.tensor([[7.0, 3.0]]), perturbation=Noise(0.3, 0.0))
    torch.testing.assert_close(found.infidelity, torch.zeros(1, dtype=torch.float64), **CLOSE)


def test_defaults_are_a_hundred_times_a_fifth_hidden_and_noise_of_a_fifth() -> None:
    assert (Hidden(), Noise()) == (Hidden(share=0.2, fill=samp.baselines.black), Noise(sigma=0.2, fill=None))
    x, maps = images(9, 2, 2, 4, 4), images(10, 2, 4, 4)
    found = infidelity(PIXELS, x, maps, 1)
    expected = {"perturbations": 100, "perturbation": repr(Hidden()), "normalise": False, "score": "logit", "seed": 0}
    assert found.details.items() >= expected.items()
    spelt = infidelity(PIXELS, x, maps, 1, perturbation=Hidden(0.2, 0.0), perturbations=100)
    assert torch.equal(found.infidelity, spelt.infidelity)


def test_costs_one_forward_per_perturbation_and_one_for_the_sample() -> None:
    for batch_size in (1, 6, 64):
        model = CountingModel(PIXELS)
        found = infidelity(
            model, images(9, 2, 2, 4, 4), images(10, 2, 4, 4), 1, perturbations=10, batch_size=batch_size
        )
        assert model.rows == 2 * found.details["forwards"] == 2 * 11
        assert model.largest <= batch_size
    expected = {"target": [1, 1], "perturbations": 10, "seed": 0, "score": "logit", "normalise": False}
    assert found.details.items() >= expected.items()
    assert found.details["perturbation"] == "Hidden(share=0.2, fill=Constant(value=0.0))"
    assert found.details["perturbation"] in repr(found)


def test_bad_arguments_get_a_sentence() -> None:
    arguments: tuple[Any, ...] = (linear(WEIGHTS), images(0, 1, 4), torch.ones(1, 4))
    with pytest.raises(ValueError, match="perturbations is a whole number of at least 1, not 0"):
        infidelity(*arguments, perturbations=0)
    with pytest.raises(ValueError, match="Noise perturbs single elements: leave groups out"):
        infidelity(*arguments, perturbation=Noise(), groups=samp.Elements())
    for bad in ("noise", Noise):
        with pytest.raises(TypeError, match=r"a perturbation is an object such as Hidden\(\) or Noise\(\), not"):
            infidelity(*arguments, perturbation=bad)  # type: ignore[arg-type]  # that is the point
    for sigma in (0, -1, float("nan"), float("inf"), "much"):
        with pytest.raises(ValueError, match="sigma is a standard deviation above 0, not"):
            Noise(sigma)  # type: ignore[arg-type]  # that is the point
    with pytest.raises(ValueError, match="the share of the features is above 0 and at most 1, not 2"):
        Hidden(share=2)
    with pytest.raises(ValueError, match=r"fill of Noise is a baseline .* and NoisyLinear\(.*Take Hidden\(fill=…\)"):
        Noise(fill=NoisyLinear())


def test_without_captum_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "captum.metrics", None)
    with pytest.raises(ImportError, match=r"infidelity is Captum's, .*: pip install .*\[compare\]"):
        infidelity(linear(WEIGHTS), images(0, 1, 4), torch.ones(1, 4))
