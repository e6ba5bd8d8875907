"""Nets of other packages are fed as their metadata says.

torchvision and timm are stood in for by the part of their API that is called.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import types
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

import samp
from samp import images as photos
from samp import models
from samp.models import hubs, huggingface


def convolutional() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 5))


class Interpolation(Enum):
    BILINEAR = "bilinear"


def torchvision_stand_in(asked: list[Any]) -> types.ModuleType:
    preset = SimpleNamespace(
        crop_size=[224],
        resize_size=[232],
        mean=[0.4, 0.5, 0.6],
        std=[0.2, 0.2, 0.3],
        interpolation=Interpolation.BILINEAR,
    )
    weights = SimpleNamespace(transforms=lambda: preset, meta={"categories": ["a", "b", "c", "d", "e"]})

    def get_model(name: str, weights: Any) -> nn.Module:
        asked.append((name, weights))
        return convolutional()

    zoo = types.ModuleType("torchvision.models")
    zoo.__dict__.update(
        list_models=lambda module: ["resnet18", "resnet50"],
        get_model_weights=lambda name: SimpleNamespace(DEFAULT=weights),
        get_model=get_model,
    )
    return zoo


def test_torchvision_nets_are_fed_by_the_transforms_of_their_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setitem(sys.modules, "torchvision.models", torchvision_stand_in(asked))
    classifier = models.load("torchvision:resnet50")
    assert asked[0][0] == "resnet50"
    assert asked[0][1] is not None  # its default weights
    assert (classifier.size, classifier.margin, classifier.resample) == (224, 224 / 232, "bilinear")
    assert (classifier.mean, classifier.std) == ((0.4, 0.5, 0.6), (0.2, 0.2, 0.3))
    assert classifier.label(4) == "e"
    assert classifier.assumed == ()
    assert not classifier.net.training


def test_given_weights_are_not_downloaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[Any] = []
    monkeypatch.setitem(sys.modules, "torchvision.models", torchvision_stand_in(asked))
    save_file(convolutional().state_dict(), tmp_path / "weights.safetensors")
    models.load("torchvision:resnet50", tmp_path / "weights.safetensors")
    assert asked == [("resnet50", None)]


def test_an_unknown_net_of_a_package_gets_the_closest_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torchvision.models", torchvision_stand_in([]))
    with pytest.raises(ValueError, match="torchvision has no model 'resnet55': did you mean 'resnet50'"):
        models.load("torchvision:resnet55")


@pytest.mark.parametrize("package", ["torchvision", "timm", "hf"])
def test_a_package_that_is_not_there_gets_a_sentence(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    for name in ("torchvision.models", "timm", "transformers"):
        monkeypatch.setitem(sys.modules, name, None)  # as if it were not installed
    with pytest.raises(ImportError, match=r"cannot be imported .*: pip install"):
        models.load(f"{package}:net")


TIMM = {
    "input_size": (3, 224, 288),
    "mean": (0.5, 0.5, 0.5),
    "std": (0.4, 0.4, 0.4),
    "crop_pct": 0.95,
    "num_classes": 5,
}


def test_timm_nets_are_fed_by_their_pretrained_cfg(monkeypatch: pytest.MonkeyPatch) -> None:
    net = convolutional()
    net.pretrained_cfg = {**TIMM, "crop_mode": "center", "interpolation": "bilinear", "label_names": None}
    package = types.ModuleType("timm")
    package.__dict__.update(is_model=lambda name: name == "net", create_model=lambda name, pretrained: net)
    package.__dict__.update(get_pretrained_cfg=lambda name: SimpleNamespace(num_classes=5))
    monkeypatch.setitem(sys.modules, "timm", package)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")  # tests ask no network
    classifier = models.load("timm:net")
    assert (classifier.size, classifier.mean, classifier.margin) == ((224, 288), (0.5, 0.5, 0.5), 0.95)
    assert (classifier.resample, classifier.classes, classifier.assumed) == ("bilinear", (), ())


def test_timm_settings_read_the_real_class() -> None:
    spec = importlib.util.find_spec("timm")
    if spec is None or spec.origin is None:
        pytest.skip("needs timm: pip install timm")
    path = Path(spec.origin).parent / "models" / "_pretrained.py"  # on its own: timm itself needs torchvision
    module = importlib.util.module_from_spec(
        found := importlib.util.spec_from_file_location("pretrained", path) or pytest.fail(f"no {path}")
    )
    sys.modules["pretrained"] = module
    found.loader.exec_module(module)
    settings = hubs.timm_settings(module.PretrainedCfg(crop_mode="squash").to_dict())
    assert settings["margin"] is None
    assert settings["size"] == (224, 224)


VIT = {"do_resize": True, "size": {"height": 224, "width": 200}, "image_mean": [0.5] * 3, "image_std": [0.4] * 3}


@pytest.mark.parametrize(
    ("config", "settings"),
    [
        (VIT, {"size": (224, 200), "margin": None, "mean": (0.5, 0.5, 0.5), "std": (0.4, 0.4, 0.4), "channels": "rgb"}),
        ({**VIT, "size": 224, "resample": 2}, {"size": (224, 224), "margin": None, "resample": "bilinear"}),
        (
            {**VIT, "size": {"shortest_edge": 256}, "do_center_crop": True, "crop_size": {"height": 224, "width": 224}},
            {"size": (224, 224), "margin": 224 / 256},
        ),
        ({**VIT, "size": {"shortest_edge": 224}, "crop_pct": 0.875}, {"size": (224, 224), "margin": 0.875}),
        ({**VIT, "size": {"shortest_edge": 384}, "crop_pct": 0.875}, {"size": (384, 384), "margin": None}),
        ({**VIT, "size": {"shortest_edge": 224}}, {"size": (224, 224), "margin": 1.0}),
        ({**VIT, "do_flip_channel_order": True}, {"channels": "bgr"}),
        ({**VIT, "do_normalize": False}, {"mean": 0.0, "std": 1.0}),
        ({**VIT, "do_normalize": False, "do_rescale": False}, {"mean": 0.0, "std": 1 / 255}),
        ({**VIT, "rescale_factor": 1 / 127.5}, {"mean": (0.25, 0.25, 0.25), "std": (0.2, 0.2, 0.2)}),
    ],
)
def test_preprocessor_configs_of_the_hub_become_settings(config: dict[str, Any], settings: dict[str, Any]) -> None:
    found = huggingface.huggingface_settings(config)
    assert {name: pytest.approx(found[name]) for name in settings if name != "channels"} == {
        name: value for name, value in settings.items() if name != "channels"
    }
    assert found["channels"] == settings.get("channels", "rgb")


def test_a_net_of_the_hub_runs_from_a_local_folder(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="needs transformers: pip install transformers")
    names = {0: "a", 1: "b", 2: "c"}
    small = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = transformers.ViTConfig(image_size=32, patch_size=8, id2label=names, **small)
    transformers.ViTForImageClassification(config).save_pretrained(tmp_path)
    (tmp_path / "preprocessor_config.json").write_text(json.dumps({**VIT, "size": {"height": 32, "width": 32}}))
    classifier = models.load(f"hf:{tmp_path}")
    assert (classifier.size, classifier.classes, classifier.assumed) == ((32, 32), ("a", "b", "c"), ())
    x = classifier.prepare(photos.read(photos.example_photo()))
    assert samp.explain(classifier.net, x, method="ig").map.shape == (1, 32, 32)
