"""μFidelity: the definition by brute force, its ends, and what may not change it."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import samp
from laws import CLOSE, CountingModel, images, linear, net
from samp import images as photos
from samp import models
from samp.engine.problem import make_problem
from samp.metrics.correlations import pearson
from samp.metrics.mu_fidelity import grid, mu_fidelity
from samp.metrics.subsets import Subsets

WEIGHTS = torch.tensor([3.0, -1.0, 2.0, 0.5], dtype=torch.float64)
PIXELS = net(0, 2 * 12 * 12)


def bent(x: Tensor) -> Tensor:
    return x[:, 0] * x[:, 1] + 2 * x[:, 2] - x[:, 3] ** 2


@pytest.mark.parametrize("kind", ["pearson", "spearman"])
def test_equals_brute_force_on_four_features(kind: str) -> None:
    stats = pytest.importorskip("scipy.stats")
    x, values = images(0, 3, 4), (images(1, 3, 4) - 0.5).mul(4).round()  # with ties
    found = mu_fidelity(bent, x, values, size=2, subsets=30, seed=4, correlation=kind)
    for i in range(3):
        sums, drops = [], []
        for number in range(30):
            some = Subsets.draw(make_problem(bent, x), torch.full((3, 1), 2), range(number, number + 1), 4)
            hidden = some.membership(torch.tensor([i]), torch.tensor([0]))
            sums.append(float(values[i][hidden[0]].sum()))
            drops.append(float(bent(x[i : i + 1]) - bent(x[i : i + 1] * ~hidden)))
        expected = (stats.pearsonr if kind == "pearson" else stats.spearmanr)(sums, drops)[0]
        assert found.correlation[i].item() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("kind", ["pearson", "spearman"])
def test_exact_map_of_a_linear_model_is_perfect_and_its_reverse_the_worst(kind: str) -> None:
    x = images(2, 3, 4) + 0.1
    exact = WEIGHTS * x
    for values, end in ((exact, 1.0), (-exact, -1.0)):
        found = mu_fidelity(linear(WEIGHTS), x, values, share=0.5, correlation=kind)
        torch.testing.assert_close(found.correlation, torch.full((3,), end, dtype=torch.float64), **CLOSE)


def test_random_map_scores_about_nothing() -> None:
    x = images(3, 30, 2, 12, 12)
    found = mu_fidelity(PIXELS, x, images(4, 30, 12, 12), 0, subsets=80)
    assert abs(found.mean) < 0.08  # the mean of 30 correlations that spread by 1/√80


def test_what_does_not_vary_is_nan_and_counted_without_a_warning() -> None:
    x = images(5, 2, 4)
    maps = torch.stack([torch.full((4,), 0.1, dtype=torch.float64), WEIGHTS * x[1]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in ("pearson", "spearman"):
            found = mu_fidelity(linear(WEIGHTS), x, maps, share=0.5, correlation=kind)
            assert found.correlation.isnan().tolist() == [True, False]
            assert found.undefined_count == 1
            assert found.mean == pytest.approx(1)
        flat = mu_fidelity(lambda x: x.sum(1) * 0 + 3, x, maps)
        everything = mu_fidelity(linear(WEIGHTS), x, WEIGHTS * x, share=1.0)
    assert flat.undefined_count == everything.undefined_count == 2
    assert "2 undefined; spearman, 200 subsets" in repr(flat)


def test_result_does_not_depend_on_batch_size_or_neighbours() -> None:
    x, maps = images(6, 3, 2, 12, 12), images(7, 3, 12, 12)
    whole = mu_fidelity(PIXELS, x, maps, [0, 1, 2], subsets=20)
    for batch_size in (1, 7):
        again = mu_fidelity(PIXELS, x, maps, [0, 1, 2], subsets=20, batch_size=batch_size)
        torch.testing.assert_close(again.correlation, whole.correlation, **CLOSE)
    alone = mu_fidelity(PIXELS, x[1:2], maps[1:2], 1, subsets=20)
    torch.testing.assert_close(alone.correlation[0], whole.correlation[1], **CLOSE)


def test_share_is_of_each_samples_own_groups_whatever_its_neighbours_have() -> None:
    x, model = images(8, 2, 6), net(2, 6)
    masks = torch.tensor([[0, 0, 1, 1, 2, 2], [0, 1, 2, 3, 4, 4]])
    both = mu_fidelity(model, x, x, 0, groups=masks, share=0.4)
    assert both.sizes.tolist() == [1, 2]
    for i in range(2):
        alone = mu_fidelity(model, x[i : i + 1], x[i : i + 1], 0, groups=masks[i : i + 1], share=0.4)
        torch.testing.assert_close(alone.correlation[0], both.correlation[i], **CLOSE)


def test_images_are_judged_in_a_nine_by_nine_grid_with_a_fifth_of_it_hidden() -> None:
    hidden: list[Tensor] = []

    def watched(x: Tensor) -> Tensor:
        hidden.append((x == 0).all(1))
        return PIXELS(torch.nn.functional.adaptive_avg_pool2d(x, 12))

    x = images(9, 1, 2, 28, 28) + 0.1
    found = mu_fidelity(watched, x, images(10, 1, 28, 28), 0, subsets=20)
    assert found.sizes.tolist() == [16]
    assert found.details["groups"] == "grid of 81 cells"
    cells = grid(28, 28)
    points = torch.cat(hidden)[-20:]
    for point in points:
        whole = torch.stack([point[cells == cell].float().mean() for cell in range(81)])
        assert ((whole == 0) | (whole == 1)).all()
        assert whole.sum() == 16


def test_defaults_are_those_of_the_cited_measurement() -> None:
    """Novello et al., by Xplique: 200 subsets of a fifth of a 9 × 9 grid, which turn black, and Spearman's."""
    model = CountingModel(PIXELS)
    x, maps = images(9, 1, 2, 12, 12), images(10, 1, 12, 12)
    found = mu_fidelity(model, x, maps, 0)
    expected = {"subsets": 200, "fill": "Constant(value=0.0)", "correlation": "spearman", "score": "logit", "seed": 0}
    assert found.details.items() >= expected.items()
    assert found.details["groups"] == "grid of 81 cells"
    assert found.sizes.tolist() == [16]
    assert model.rows == 200
    spelt = mu_fidelity(
        PIXELS, x, maps, 0, size=16, subsets=200, correlation="spearman", fill=0.0, groups=grid(12, 12, 9)
    )
    assert torch.equal(found.correlation, spelt.correlation)


