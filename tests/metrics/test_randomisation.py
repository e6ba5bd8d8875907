"""MPRT, eMPRT and random logit: parts against NumPy, SciPy and scikit-image, and maps whose answer is known."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import samp
from samp.metrics import complexity_rise, explain_maps_by, random_logit, randomisation
from samp.metrics.map_entropy import map_entropy
from samp.metrics.random_weights import layers_from_the_top, randomised_models
from samp.metrics.ssim import ssim

scipy_stats = pytest.importorskip("scipy.stats", reason="needs the extra metrics")
CLASSES = 6


def random(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


class Net(nn.Module):
    """Registered from the top down, to show that the order is that of the forward pass; with a bare parameter."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(4)
        self.scale = nn.Parameter(torch.rand(6, 1, 1))
        self.last, self.norm = nn.Linear(6, CLASSES), nn.BatchNorm2d(8)
        self.second, self.first = nn.Conv2d(8, 6, 3), nn.Conv2d(3, 8, 3)
        with torch.no_grad():  # as if it had been trained
            self.norm.running_mean.uniform_(-1, 1)
            self.norm.running_var.uniform_(0.5, 2)
            self.norm.weight.uniform_(0.5, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(self.first(x)).relu()
        return self.last((self.scale * self.second(x).relu()).mean((2, 3)))


MODEL, IMAGES = Net().eval(), random(1, 3, 3, 16, 16)


def test_layers_are_in_the_order_of_the_forward_pass_from_the_top() -> None:
    assert layers_from_the_top(MODEL, IMAGES) == [["last"], ["second"], ["first", "norm"], [""]]
    attention = nn.TransformerEncoderLayer(8, 2, 8, batch_first=True).eval()
    found = layers_from_the_top(attention, torch.rand(1, 3, 8))
    assert sorted(name for layer in found for name in layer) == sorted(
        name for name, module in attention.named_modules() if list(module.parameters(recurse=False))
    )
    with pytest.raises(ValueError, match="Flatten has no parameters that could be randomised"):
        randomisation(nn.Flatten().eval(), torch.rand(1, 3, 12, 12), explain_maps_by("ig"))


@pytest.mark.parametrize("initialise", ["he", "torch"])
def test_each_depth_randomises_one_layer_more_and_leaves_the_model_alone(initialise: str) -> None:
    before, state = copy.deepcopy(MODEL.state_dict()), torch.get_rng_state()
    layers = layers_from_the_top(MODEL, IMAGES)
    nets = list(randomised_models(MODEL, IMAGES, layers, [1, 2, 3, 4], initialise, 0))
    for depth, net in enumerate(nets, 1):
        drawn = {"last.weight", "second.weight", "first.weight", "scale"}
        changed = {name for name, value in net.state_dict().items() if not torch.equal(value, before[name])}
        owners = {1: {"last.weight"}, 2: {"last.weight", "second.weight"}, 3: drawn - {"scale"}, 4: drawn}[depth]
        assert changed & drawn == owners
        assert not net.training
    # a layer keeps its weights at greater depths, and the last net is that of "bottom"
    assert torch.equal(nets[0].last.weight, nets[3].last.weight)
    (bottom,) = randomised_models(MODEL, IMAGES, layers, [4], initialise, 0)
    assert all(torch.equal(a, b) for a, b in zip(bottom.parameters(), nets[3].parameters(), strict=True))
    (other,) = randomised_models(MODEL, IMAGES, layers, [4], initialise, 1)
    assert not torch.equal(other.last.weight, bottom.last.weight)
    assert all(torch.equal(value, before[name]) for name, value in MODEL.state_dict().items())
    assert torch.equal(torch.get_rng_state(), state)


def test_random_nets_keep_a_signal_of_one_size() -> None:
    """By He's rule, with statistics measured again, a deep net's features neither vanish nor explode."""
    torch.manual_seed(0)
    blocks = [layer for _ in range(12) for layer in (nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())]
    deep = nn.Sequential(nn.Conv2d(3, 8, 3), *blocks, nn.Flatten(), nn.Linear(8 * 14 * 14, 4)).eval()
    layers = layers_from_the_top(deep, IMAGES)
    spread = {}
    for how in ("he", "torch"):
        (net,) = randomised_models(deep, IMAGES, layers, [len(layers)], how, 0)
        spread[how] = net(IMAGES).std(0).mean().item()
    assert 0.05 < spread["he"] < 20
    assert spread["torch"] < 1e-3


def test_ssim_is_that_of_scikit_image() -> None:
    metrics = pytest.importorskip("skimage.metrics", reason="needs the extra compare")
    a = torch.rand(3, 20, 15, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    b = (a + 0.2 * random(3, 3, 20, 15)).clamp(0, 1)
    expected = [
        metrics.structural_similarity(
            x.numpy(), y.numpy(), data_range=1, gaussian_weights=True, sigma=1.5, use_sample_covariance=False
        )
        for x, y in zip(a, b, strict=True)
    ]
    assert ssim(a, b).tolist() == pytest.approx(expected, abs=1e-9)
    assert ssim(a, a).tolist() == pytest.approx([1, 1, 1])
    assert ssim(a[:, :10], b[:, :10]).isnan().all()


@pytest.mark.parametrize("bins", [2, 7, 100])
def test_entropy_is_that_of_a_numpy_histogram(bins: int) -> None:
    maps = random(5, 4, 9, 11).double() ** 3
    expected = [scipy_stats.entropy(np.histogram(one.numpy(), bins=bins)[0]) for one in maps]
    assert map_entropy(maps, bins).tolist() == pytest.approx(expected, abs=1e-12)
    torch.testing.assert_close(map_entropy(3 * maps + 5, bins), map_entropy(maps, bins))
    assert map_entropy(torch.full((1, 3, 3), 0.1), bins).tolist() == [0.0]
    even = torch.arange(bins, dtype=torch.float64).view(1, 1, bins)
    assert map_entropy(even, bins).item() == pytest.approx(np.log(bins))


def test_similarity_is_that_of_the_maps_one_by_one() -> None:
    found = randomisation(MODEL, IMAGES, explain_maps_by("ig"), seed=3)
    classes = MODEL(IMAGES).argmax(1)
    layers = layers_from_the_top(MODEL, IMAGES)
    original = samp.explain(MODEL, IMAGES, target=classes, method="ig", seed=3).map.abs().flatten(1)
    for depth, net in enumerate(randomised_models(MODEL, IMAGES, layers, [1, 2, 3, 4], "he", 3)):
        maps = samp.explain(net, IMAGES, target=classes, method="ig", seed=3).map.abs().flatten(1)
        expected = [scipy_stats.spearmanr(a, b).statistic for a, b in zip(original, maps, strict=True)]
        assert found.spearman[:, depth].tolist() == pytest.approx(expected, abs=1e-6)
    assert found.layers == ("last", "second", "first", "")
    assert found.spearman.shape == found.ssim.shape == (3, 4)
    assert found.details["target"] == classes.tolist()
    assert "all random down to ''" in repr(found)
    assert found.spearman[:, -1].max() < 0.6  # it passes


def test_fewer_depths_are_those_of_the_cascade() -> None:
    whole = randomisation(MODEL, IMAGES, explain_maps_by("gradient"))
    bottom = randomisation(MODEL, IMAGES, explain_maps_by("gradient"), layers="bottom")
    two = randomisation(MODEL, IMAGES, explain_maps_by("gradient"), layers=2)
    assert bottom.layers == ("",)
    assert two.layers == ("second", "")
    assert torch.equal(bottom.spearman[:, 0], whole.spearman[:, -1])
    assert torch.equal(two.ssim, whole.ssim[:, [1, 3]])
    assert randomisation(MODEL, IMAGES, explain_maps_by("sobel"), layers=99).layers == whole.layers


def test_an_edge_detector_is_found_out() -> None:
    by_edges = explain_maps_by("sobel")
    assert randomisation(MODEL, IMAGES, by_edges).spearman.tolist() == [[1.0] * 4] * 3
    assert randomisation(MODEL, IMAGES, by_edges).ssim.min() > 1 - 1e-9
    assert complexity_rise(MODEL, IMAGES, by_edges).rise.tolist() == [0.0] * 3
    found = random_logit(MODEL, IMAGES, by_edges)
    assert found.spearman.tolist() == [1.0] * 3
    assert found.ssim.min() > 1 - 1e-9


def test_a_map_that_only_turns_its_sign_is_the_same_map() -> None:
    def by_sign(model: nn.Module, images: Tensor, target: Tensor, seed: int) -> Tensor:
        return images.sum(1) * (-1) ** target.view(-1, 1, 1)

    assert random_logit(MODEL, IMAGES, by_sign).spearman.tolist() == [1.0] * 3


def test_complexity_rises_from_a_plain_to_a_noisy_map() -> None:
    plain = torch.zeros(3, 16, 16)
    plain[:, 4:8, 4:8] = 1

    def maps(model: nn.Module, images: Tensor, target: Tensor, seed: int) -> Tensor:
        return plain if model is MODEL else random(9, 3, 16, 16)

    found = complexity_rise(MODEL, IMAGES, maps)
    p = 16 / 256
    assert found.trained.tolist() == pytest.approx([-(p * np.log(p) + (1 - p) * np.log(1 - p))] * 3)
    assert found.rise.tolist() == pytest.approx(((found.random - found.trained) / found.trained).tolist())
    assert found.rise.min() > 5
    constant = complexity_rise(MODEL, IMAGES, lambda model, images, target, seed: torch.ones(3, 16, 16))
    assert constant.rise.isnan().all()


def test_the_other_class_is_another_one_and_does_not_depend_on_the_batch() -> None:
    classes = torch.arange(CLASSES)
    images = random(6, CLASSES, 3, 16, 16)
    draws = [random_logit(MODEL, images, explain_maps_by("gradient"), classes, seed=seed) for seed in range(8)]
    assert all(bool((one.other != one.target).all()) for one in draws)
    assert len({int(one.other[0]) for one in draws}) > 2
    alone = random_logit(MODEL, images[2:3], explain_maps_by("gradient"), [2])
    assert alone.other.tolist() == draws[0].other[2:3].tolist()
    assert alone.spearman.item() == pytest.approx(draws[0].spearman[2].item(), abs=1e-4)
    assert draws[0].spearman.max() < 1


def test_a_sample_does_not_depend_on_the_others() -> None:
    together = randomisation(MODEL, IMAGES, explain_maps_by("ig"), layers="bottom").spearman
    alone = torch.cat(
        [randomisation(MODEL, one[None], explain_maps_by("ig"), layers="bottom").spearman for one in IMAGES]
    )
    # convolutions of three images round otherwise than those of one, and equal pixels swap ranks
    torch.testing.assert_close(together, alone, rtol=1e-3, atol=1e-3)


def test_what_cannot_be_measured_gets_a_sentence() -> None:
    by_ig = explain_maps_by("ig")
    with pytest.raises(ValueError, match="layers is 'all', 'bottom' or a number of depths, not 'top'"):
        randomisation(MODEL, IMAGES, by_ig, layers="top")  # type: ignore[arg-type]  # no such choice
    with pytest.raises(ValueError, match="layers is a whole number of at least 1, not 0"):
        randomisation(MODEL, IMAGES, by_ig, layers=0)
    with pytest.raises(ValueError, match="unknown initialisation 'xavier'"):
        randomisation(MODEL, IMAGES, by_ig, initialise="xavier")
    with pytest.raises(ValueError, match="bins is a whole number of at least 2, not 1"):
        complexity_rise(MODEL, IMAGES, by_ig, bins=1)
    one = nn.Sequential(nn.Flatten(), nn.Linear(768, 1)).eval()
    with pytest.raises(ValueError, match=r"the model gave shape \(3, 1\): it should give b × classes"):
        random_logit(one, IMAGES, by_ig)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_gpu_and_cpu_agree() -> None:
    on_cpu = randomisation(MODEL, IMAGES, explain_maps_by("ig"))
    on_gpu = randomisation(copy.deepcopy(MODEL).cuda(), IMAGES.cuda(), explain_maps_by("ig"))
    torch.testing.assert_close(on_gpu.spearman.cpu(), on_cpu.spearman, rtol=1e-2, atol=1e-2)
    torch.testing.assert_close(map_entropy(IMAGES.cuda()).cpu(), map_entropy(IMAGES), rtol=1e-2, atol=1e-2)
