"""DINOv2's vision transformer: its checkpoint, its head, and another definition of it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

import samp
from samp import images, models
from samp.models.vit import VisionTransformer

CHECKPOINT = Path("models", "dinov2_vits14_fp16.safetensors")


def _import_definitions(data: Path) -> ModuleType:
    """Return the plain definitions that come with the data; the folder they read is set here."""
    spec = importlib.util.spec_from_file_location("load_core", data / "load_core.py")
    if spec is None or spec.loader is None or not (data / "load_core.py").is_file():
        pytest.skip("the data have no definitions of their own to compare with")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.ROOT = str(data)  # type: ignore[attr-defined]  # a name of that very module
    return module


@pytest.mark.parametrize("size", [(224, 224), (112, 154), (518, 518)])
def test_features_equal_those_of_another_definition(data: Path, size: tuple[int, int]) -> None:
    ours, other = models.dinov2_vits14(data / CHECKPOINT), _import_definitions(data).dinov2_vits14()
    photo = images.read(data / "photos" / "n02123394_283_Persian_cat.jpg").resize(size[::-1])
    x = ours.to_input(torch.from_numpy(np.array(photo.convert("RGB")))[None])
    with torch.no_grad():
        torch.testing.assert_close(ours.net(x), other(x), atol=1e-4, rtol=1e-4)


def test_a_head_makes_logits_of_the_features(data: Path, tmp_path: Path) -> None:
    torch.manual_seed(0)
    head, x = nn.Linear(768, 3), torch.randn(1, 3, 56, 56)
    features = models.dinov2_vits14(data / CHECKPOINT).net
    named = models.dinov2_vits14(data / CHECKPOINT, head, classes=("a", "b", "c"))
    save_file(head.state_dict(), tmp_path / "head.safetensors")
    read = models.dinov2_vits14(data / CHECKPOINT, tmp_path / "head.safetensors")
    with torch.no_grad():
        torch.testing.assert_close(named.net(x), head(features(x)))
        assert torch.equal(named.net(x), read.net(x))
    assert (named.label(1), read.label(1), named.net.training) == ("b", "class 1", False)


def test_a_checkpoint_with_a_head_loads_by_name_and_one_without_is_refused(data: Path, tmp_path: Path) -> None:
    trunk, head = load_file(data / CHECKPOINT), nn.Linear(768, 2)
    save_file(trunk | {f"head.{k}": v for k, v in head.state_dict().items()}, tmp_path / "whole.safetensors")
    assert models.load("dinov2_vits14", tmp_path / "whole.safetensors").net(torch.zeros(1, 3, 28, 28)).shape == (1, 2)
    with pytest.raises(ValueError, match=r"holds no head\.weight and head\.bias, and features are no classes"):
        models.load("dinov2_vits14", data / CHECKPOINT)


def test_coupled_credit_sums_to_the_change_of_a_class(data: Path) -> None:
    torch.manual_seed(0)
    classifier = models.dinov2_vits14(data / CHECKPOINT, nn.Linear(768, 10))
    x = classifier.prepare(images.read(images.example_photo("coffee")))[..., :112, :112]
    result = samp.explain(classifier.net, x, method=samp.Coupled(steps=8))
    assert float(result.residual.abs()) < 1e-4 * float(result.values.abs().sum())  # float32 sums of 37,632 elements


def test_a_head_of_other_features_and_odd_sizes_are_refused(tmp_path: Path) -> None:
    net = VisionTransformer()
    save_file(net.state_dict() | {"mask_token": torch.zeros(1, 384)}, tmp_path / "trunk.safetensors")
    with pytest.raises(ValueError, match=r"head\.weight: the net has \(5, 768\), the file \(5, 384\)"):
        models.dinov2_vits14(tmp_path / "trunk.safetensors", nn.Linear(384, 5))
    with pytest.raises(ValueError, match="30 × 28 pixels: give sides divisible by 14"):
        net(torch.zeros(1, 3, 30, 28))
