"""The coupled walk in use: every kind of input, its results, its settings and their errors."""

from __future__ import annotations

import math
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import samp
from compiled_walks import compile_walks
from laws import CLOSE, CountingModel, assert_same, assert_same_sample, differs, images, net
from samp import player
from samp.engine import concave_credit, joint_walk, walk
from samp.fast import walk as fast_walk
from samp.methods.coupled import QUALITIES, SMALL_QUALITIES
from samp.models import Classifier

PAIR = ("black", 0.7)
EVEN: dict[str, Any] = {"growth": 0, "weight": 1}


# ---- every kind of input ----


@pytest.mark.parametrize(
    "image",
    [torch.zeros(1, 3, 8, 8), torch.full((1, 3, 8, 8), 0.4), torch.zeros(1, 3, 8, 8).index_fill(2, torch.tensor(3), 1)],
)
def test_an_image_that_is_its_own_baseline_is_no_trouble(image: Tensor) -> None:
    """Black has nowhere to go in deletion; a blank image differs from its blur by rounding, if at all."""
    result = samp.explain(net(0, 192).float(), image, target=0, method=samp.Coupled())
    assert result.values.isfinite().all()
    assert (result.residual.abs() < 1e-5).all()


def test_patches_masks_and_masks_of_each_sample() -> None:
    x, model = images(0, 2, 3, 6, 6), net(0, 108)
    masks = torch.stack([torch.arange(36).view(6, 6) // 5, torch.arange(36).view(6, 6) // 12])[:, None].expand(
        2, 3, 6, 6
    )
    for groups in (samp.Patches(2), samp.Elements(), masks[0], masks):
        result = samp.explain(model, x, target=0, method=samp.Coupled(baseline=PAIR), groups=groups)
        assert (result.residual.abs() < 1e-12).all()
        for i in range(2):
            own = groups[i] if isinstance(groups, Tensor) and groups.ndim == 4 else groups
            alone = samp.explain(model, x[i : i + 1], target=0, method=samp.Coupled(baseline=PAIR), groups=own)
            torch.testing.assert_close(result.values[i], alone.values[0], **CLOSE)


def test_a_mask_of_pixels_is_pixels() -> None:
    x, model = images(0, 2, 3, 4, 4), net(0, 48)
    method = samp.Coupled(steps=5, eta=0.1, momentum=0.5, growth=0.5, weight=0.5, baseline=PAIR)
    plain = samp.explain(model, x, target=0, method=method)
    masked = samp.explain(model, x, target=0, method=method, groups=torch.arange(16).view(4, 4))
    assert_same(plain, masked, **CLOSE)


def test_tokens_columns_and_two_inputs() -> None:
    tokens = images(0, 2, 5, 8)
    by_token = torch.arange(5)[:, None].expand(5, 8)
    result = samp.explain(net(0, 40), tokens, target=0, groups=by_token, method="coupled")
    assert result.group_values.shape == (2, 5)
    table = samp.explain(net(0, 12), images(1, 3, 12), target=0, method="coupled")
    assert table.values.shape == (3, 12)
    model = net(0, 12)
    pair = samp.explain(
        lambda a, b: model(torch.cat([a, b], 1)), (images(2, 2, 4), images(3, 2, 8)), target=0, method="coupled"
    )
    joint = samp.explain(model, torch.cat([images(2, 2, 4), images(3, 2, 8)], 1), target=0, method="coupled")
    torch.testing.assert_close(torch.cat(pair.values, 1), joint.values, **CLOSE)
    for one in (result, table, pair):
        assert (one.residual.abs() < 1e-12).all()


# ---- other scores, other numbers of groups ----


@pytest.mark.parametrize("quality", ["standard", "fine"])
def test_a_number_added_to_the_score_changes_nothing_and_a_factor_multiplies_the_credit(quality: Any) -> None:
    x, model, method = images(0, 2, 3, 6, 6), net(0, 108), samp.Coupled(quality)
    plain = samp.explain(model, x, target=0, method=method)
    raised = samp.explain(lambda x: model(x) + 5, x, target=0, method=method)
    tripled = samp.explain(lambda x: 3 * model(x), x, target=0, method=method)
    torch.testing.assert_close(raised.values, plain.values, **CLOSE)
    torch.testing.assert_close(tripled.values, 3 * plain.values, **CLOSE)


def test_renumbering_the_groups_renumbers_their_credit() -> None:
    x, model, number = images(0, 2, 3, 6, 6), net(0, 108), torch.arange(36).view(6, 6) // 3
    other = torch.randperm(12, generator=torch.Generator().manual_seed(0))
    plain, renumbered = (
        samp.explain(model, x, target=0, method="coupled", groups=groups) for groups in (number, other[number])
    )
    torch.testing.assert_close(renumbered.group_values[:, other], plain.group_values, **CLOSE)


# ---- what comes with it ----


def test_gradients_are_counted_as_the_model_saw_them() -> None:
    model = CountingModel(net(0, 27))
    result = samp.explain(model, images(0, 3, 3, 3, 3), target=0, method=samp.Coupled(steps=3))
    assert model.rows_with_gradient == int(result.gradients.sum())
    assert model.largest == 6


def test_a_failed_sample_is_named_with_its_direction_and_the_others_are_there() -> None:
    def model(x: Tensor) -> Tensor:
        return torch.where(x[:, 0] > 3, torch.nan, 1.0) * x.sum(1)

    x = torch.tensor([[1.0, 2.0], [2.0, 1.0], [1.0, 1.0]])
    method = samp.Coupled(eta=1, steps=2, baseline=(0.0, torch.tensor([[0.0, 0.0], [9.0, 0.0], [0.0, 0.0]])))
    with pytest.raises(samp.NonFiniteError, match="sample 1 at step 0 of its walk to_image") as caught:
        samp.explain(model, x, method=method)
    failed = caught.value.result
    assert failed.values[1].isnan().all()
    assert_same_sample(failed, 0, samp.explain(model, x[:1], method=samp.Coupled(eta=1, steps=2, baseline=0.0)), 0)


def test_where_a_score_alone_fails_its_direction_is_named() -> None:
    """Infinite at the image, where the one walk starts and the other ends; the gradient is a number everywhere."""
    with pytest.raises(samp.NonFiniteError, match="sample 0 at step 0 of its walk to_baseline:") as caught:
        samp.explain(
            lambda x: x.sum(1) + torch.where(x[:, 0] > 2, torch.inf, 0.0),
            torch.tensor([[3.0, 1.0]]),
            method=samp.Coupled(baseline=0.0),
        )
    assert caught.value.result.values.isnan().all()


@pytest.mark.parametrize(("baseline", "direction"), [((1.0, 0.0), "to_image"), ((0.0, 1.0), "to_baseline")])
def test_where_a_gradient_alone_fails_its_direction_is_named(baseline: Any, direction: str) -> None:
    """The root of 0 is a number, its slope is not; only one of the walks comes by 0."""
    with pytest.raises(samp.NonFiniteError, match=f"sample 0 at step . of its walk {direction}:"):
        samp.explain(lambda x: x.sum(1).sqrt(), torch.ones(1, 2) / 2, method=samp.Coupled(baseline=baseline))


def test_a_weight_that_takes_the_gradient_out_of_range_is_a_failure_too() -> None:
    x = torch.full((1, 2), 1e-38)
    with pytest.raises(samp.NonFiniteError, match="sample 0 at step 0 of its walk to_baseline:"):
        samp.explain(lambda x: 3e38 * x.sum(1), x, method=samp.Coupled(weight=2.0, baseline=0.0))


@pytest.mark.parametrize(("asked", "used"), [(8, 8), (1, 2)])
def test_the_batch_size_is_told_in_walks_of_which_a_sample_has_two(asked: int, used: int) -> None:
    result = samp.explain(net(0, 27), images(0, 5, 3, 3, 3), target=0, method="coupled", batch_size=asked)
    assert result.details["batch_size"] == used


def test_what_may_be_compiled_of_a_walk_may_be_of_a_coupled_one(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    compile_walks(monkeypatch, lambda work: seen.append(work) or work)
    samp.explain(net(0), images(0, 1, 12), target=0, method="coupled")
    own = {joint_walk._weight_gradients, concave_credit._step_effects}
    assert set(seen) == {walk.step_state, walk.move, fast_walk._advance, *own}


@pytest.mark.parametrize("direction", ["to_baseline", "to_image"])
def test_a_direction_alone_has_no_weight(direction: str) -> None:
    """One of 1e308 would take its gradients out of range."""
    methods = [samp.Coupled(direction=direction, baseline=0.3, weight=weight) for weight in (1.0, 1e308)]
    one, other = (samp.explain(net(1), images(1, 2, 12), target=0, method=method) for method in methods)
    assert torch.equal(one.values, other.values)


def test_results_are_saved_and_read_and_their_paths_can_be_played(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(192, 3)).eval()
    result = samp.explain(model, torch.rand(1, 3, 8, 8), target=1, method="coupled", keep_points=True, progress=True)
    again = samp.Attribution.load(result.save(tmp_path / "a.samp"))
    assert_same(result, again)
    assert sorted(again.tapes) == ["to_baseline", "to_image"]
    page = player.page(again, Classifier(model, "tiny", size=8, mean=0.5, std=0.5, classes=("a", "b", "c")))
    assert '"direction":"to_image"' in page.replace(" ", "")
    assert '"direction":"to_baseline"' in page.replace(" ", "")


@pytest.mark.parametrize(("side", "qualities"), [(12, SMALL_QUALITIES), (33, QUALITIES)])
def test_qualities_are_settings_that_arguments_override(side: int, qualities: dict[str, Any]) -> None:
    x, model = images(0, 1, 3, side, side), net(0, 3 * side**2)
    spent = [int(samp.explain(model, x, method=samp.Coupled(quality)).gradients[0]) for quality in qualities]
    assert spent == sorted(set(spent))
    fine = qualities["fine"]
    explicit = samp.Coupled("draft", **asdict(fine))
    assert_same(samp.explain(model, x, method=explicit), samp.explain(model, x, method=samp.Coupled("fine")))
    said = samp.explain(model, x, method=samp.Coupled("fine", eta=0.5)).method
    assert f"eta=0.5, momentum={fine.momentum}" in said


def test_the_default_takes_32_gradients_whatever_the_photo() -> None:
    """Without η, both walks of s = d/15 are 15 steps and an end point each; SAMP++ takes 33 on average."""
    x = images(0, 2, 3, 40, 40)
    assert samp.explain(net(0, 4800), x, method="coupled").gradients.tolist() == [32, 32]


def test_every_argument_changes_the_result() -> None:
    x, model = images(0, 2, 3, 6, 6), net(0, 108)
    plain = samp.explain(model, x, target=0, method=samp.Coupled(steps=9, **EVEN))
    others: list[dict[str, Any]] = [
        {"steps": 4}, {"pixels_per_step": 1, "steps": None}, {"eta": 0.03}, {"momentum": 0.0}, {"growth": 0.5},
        {"weight": 0.5}, {"direction": "to_image"}, {"baseline": "black"}, {"quality": "fine"},
    ]  # fmt: skip
    for other in others:
        method = samp.Coupled(**{"steps": 9, **EVEN, **other})
        assert differs(plain, samp.explain(model, x, target=0, method=method)), other


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"quality": "best"}, "unknown quality 'best': the known ones are draft, standard, fine"),
        ({"steps": 0}, "steps is a whole number of at least 1, not 0"),
        ({"pixels_per_step": 2.5}, r"pixels_per_step is a whole number of at least 1, not 2\.5"),
        ({"steps": 3, "pixels_per_step": 3}, "give pixels_per_step or steps, not both"),
        ({"eta": 0}, "eta is a ratio above 0, 1 for no constraint"),
        ({"eta": math.nan}, "eta is a ratio above 0"),
        ({"momentum": 1}, "momentum λ lies from 0 to below 1"),
        ({"growth": 1.5}, "growth lies from 0 to 1"),
        ({"growth": math.nan}, "growth lies from 0 to 1"),
        ({"weight": 0}, "weight is a number above 0"),
        ({"direction": "up"}, "'up'"),
    ],
)
def test_settings_that_cannot_be_get_a_sentence(asked: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        samp.Coupled(**asked)


def test_photos_get_lower_deletion_and_higher_insertion_than_samp_plus_plus(data: Path) -> None:
    """Two photos on SqueezeNet, where 100 photos differ by 0.08 and 0.38."""
    net = samp.models.squeezenet1_1(data / "models" / "squeezenet1_1_fp16.safetensors")
    photos = sorted((data / "imagenet250").glob("*.jpg"))[1:4:2]
    x = torch.cat([net.prepare(samp.images.read(photo)) for photo in photos])
    ours, theirs = (samp.explain(net.net, x, method=name) for name in ("coupled", "samp++"))
    judged = [samp.metrics.deletion_insertion(net.net, x, result, protocol="imagenet") for result in (ours, theirs)]
    assert judged[0].deletion.mean() < judged[1].deletion.mean()
    assert judged[0].insertion.mean() > judged[1].insertion.mean()
    assert (ours.residual.abs() <= 1e-5 * sum(ours.score_change.values()).abs()).all()


@pytest.mark.parametrize("name", ["eta", "momentum", "growth", "weight"])
def test_a_setting_that_is_no_number_is_named(name: str) -> None:
    with pytest.raises(TypeError, match=rf"^{name} is a number, or None for the quality's, not '0.1'\.$"):
        samp.Coupled(**{name: "0.1"})  # type: ignore[arg-type]  # the point of the test


def test_a_tensor_of_one_number_is_that_number() -> None:
    odd: Any = {"eta": torch.tensor([0.5]), "weight": np.array(2.0), "growth": Fraction(1, 4)}
    assert repr(samp.Coupled(**odd)) == repr(samp.Coupled(eta=0.5, weight=2.0, growth=0.25))
    with pytest.raises(TypeError, match=r"^weight is a number, or None for the quality's, not tensor\(\[1., 2.\]\)\.$"):
        samp.Coupled(weight=torch.tensor([1.0, 2.0]))  # type: ignore[arg-type]  # the point of the test
