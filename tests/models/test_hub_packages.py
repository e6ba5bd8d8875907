"""The real timm and torchvision, without their weights: inputs and outputs are theirs (`.ci/hubs` installs them)."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import hub_caches
import samp
from samp import images, models
from samp.methods.cam import GradCAM


def import_or_skip(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except (ImportError, RuntimeError) as error:  # torchvision beside a torch it was not built for raises RuntimeError
        pytest.skip(f"needs {name} ({str(error).splitlines()[0]}): .ci/hubs installs it")


def save_random(net: torch.nn.Module, path: Path) -> Path:
    torch.manual_seed(0)
    for parameter in net.parameters():
        parameter.data = parameter.data + 0.02 * torch.randn_like(parameter)
    save_file({name: tensor.contiguous() for name, tensor in net.state_dict().items()}, path)
    return path


def picture() -> Any:
    return images.read(images.example_photo()).crop((0, 0, 401, 303))  # odd sides, which round


TIMM = {  # the net, and the layer of its Grad-CAM
    "vit_tiny_patch16_224": "blocks.11.norm1",
    "deit_tiny_distilled_patch16_224": "blocks.11.norm1",
    "swin_tiny_patch4_window7_224": "norm",
    "convnext_atto": "norm_pre",
    "resnet18": "layer4",
}


@pytest.mark.parametrize("name", TIMM)
def test_timm_nets_are_fed_as_timm_feeds_them(name: str, tmp_path: Path) -> None:
    timm = import_or_skip("timm")
    net = timm.create_model(name).eval()
    weights = save_random(net, tmp_path / "net.safetensors")
    classifier = models.load(f"timm:{name}", weights)
    x = classifier.prepare(picture())
    transform = timm.data.create_transform(**timm.data.resolve_data_config({}, model=net))
    torch.testing.assert_close(x, transform(picture())[None], atol=1e-6, rtol=1e-6)
    with torch.no_grad():
        torch.testing.assert_close(classifier.net(x), net(x))
    result = samp.explain(classifier.net, x, target=7, method=GradCAM(relu=False))
    assert f"layer='{TIMM[name]}'" in result.method
    assert bool(result.values.any())


@pytest.mark.parametrize("weights", ["never read", None], ids=["file", "hub"])
def test_timm_nets_without_a_head_are_refused_before_anything_is_fetched(
    weights: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timm = import_or_skip("timm")
    monkeypatch.setattr(timm, "create_model", None)  # would make the net, and download its trunk
    with pytest.raises(ValueError, match="timm:vit_small_patch14_dinov2 has no head, and features are no classes"):
        models.load("timm:vit_small_patch14_dinov2", weights and tmp_path / weights)


@pytest.mark.parametrize("name", ["swin_t", "convnext_tiny", "resnet18"])
def test_torchvision_nets_are_fed_as_their_weights_say(name: str, tmp_path: Path) -> None:
    zoo = import_or_skip("torchvision.models")
    net = zoo.get_model(name).eval()
    classifier = models.load(f"torchvision:{name}", save_random(net, tmp_path / "net.safetensors"))
    stated = zoo.get_model_weights(name).DEFAULT
    x = classifier.prepare(picture())
    torch.testing.assert_close(x, stated.transforms()(picture())[None], atol=1e-6, rtol=1e-6)
    assert classifier.classes == tuple(stated.meta["categories"])
    with torch.no_grad():
        torch.testing.assert_close(classifier.net(x), net(x))


def test_grad_cam_on_tokens_is_that_of_pytorch_grad_cam() -> None:
    timm, peer = import_or_skip("timm"), import_or_skip("pytorch_grad_cam")
    targets = import_or_skip("pytorch_grad_cam.utils.model_targets")
    torch.manual_seed(0)
    net = timm.create_model("vit_tiny_patch16_224", depth=3, num_classes=5).eval()
    for parameter in net.parameters():
        parameter.data = parameter.data + 0.02 * torch.randn_like(parameter)
    x = torch.randn(1, 3, 224, 224)

    def in_rows(tokens: torch.Tensor) -> torch.Tensor:
        return tokens[:, 1:].reshape(len(tokens), 14, 14, -1).permute(0, 3, 1, 2)

    for target in range(5):
        ours = samp.explain(net, x, target=target, method=GradCAM()).map[0].numpy()
        with peer.GradCAM(model=net, target_layers=[net.blocks[-1].norm1], reshape_transform=in_rows) as cam:
            theirs = cam(input_tensor=x, targets=[targets.ClassifierOutputTarget(target)])[0]
        if ours.any():  # theirs is scaled to reach from 0 to 1
            line = np.polyfit(ours.ravel(), theirs.ravel(), 1)
            assert np.abs(np.polyval(line, ours) - theirs).max() < 1e-4
            assert line[0] > 0
            break
    else:
        pytest.fail("every map was empty")


def test_the_cache_of_torch_is_used_for_torchvision(tmp_path: Path) -> None:
    zoo = import_or_skip("torchvision.models")
    url = zoo.get_model_weights("squeezenet1_1").DEFAULT.url
    (tmp_path / "hub" / "checkpoints").mkdir(parents=True)
    torch.save(zoo.squeezenet1_1().state_dict(), tmp_path / "hub" / "checkpoints" / url.rpartition("/")[2])
    done = hub_caches.explain("torchvision:squeezenet1_1", tmp_path, TORCH_HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr


def test_the_cache_of_the_hub_is_used_for_timm(tmp_path: Path) -> None:
    timm = import_or_skip("timm")
    net = timm.create_model("resnet18")
    (tmp_path / "net").mkdir()
    save_random(net, tmp_path / "net" / "model.safetensors")
    hub_caches.put(tmp_path / "net", net.pretrained_cfg["hf_hub_id"], tmp_path / "home" / "hub")
    done = hub_caches.explain("timm:resnet18", tmp_path, HF_HOME=str(tmp_path / "home"))
    assert done.returncode == 0, done.stderr
