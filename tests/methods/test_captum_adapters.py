"""Captum's perturbation methods: what they promise, and Captum called directly."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import samp
from laws import CLOSE, CountingModel, images, linear, net
from samp import images as photos
from samp import models
from samp.engine.driver import RunOptions
from samp.engine.problem import make_problem
from samp.methods._perturbation import superpixels
from samp.methods.captum_adapters import LIME, Ablation, Occlusion, ScaledLasso, Shapley

attr = pytest.importorskip("captum.attr")
pytest.importorskip("sklearn")
pytest.importorskip("skimage")

PIXELS = net(0, 2 * 6 * 8)
SMALL = [Shapley(samples=3), Ablation(), LIME(samples=60, superpixels=9), Occlusion(window=3, stride=2)]
FLOAT32 = {"rtol": 1e-5, "atol": 1e-6}  # Captum adds up in float32, whatever it is given


def batch(seed: int = 0, count: int = 3) -> Tensor:
    return images(seed, count, 2, 6, 8)


def test_shapley_sums_to_the_change_of_the_score() -> None:
    x = batch()
    for method in (Shapley(samples=2), Shapley(samples=3, patch=3, baseline=0.7)):
        found = samp.explain(PIXELS, x, target=[0, 1, 2], method=method)
        start = torch.full_like(x, 0.7 if method.patch else 0.0)
        change = (PIXELS(x) - PIXELS(start)).detach()[torch.arange(3), torch.arange(3)]
        torch.testing.assert_close(found.score_change["to_image"], change, **CLOSE)
        torch.testing.assert_close(found.values.sum((1, 2, 3)), change, **FLOAT32)
        assert float(found.residual.abs().max()) < 1e-5


def test_shapley_nears_the_mean_over_all_orders() -> None:
    model, x = net(1, 4), images(1, 1, 4) * 3
    exact = torch.zeros(4, dtype=torch.float64)
    for order in permutations(range(4)):
        point = torch.zeros_like(x)
        for feature in order:
            before = model(point)[0, 1].detach()
            point[0, feature] = x[0, feature]
            exact[feature] += (model(point)[0, 1].detach() - before) / 24
    found = samp.explain(model, x, target=1, method=Shapley(samples=3000))
    # the mean of 3,000 orders
    torch.testing.assert_close(found.values[0], exact, rtol=0, atol=0.05 * float(exact.abs().max()))


def test_shapley_of_groups_is_captums_with_a_feature_mask() -> None:
    x, mask = batch(1, 1), samp.Patches(2).ids((2, 6, 8))
    torch.manual_seed(5)
    peer = attr.ShapleyValueSampling(PIXELS).attribute(
        x, target=1, feature_mask=mask[None].contiguous(), n_samples=4, perturbations_per_eval=3
    )
    found = samp.explain(PIXELS, x, target=1, groups=samp.Patches(2), method=Shapley(samples=4), seed=5)
    torch.testing.assert_close(found.values * 8, peer.double(), **FLOAT32)  # 2 × 2 pixels of 2 channels share


def test_ablation_is_what_is_lost_without_a_group() -> None:
    x = batch()
    found = samp.explain(PIXELS, x, target=2, groups=samp.Patches(3), method=Ablation(baseline="white"))
    ids = samp.Patches(3).ids((2, 6, 8))
    lost = [PIXELS(x)[:, 2] - PIXELS(torch.where(ids == i, 1.0, x))[:, 2] for i in range(6)]
    torch.testing.assert_close(found.group_values, torch.stack(lost, 1).detach(), **FLOAT32)


def test_groups_of_each_sample_are_its_own() -> None:
    x = images(0, 2, 5)
    mask = torch.tensor([[0, 0, 1, 1, 2], [3, 1, 1, 0, 0]])  # the second leaves a number out
    found = samp.explain(linear(torch.arange(5.0)), x, groups=mask, method=Ablation())
    torch.testing.assert_close(
        found.group_values, samp.explain(linear(torch.arange(5.0)), x, groups=mask, method="ig").group_values, **FLOAT32
    )


def test_occlusion_is_captums_and_its_map_the_mean_over_windows() -> None:
    x = batch()
    found = samp.explain(PIXELS, x, target=1, method=Occlusion(window=3, stride=2, baseline=0.5))
    peer = attr.Occlusion(PIXELS).attribute(x, (2, 3, 3), (2, 2, 2), 0.5, target=1)
    torch.testing.assert_close(found.map, peer[:, 0].double(), **FLOAT32)
    total, hits = torch.zeros(3, 6, 8).double(), torch.zeros(6, 8).double()
    for top in (0, 2, 4):  # windows at the edge are cut off
        for left in (0, 2, 4, 6):
            hidden = x.clone()
            window = (..., slice(top, top + 3), slice(left, left + 3))
            hidden[window] = 0.5
            total[window] += (PIXELS(x) - PIXELS(hidden)).detach()[:, 1, None, None]
            hits[window] += 1
    assert found.details["forwards"] == 13
    torch.testing.assert_close(found.map, total / hits, **FLOAT32)


def test_occlusion_scales_its_window_to_the_image() -> None:
    model = linear(torch.ones(1))
    for side, shown in ((224, "window=15, stride=8"), (28, "window=2, stride=1"), (4, "window=1, stride=1")):
        assert shown in repr_of(model, torch.rand(1, 1, side, side), Occlusion(baseline=1.0))
    with pytest.raises(ValueError, match="a stride of 4 leaves pixels out"):
        samp.explain(model, torch.rand(1, 1, 8, 8), method=Occlusion(window=3, stride=4))


def repr_of(model: Any, x: Tensor, method: Any) -> str:
    return samp.explain(model, x, method=method).method


def test_large_images_are_explained_in_patches_and_small_ones_as_asked() -> None:
    model = linear(torch.ones(1))
    assert "patch=4" in repr_of(model, torch.rand(1, 1, 48, 40), Shapley(samples=1))
    assert "patch=4" in repr_of(model, torch.rand(1, 1, 48, 40), Ablation())
    assert "patch=None" in repr_of(model, torch.rand(1, 1, 8, 8), Ablation())
    assert "patch=5" in repr_of(model, torch.rand(1, 1, 8, 8), Ablation(patch=5))
    mask = torch.arange(48 * 40).view(48, 40) // 10
    assert "patch=None" in samp.explain(model, torch.rand(1, 1, 48, 40), groups=mask, method=Ablation()).method


def test_lime_finds_the_weights_of_a_linear_model_at_any_scale() -> None:
    x, weight = images(2, 1, 8), images(3, 8) - 0.5
    exact = (weight * x)[0]
    for scale in (1e-6, 1.0, 1e6):
        found = samp.explain(linear(weight * scale), x, method=LIME(samples=200, alpha=1e-4)).values[0]
        torch.testing.assert_close(found / scale, exact, rtol=0, atol=1e-3 * float(exact.abs().max()))
    strong = samp.explain(linear(weight), x, method=LIME(samples=200, alpha=0.3)).values[0]
    assert 0 < int((strong != 0).sum()) < 8  # a Lasso leaves groups out


def test_lime_of_groups_is_captums_with_a_feature_mask() -> None:
    x, mask, method = batch(1, 1), samp.Patches(2).ids((2, 6, 8)), LIME(samples=60)
    peer = attr.Lime(PIXELS, ScaledLasso(method.alpha), method._similarity)
    torch.manual_seed(5)
    theirs = peer.attribute(x, target=1, feature_mask=mask[None], n_samples=60, perturbations_per_eval=7)
    found = samp.explain(PIXELS, x, target=1, groups=samp.Patches(2), method=method, seed=5)
    torch.testing.assert_close(found.values * 8, theirs.double(), **FLOAT32)


@pytest.mark.parametrize("method", SMALL)
def test_a_bar_counts_the_forwards(method: Any, capsys: pytest.CaptureFixture[str]) -> None:
    found = samp.explain(PIXELS, batch(), target=1, method=method, progress=True)
    whole = 3 * found.details["forwards"]
    assert f"{whole}/{whole}" in capsys.readouterr().err


def test_captums_own_alpha_would_leave_nothing_of_small_scores() -> None:
    x, weight = images(2, 1, 8), images(3, 8) * 1e-3
    assert not attr.Lime(linear(weight)).attribute(x, n_samples=50).any()
    assert bool(samp.explain(linear(weight), x, method=LIME(samples=50)).values.any())


def test_lime_of_a_constant_score_is_zero() -> None:
    assert not samp.explain(lambda x: x.flatten(1).sum(1) * 0 + 3, batch(), method=LIME(samples=20)).values.any()


def test_lime_works_on_superpixels_of_each_image() -> None:
    x = torch.rand(2, 3, 40, 40)
    found = samp.explain(linear(torch.ones(1)), x, method=LIME(samples=80, superpixels=16))
    groups = superpixels(x, 16)
    assert found.details["explained in"] == "16 SLIC superpixels"
    assert groups.count <= 32
    for sample in range(2):
        ids = groups.ids[sample].view(3, 40, 40)
        assert all(found.map[sample][ids[0] == i].std(unbiased=False) < 1e-6 for i in ids.unique())
    assert "superpixels=16" in found.method
    tokens = samp.explain(net(), images(0, 1, 12), method=LIME(samples=30))
    assert tokens.details["explained in"] == "Elements()"


@pytest.mark.parametrize("method", SMALL)
def test_batch_size_and_neighbours_do_not_matter(method: Any) -> None:
    x = batch(2, 4)
    whole = samp.explain(PIXELS, x, target=[0, 1, 2, 0], method=method)
    assert torch.equal(samp.explain(PIXELS, x, target=[0, 1, 2, 0], method=method).map, whole.map)
    for size in (1, 5):
        again = samp.explain(PIXELS, x, target=[0, 1, 2, 0], method=method, batch_size=size)
        torch.testing.assert_close(again.map, whole.map, **FLOAT32)
    alone = samp.explain(PIXELS, x[2:3], target=2, method=method)
    torch.testing.assert_close(alone.map[0], whole.map[2], **FLOAT32)
    assert not torch.allclose(samp.explain(PIXELS, x[2:3], target=1, method=method).map[0], whole.map[2])


@pytest.mark.parametrize("method", [Shapley(samples=3), LIME(samples=60, superpixels=9)])
def test_the_seed_decides_and_the_callers_random_state_stays(method: Any) -> None:
    before = torch.get_rng_state()
    one, other = (samp.explain(PIXELS, batch(), target=1, method=method, seed=seed).map for seed in (0, 1))
    assert torch.equal(torch.get_rng_state(), before)
    assert not torch.allclose(one, other)
    torch.manual_seed(3)  # and whatever the state was, also without `explain` around it
    direct = method.attribute(make_problem(PIXELS, batch(), target=1), RunOptions(seed=1))
    torch.testing.assert_close(direct.map, other, **FLOAT32)


@pytest.mark.parametrize("method", SMALL)
def test_forwards_are_counted_and_no_gradient_is_taken(method: Any) -> None:
    model = CountingModel(PIXELS)
    found = samp.explain(model, batch(), target=1, method=method, batch_size=4)
    assert model.rows == 3 * found.details["forwards"]
    assert model.rows_with_gradient == 0
    assert model.largest <= 4


@pytest.mark.parametrize(
    ("method", "changed"),
    [
        (Shapley(samples=3), {"samples": 4, "patch": 2, "baseline": 1.0}),
        (Ablation(), {"patch": 2, "baseline": 1.0}),
        (Occlusion(window=3, stride=2), {"window": 2, "stride": 1, "baseline": 1.0}),
        (
            LIME(samples=60, superpixels=9),
            {"samples": 61, "superpixels": 4, "alpha": 0.1, "kernel_width": 0.1, "baseline": 1.0}
            | {"segmenter": "quickshift"},
        ),
    ],
)
def test_every_argument_changes_the_result(method: Any, changed: dict[str, Any]) -> None:
    assert {field.name for field in fields(method)} == set(changed)
    before = samp.explain(PIXELS, batch(), target=1, method=method).map
    for name, value in changed.items():
        other = samp.explain(PIXELS, batch(), target=1, method=replace(method, **{name: value}))
        assert not torch.allclose(other.map, before, rtol=1e-4), name


def test_settings_that_cannot_be_are_refused() -> None:
    for wrong in (lambda: Shapley(samples=0), lambda: LIME(samples=1.5), lambda: Occlusion(window=-1)):  # type: ignore[arg-type]  # meant
        with pytest.raises(ValueError, match="is a whole number of at least 1"):
            wrong()
    with pytest.raises(ValueError, match="alpha"):
        LIME(alpha=-1)
    with pytest.raises(ValueError, match="Occlusion explains one b c h w image input"):
        samp.explain(net(), images(0, 2, 12), method=Occlusion())


def test_several_inputs_and_target_functions_work() -> None:
    two = (images(0, 2, 3), images(1, 2, 4))
    for method in (Shapley(samples=2), Ablation(), LIME(samples=40, alpha=0)):
        found = samp.explain(lambda a, b: a.sum(1) + 2 * b.sum(1), two, target=lambda output: -output, method=method)
        torch.testing.assert_close(found.values[1], -2 * two[1], **FLOAT32)


def test_real_nets_run_in_patches_and_superpixels(data: Path) -> None:
    for name in ("mobilenet_v2", "squeezenet1_1"):
        classifier = getattr(models, name)(data / "models" / f"{name}_fp16.safetensors")
        x = classifier.prepare(photos.read(data / "photos" / "n02123394_283_Persian_cat.jpg"))
        for method in (Shapley(1, patch=56), Ablation(patch=56), LIME(20, 10), Occlusion(112, 56)):
            found = samp.explain(classifier.net, x, method=method)
            assert found.map.shape == (1, 224, 224)
            assert found.map.std() > 0
