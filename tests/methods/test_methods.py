"""Methods: the paper's settings by their names, our default, and settings that cannot be."""

from __future__ import annotations

import math
from inspect import signature
from typing import Any

import numpy as np
import pytest
import torch

import samp
from laws import CLOSE, assert_same, images, net
from samp.cli.compare import METHODS
from samp.cli.explain import explain
from samp.cli.options import MethodOptions
from samp.cli.play import play
from samp.cli.run import run
from samp.engine.problem import make_problem
from samp.methods import names
from samp.methods._common import make_attribution as result_of
from samp.methods.captum_adapters import LIME
from samp.methods.coupled import QUALITIES
from samp.methods.guided_ig import GuidedIG
from samp.methods.propagation.lrp import LRP
from samp.methods.rise import RISE
from samp.methods.xrai import XRAI


def flat_mean(x: torch.Tensor) -> torch.Tensor:
    return x.flatten(1).mean(1)


@pytest.mark.parametrize(
    ("shape", "groups", "size", "pair"),
    [
        ((1, 28, 28), None, 10, "(Constant(value=0.0), Blurred(kernel=11, sigma=5.0))"),
        ((3, 32, 32), samp.Pixels(), 10, "(Constant(value=0.0), Blurred(kernel=11, sigma=5.0))"),
        ((1, 33, 20), None, math.ceil(660 / 14), "(Constant(value=0.0), Blurred(kernel=11, sigma=5.0))"),
        ((3, 224, 224), None, 3584, "(Constant(value=0.0), Blurred(kernel=31, sigma=5.0))"),
        ((1, 28, 28), samp.Elements(), 56, "(Constant(value=0.0), Constant(value=0.0))"),
        ((1, 28, 28), samp.Patches(4), 4, "(Constant(value=0.0), Blurred(kernel=11, sigma=5.0))"),
        ((1, 8, 8), torch.arange(64).view(8, 8) // 2, 3, "(Constant(value=0.0), Constant(value=0.0))"),
        ((30,), None, 3, "(Constant(value=0.0), Constant(value=0.0))"),
        ((5, 6), None, 3, "(Constant(value=0.0), Constant(value=0.0))"),
        ((1, 2, 3, 4), None, 2, "(Constant(value=0.0), Constant(value=0.0))"),
    ],
)
def test_the_papers_settings_by_size_and_kind_of_input(shape: Any, groups: Any, size: int, pair: str) -> None:
    result = samp.explain(flat_mean, images(0, 1, *shape).float(), groups=groups, method="samp")
    assert f"pixels_per_step={size}," in result.method
    assert f"baseline={pair}," in result.method
    count = result.group_values.shape[1]
    assert result.steps["to_baseline"].tolist() == [math.ceil(count / size)]


def test_two_inputs_get_the_zero_baseline_both_ways() -> None:
    x = images(0, 1, 1, 4, 4), images(1, 1, 1, 4, 4)
    plus, default = (samp.explain(lambda a, b: flat_mean(a) * flat_mean(b), x, method=m) for m in ("samp++", "coupled"))
    assert "pixels_per_step=3, eta=0.1, momentum=0.5" in plus.method
    photos = QUALITIES["standard"]  # two images are no small image, as they are none of the paper's
    assert (
        f"eta={photos.eta}, momentum={photos.momentum}, pixels_per_step={math.ceil(32 / photos.steps)}"
        in default.method
    )
    for result in (plus, default):
        assert "baseline=(Constant(value=0.0), Constant(value=0.0))" in result.method


def test_names_stand_for_the_papers_settings() -> None:
    x, model = images(0, 2, 3, 4, 4), net(0, features=48)
    paper = {
        "samp": samp.SAMP(10, eta=None, momentum=0, credit="momentum", direction="both", baseline=("black", "blurred")),
        "samp++": samp.SAMP(10, eta=0.1, momentum=0.5, credit="momentum", baseline=("black", "blurred")),
        "ig": samp.IG(50, None, "trapezoid", "to_image", "black"),
    }
    assert set(paper) < set(names())
    for name, method in paper.items():
        assert_same(samp.explain(model, x, method=name), samp.explain(model, x, method=method), **CLOSE)


def test_consensus_is_the_default_wherever_there_is_one() -> None:
    x, model = images(0, 2, 3, 4, 4), net(0, features=48)
    assert_same(samp.explain(model, x), samp.explain(model, x, method=samp.Consensus()))
    assert names()[0] == METHODS.split(",")[0] == "consensus"
    assert MethodOptions().method() == samp.Consensus()
    for command in (explain, play, run):
        assert {option.name: option.default for option in command.params}["name"] == "consensus"
    for door in (samp.explain, samp.run, samp.metrics.explain_maps_by):
        assert signature(door).parameters["method"].default == "consensus"


def test_the_default_is_the_mean_of_four_walks_and_says_so() -> None:
    result = samp.explain(net(0, features=432), images(0, 2, 3, 12, 12))
    assert (result.details["walks"], result.details["forwards"]) == (4, 3)
    assert result.gradients.tolist() == [112, 112]  # of all walks, both ways
    assert result.steps["to_image"].tolist() == [13, 13]  # of the first
    assert torch.equal(result.order["to_image"], result.order["to_baseline"])
    assert result.resolution is not None
    assert f"reproducible at {int(result.resolution.max())} px" in repr(result)
    table = samp.explain(net(0, features=48), images(0, 2, 48))
    assert table.resolution is None
    assert "reproducible" not in repr(table)


def test_samp_plus_plus_is_samp_with_both_strategies() -> None:
    x, model = images(0, 2, 3, 4, 4), net(0, features=48)
    plus = samp.explain(model, x, method=samp.SAMPPlusPlus(2, eta=None, momentum=0))
    assert_same(plus, samp.explain(model, x, method=samp.SAMP(2)), **CLOSE)


@pytest.mark.parametrize(("steps", "size"), [(1, 12), (5, 3), (12, 1), (100, 1)])
@pytest.mark.parametrize("groups", [None, torch.arange(12)])
def test_a_number_of_steps_stands_for_a_share_of_the_groups(groups: Any, steps: int, size: int) -> None:
    x, model = images(0, 2, 12), net(0)
    by_steps = samp.explain(model, x, method=samp.SAMP(steps=steps), groups=groups)
    assert_same(by_steps, samp.explain(model, x, method=samp.SAMP(size), groups=groups))
    assert f"pixels_per_step={size}," in by_steps.method


@pytest.mark.parametrize("method", [samp.SAMP(), samp.SAMP(steps=3), samp.SAMPPlusPlus()])
def test_a_share_is_one_of_each_samples_own_groups(method: Any) -> None:
    """Masks of 2, 60 and 30 groups: with fewer groups, a sample moves fewer of them at once, whoever is beside it."""
    x, model = images(0, 3, 60), net(0, features=60)
    masks = torch.stack([torch.arange(60) // 30, torch.arange(60), torch.arange(60) // 2 * 2])
    together = samp.explain(model, x, target=0, method=method, groups=masks)
    for i in range(3):
        alone = samp.explain(model, x[i : i + 1], target=0, method=method, groups=masks[i])
        torch.testing.assert_close(together.values[i], alone.values[0], **CLOSE)
        assert int(together.steps["to_image"][i]) == int(alone.steps["to_image"][0])
    assert "pixels_per_step=None" in together.method


def test_a_step_of_all_groups_is_one_step_and_more_are_no_more() -> None:
    x, model = images(0, 2, 12), net(0)
    whole = samp.explain(model, x, method=samp.SAMP(12))
    assert whole.steps["to_image"].tolist() == [1, 1]
    assert_same(whole, samp.explain(model, x, method=samp.SAMP(10**9)), **CLOSE)
    assert_same(whole, samp.explain(model, x, method=samp.SAMP(np.int64(12))), **CLOSE)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: samp.SAMP(pixels_per_step=0), "pixels_per_step is a whole number of at least 1, not 0"),
        (lambda: samp.SAMP(pixels_per_step=-3), "pixels_per_step is a whole number of at least 1, not -3"),
        (lambda: samp.SAMP(pixels_per_step=2.5), r"pixels_per_step is a whole number of at least 1, not 2\.5"),
        (lambda: samp.SAMP(pixels_per_step=math.nan), "pixels_per_step is a whole number of at least 1, not nan"),
        (lambda: samp.SAMP(pixels_per_step="10"), "pixels_per_step is a whole number of at least 1, not '10'"),
        (lambda: samp.SAMP(eta=0), "eta is a ratio above 0, or None for no constraint, not 0"),
        (lambda: samp.SAMPPlusPlus(eta=-0.1), r"eta is a ratio above 0, or None for no constraint, not -0\.1"),
        (lambda: samp.IG(eta=math.nan), "eta is a ratio above 0, or None for no constraint, not nan"),
        (lambda: samp.IG(eta=math.inf), "eta is a ratio above 0, or None for no constraint, not inf"),
        (lambda: samp.SAMP(momentum=1), "momentum λ lies from 0 to below 1, not 1"),
        (lambda: samp.SAMP(momentum=-0.5), r"momentum λ lies from 0 to below 1, not -0\.5"),
        (lambda: samp.SAMP(momentum=math.nan), "momentum λ lies from 0 to below 1, not nan"),
        (lambda: samp.SAMP(steps=0), "steps is a whole number of at least 1, not 0"),
        (lambda: samp.SAMP(3, steps=4), "give pixels_per_step or steps, not both: each follows from the other"),
        (lambda: samp.IG(steps=0), "steps is a whole number of at least 1, not 0"),
        (lambda: samp.IG(steps=7.5), r"steps is a whole number of at least 1, not 7\.5"),
    ],
)
def test_settings_that_cannot_be_get_a_sentence_when_they_are_made(make: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        make()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: samp.SAMP(eta="0.1"), "eta is a number, not '0.1'"),
        (lambda: samp.SAMPPlusPlus(momentum=None), "momentum is a number, not None"),
        (lambda: samp.IG(eta=[0.3]), r"eta is a number, not \[0\.3\]"),
        (lambda: GuidedIG(fraction="x"), "fraction is a number, not 'x'"),
        (lambda: LRP(epsilon="x"), "epsilon is a number, not 'x'"),
        (lambda: LIME(alpha="x"), "alpha is a number, not 'x'"),
        (lambda: XRAI(scales=3), "scales are one number or more, in a tuple, not 3"),
        (lambda: XRAI(scales=("a",)), "scale is a number, not 'a'"),
        (lambda: XRAI(sigma=-1), "sigma is the width of a blur in pixels, at least 0, not -1"),
        (lambda: RISE(masks=True), "masks is a whole number of at least 1, not True"),
        (lambda: samp.Coupled(["draft"]), r"unknown quality \['draft'\]"),
        (lambda: samp.IG(direction=[]), r"unknown direction \[\]"),
    ],
)
def test_settings_of_another_kind_are_named(make: Any, sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{sentence}"):
        make()


@pytest.mark.parametrize("method", [samp.SAMP, None, 3, object()])
def test_a_method_is_a_name_or_an_object(method: Any) -> None:
    with pytest.raises(TypeError, match=r"a method is a name or an object such as samp\.SAMP\(\), not"):
        samp.explain(net(0), images(0, 1, 12), method=method)


def test_any_object_with_attribute_is_a_method() -> None:
    class Nothing:
        def attribute(self, problem: Any, run: Any) -> Any:
            return result_of(problem, torch.zeros_like(problem.x), "nothing", run)

    found = samp.explain(net(0), images(0, 3, 12), target=0, method=Nothing(), seed=9)
    assert (found.method, found.details["seed"]) == ("'nothing'", 9)
    assert make_problem(net(0), images(0, 3, 12)).batch == 3


def test_what_a_method_returns_is_an_attribution() -> None:
    class Odd:
        def attribute(self, problem: Any, run: Any) -> Any:
            return problem.x

    with pytest.raises(TypeError, match=r"the method .*Odd.* returned Tensor, not an Attribution"):
        samp.explain(net(0), images(0, 3, 12), target=0, method=Odd())  # type: ignore[arg-type]  # the point
