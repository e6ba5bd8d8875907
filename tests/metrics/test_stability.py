"""Agreement of two maps against SciPy, and stability of methods whose answer is known."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from samp.metrics import explain_maps_by, map_agreement, seed_stability, stability

scipy_stats = pytest.importorskip("scipy.stats", reason="needs the extra metrics")


def random(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def net(classes: int = 5) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 10 * 10, classes)).eval()


IMAGES = random(1, 3, 3, 12, 12)


def mean_by_hand(map_: Tensor, side: int) -> list[float]:
    rows, columns = range(0, map_.shape[0], side), range(0, map_.shape[1], side)
    return [float(map_[r : r + side, c : c + side].double().mean()) for r in rows for c in columns]


@pytest.mark.parametrize("pool", [1, 2, 4, 5, 20])
def test_agreement_is_that_of_scipy_after_averaging_by_hand(pool: int) -> None:
    a, b = random(2, 2, 10, 14), random(3, 2, 10, 14)
    b = a + 0.5 * b
    found = map_agreement(a, b, pool)
    for sample in range(2):
        x, y = mean_by_hand(a[sample], pool), mean_by_hand(b[sample], pool)
        if len(x) == 1:  # a constant map correlates with nothing
            assert found.pearson[sample].isnan()
            assert found.spearman[sample].isnan()
            continue
        assert found.pearson[sample].item() == pytest.approx(scipy_stats.pearsonr(x, y).statistic, abs=1e-9)
        assert found.spearman[sample].item() == pytest.approx(scipy_stats.spearmanr(x, y).statistic, abs=1e-9)


def test_agreement_takes_two_sizes_of_nothing() -> None:
    with pytest.raises(ValueError, match=r"shapes \(1, 4, 4\) and \(1, 4, 5\): give two of one size"):
        map_agreement(torch.ones(1, 4, 4), torch.ones(1, 4, 5))
    with pytest.raises(ValueError, match="pool is a whole number of at least 1, not 0"):
        map_agreement(torch.ones(1, 4, 4), torch.ones(1, 4, 4), 0)


def test_a_linear_model_is_perfectly_stable() -> None:
    linear = nn.Sequential(nn.Flatten(), nn.Linear(3 * 144, 4)).eval()
    found = stability(linear, IMAGES, explain_maps_by("gradient"), noise=1e-3)
    assert found.pearson.shape == found.spearman.shape == (3, 3)
    assert bool((found.pearson[:, :2] > 1 - 1e-9).all())
    assert found.pools == (1, 4, 14)
    assert found.pearson[:, 2].isnan().all()  # one square over the whole image is constant


def test_a_map_of_dice_is_not_stable_at_all() -> None:
    """ "random" draws anew for every image, however similar, and for every seed."""
    images = random(4, 4, 3, 40, 40)
    linear = nn.Sequential(nn.Flatten(), nn.Linear(3 * 1600, 4)).eval()
    for found in (
        stability(linear, images, explain_maps_by("random"), pools=(1,)),
        seed_stability(linear, images, explain_maps_by("random"), pools=(1,)),
    ):
        assert found.pearson.abs().max() < 0.1  # four standard deviations of 1600 pairs
        assert found.spearman.abs().max() < 0.1


def test_the_noise_is_what_was_asked_for_and_the_target_that_of_the_clean_image() -> None:
    seen: list[tuple[Tensor, Tensor, int]] = []

    def explain_maps(model: nn.Module, images: Tensor, target: Tensor, seed: int) -> Tensor:
        seen.append((images, target, seed))
        return images.sum(1)

    model = net()
    for kind, largest in (("rounding", 1.0), ("gaussian", 6.0)):
        seen.clear()
        stability(model, IMAGES, explain_maps, noise=0.1, kind=kind, seed=5)
        (clean, classes, seed), (noisy, again, seed_again) = seen
        assert torch.equal(clean, IMAGES)
        assert torch.equal(classes, model(IMAGES).argmax(1))
        assert torch.equal(classes, again)
        assert seed == seed_again == 5
        span = IMAGES.flatten(1).amax(1) - IMAGES.flatten(1).amin(1)
        unit = (noisy - clean) / (0.1 * span.view(-1, 1, 1, 1))
        assert 0.9 < unit.abs().max() < largest
        scale = 3**-0.5 if kind == "rounding" else 1.0
        assert unit.std().item() == pytest.approx(scale, rel=0.1)
    seed_stability(model, IMAGES, explain_maps, target=[1, 2, 3], seed=5, other_seed=9)
    assert [seed for *_, seed in seen[-2:]] == [5, 9]
    assert seen[-1][1].tolist() == [1, 2, 3]


def test_a_sample_does_not_depend_on_the_others() -> None:
    def measure(images: Tensor) -> Tensor:
        return stability(net(), images, explain_maps_by("gradient"), noise=0.3, pools=(1, 3)).spearman

    together, alone = measure(IMAGES), torch.cat([measure(one[None]) for one in IMAGES])
    # a convolution of three images rounds otherwise than one of each, and pixels of nearly equal credit swap ranks
    torch.testing.assert_close(together, alone, rtol=1e-3, atol=1e-3)
    assert together.max() < 0.999


def test_every_argument_changes_the_result() -> None:
    def measure(**settings: object) -> Tensor:
        return stability(net(), IMAGES, explain_maps_by("gradient"), **{"noise": 0.3, **settings}).pearson[:, 0]  # type: ignore[arg-type]  # mixed

    usual = measure()
    for other in ({"noise": 0.2}, {"kind": "gaussian"}, {"seed": 1}, {"target": 3}):
        assert not torch.allclose(measure(**other), usual)
    assert torch.equal(measure(), usual)


def test_the_result_says_how_it_was_made() -> None:
    found = stability(net(), IMAGES, explain_maps_by("ig"), target=2, pools=[1, 4])
    assert found.details["differs"] == "rounding noise of 1e-06"
    assert found.details["target"] == [2, 2, 2]
    assert "1 px 1.0000" in repr(found)
    assert "over 3 samples; rounding noise of 1e-06" in repr(found)


def test_what_cannot_be_measured_gets_a_sentence() -> None:
    model, by_ig = net(), explain_maps_by("ig")
    with pytest.raises(ValueError, match="unknown method 'igg'"):
        explain_maps_by("igg")
    with pytest.raises(ValueError, match="above 0 and below 1, not 0"):
        stability(model, IMAGES, by_ig, noise=0)
    with pytest.raises(ValueError, match="unknown kind of noise 'loud'"):
        stability(model, IMAGES, by_ig, kind="loud")
    with pytest.raises(ValueError, match="pools is empty"):
        stability(model, IMAGES, by_ig, pools=())
    with pytest.raises(TypeError, match=r"not str: pass samp.metrics.explain_maps_by\('ig'\)"):
        stability(model, IMAGES, "ig")  # type: ignore[arg-type]  # a name, no callable
    with pytest.raises(ValueError, match=r"maps of shape \(3, 6, 6\) .* return \(3, 12, 12\)"):
        stability(model, IMAGES, lambda model, images, target, seed: images[:, 0, ::2, ::2])
    with pytest.raises(TypeError, match=r"is an nn\.Module, not function"):
        stability(lambda x: x.flatten(1), IMAGES, by_ig)  # type: ignore[arg-type]  # no module
    with pytest.raises(ValueError, match=r"one b c h w tensor of images, not \(2, 5\)"):
        stability(nn.Linear(5, 2).eval(), torch.rand(2, 5), by_ig)
    with pytest.raises(TypeError, match="not a function: pass numbers"):
        stability(model, IMAGES, by_ig, target=lambda output: output[:, 0])
    with pytest.raises(ValueError, match="one class number per image, not 2 numbers"):
        stability(model, IMAGES, by_ig, target=(1, 2))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_gpu_and_cpu_agree() -> None:
    on_cpu = stability(net(), IMAGES, explain_maps_by("ig"), noise=0.1)
    on_gpu = stability(net().cuda(), IMAGES.cuda(), explain_maps_by("ig"), noise=0.1)
    torch.testing.assert_close(on_gpu.pearson.cpu(), on_cpu.pearson, rtol=1e-2, atol=1e-2, equal_nan=True)
    assert map_agreement(IMAGES.cuda(), IMAGES).pearson.min() > 0.999