def test_grid_cells_are_as_equal_as_can_be() -> None:
    sizes = torch.bincount(grid(28, 224).flatten())
    assert len(sizes) == 81
    assert (sizes.min(), sizes.max()) == (3 * 24, 4 * 25)
    assert grid(4, 4).unique().numel() == 16  # no more cells than pixels
    assert torch.bincount(grid(2, 18).flatten()).tolist() == [2] * 18  # nine cells in each of the two rows there are
    assert grid(1, 1).tolist() == [[0]]
    with pytest.raises(ValueError, match="cells is a whole number of at least 1"):
        grid(3, 3, 0)


def test_maps_may_come_in_any_dtype_and_layout() -> None:
    x, maps = images(6, 3, 2, 12, 12), images(7, 3, 2, 12, 12).float()
    expected = mu_fidelity(PIXELS, x, maps, 0, subsets=20, correlation="pearson").correlation
    cells = torch.stack([maps.sum(1)[:, grid(12, 12) == cell].sum(1) for cell in range(81)], 1)
    for given in (maps.double(), maps.numpy(), maps.sum(1, keepdim=True).double(), cells):
        again = mu_fidelity(PIXELS, x, given, 0, subsets=20, correlation="pearson").correlation
        # float32 maps differ in their eighth digit once summed over channels
        torch.testing.assert_close(again, expected, rtol=1e-5, atol=1e-6)
    found = samp.explain(PIXELS, x, target=0, method="ig")
    assert not mu_fidelity(PIXELS, x, found, 0, subsets=20).correlation.isnan().any()


def test_every_argument_changes_the_result() -> None:
    x, maps = images(9, 2, 2, 12, 12), images(10, 2, 2, 12, 12)
    arguments: dict[str, Any] = {"target": 0, "subsets": 20}
    plain = mu_fidelity(PIXELS, x, maps, **arguments).correlation
    others: list[dict[str, Any]] = [
        {"target": 1}, {"share": 0.5}, {"size": 3}, {"subsets": 21}, {"fill": 1.0}, {"score": "probability"},
        {"correlation": "pearson"}, {"seed": 1}, {"groups": samp.Pixels()}, {"groups": samp.Patches(3)},
    ]  # fmt: skip
    for other in others:
        assert not torch.allclose(mu_fidelity(PIXELS, x, maps, **{**arguments, **other}).correlation, plain), other
    same = {"size": 16, "share": 0.7}  # a size is taken before a share
    torch.testing.assert_close(mu_fidelity(PIXELS, x, maps, **arguments, **same).correlation, plain)
    own = mu_fidelity(PIXELS, x, maps, **arguments, correlation=pearson)
    torch.testing.assert_close(
        own.correlation, mu_fidelity(PIXELS, x, maps, **arguments, correlation="pearson").correlation
    )
    scale = torch.tensor([1.0, -1.0], dtype=torch.float64)
    scaled = mu_fidelity(
        lambda x, s: PIXELS(x * s.view(-1, 1, 1, 1)), x, maps, **arguments, forward_args=samp.PerSample(scale)
    )
    torch.testing.assert_close(scaled.correlation[0], plain[0])
    assert scaled.correlation[1] != plain[1]


def test_costs_one_forward_per_subset_and_says_how_it_was_made() -> None:
    model = CountingModel(PIXELS)
    found = mu_fidelity(model, images(9, 2, 2, 12, 12), images(10, 2, 12, 12), 1, subsets=30, seed=7, fill="blurred")
    assert model.rows == 2 * found.details["forwards"] == 2 * 30
    expected = {"target": [1, 1], "subsets": 30, "seed": 7, "score": "logit", "correlation": "spearman"}
    assert found.details.items() >= expected.items()
    assert found.details["fill"].startswith("Blurred(")


def test_several_inputs_are_judged_together() -> None:
    a, b = images(1, 2, 3), images(2, 2, 4)
    weight = torch.arange(1.0, 8.0, dtype=torch.float64)
    exact = weight * torch.cat([a, b], 1)
    found = mu_fidelity(
        lambda a, b: (torch.cat([a, b], 1) * weight).sum(1), (a, b), (exact[:, :3], exact[:, 3:]), correlation="pearson"
    )
    torch.testing.assert_close(found.correlation, torch.ones(2, dtype=torch.float64), **CLOSE)


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ({"subsets": 1}, "subsets is a whole number of at least 2, not 1"),
        ({"size": 0}, "the size of a subset is a whole number of at least 1, not 0"),
        ({"size": 5}, "a subset of 5 features is larger than a sample with 4"),
        ({"share": 0}, "the share of the features is above 0 and at most 1, not 0"),
        ({"share": 1.2}, "the share of the features is above 0 and at most 1, not 1.2"),
        ({"correlation": "kendall"}, "unknown correlation 'kendall'"),
        ({"maps": torch.full((1, 4), torch.nan)}, "the map of sample 0 holds NaN or Inf"),
        ({"maps": torch.ones(1, 5)}, r"the maps have shape \(1, 5\) but the input has \(1, 4\)"),
    ],
)
def test_bad_arguments_get_a_sentence(bad: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        mu_fidelity(linear(WEIGHTS), images(0, 1, 4), **{"maps": torch.ones(1, 4), **bad})


def test_what_each_cell_of_a_photo_takes_with_it_is_a_perfect_map_of_single_cells(data: Path) -> None:
    """Ablation measures what μFidelity asks, if one cell is hidden at a time: a real net must give 1, and random 0."""
    pytest.importorskip("captum")
    classifier = models.mobilenet_v2(data / "models" / "mobilenet_v2_fp16.safetensors")
    x = classifier.prepare(photos.read(data / "photos" / "n02123394_283_Persian_cat.jpg"))
    found = {}
    for method in ("ablation", "random"):
        maps = samp.explain(classifier.net, x, method=method, groups=grid(224, 224))
        found[method] = mu_fidelity(classifier.net, x, maps, size=1, subsets=30, correlation="pearson").mean
    assert found["ablation"] > 0.999  # float32 scores of one image, asked for in batches of different sizes
    assert abs(found["random"]) < 0.6  # 30 subsets spread by 0.18


def test_integrated_gradients_beat_a_random_map_on_imagenet(data: Path) -> None:
    classifier = models.mobilenet_v2(data / "models" / "mobilenet_v2_fp16.safetensors")
    chosen = sorted((data / "imagenet250").glob("*.jpg"))[:40:10]
    x = torch.cat([classifier.prepare(photos.read(path)) for path in chosen])
    mean = {}
    for name, method in (("ig", samp.IG(steps=20)), ("random", "random")):
        maps = samp.explain(classifier.net, x, method=method)
        mean[name] = mu_fidelity(classifier.net, x, maps, maps.details["target"], subsets=40).mean
    assert mean["ig"] > mean["random"] + 0.1
