"""Checkpoints of ImageNet nets: Keras' and torchvision's ResNet-50 are told apart by their weights."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from samp.models.resnet import ResNet50
from samp_lab import nets, panel_nets
from samp_lab.nets.checkpoints import CHECKPOINTS, LARGEST_GAIN, find_checkpoint, find_resnet50_layout
from samp_lab.setups import parse_setup
from samp_lab.workspace import ExperimentOptions, Workspace

FILTER = torch.arange(1.0, 148).view(1, 3, 7, 7)
LENGTH = 1_069_670.0  # 1² + … + 147² = 147 · 148 · 295 / 6


def stem(variance: float) -> dict[str, Tensor]:
    return {"conv1.weight": FILTER, "bn1.running_var": torch.tensor([variance])}


@pytest.mark.parametrize(("gain", "layout"), [(1020.0, "resnet50"), (1030.0, "resnet50_v1")])
def test_the_variance_behind_the_first_convolution_decides(gain: float, layout: str) -> None:
    assert find_resnet50_layout(Path("resnet50.pth"), stem(gain * LENGTH)) == layout


def test_one_filter_above_the_bound_suffices() -> None:
    weights = {"conv1.weight": FILTER.expand(2, 3, 7, 7), "bn1.running_var": torch.tensor([LENGTH, 2000 * LENGTH])}
    assert find_resnet50_layout(Path("resnet50.pth"), weights) == "resnet50_v1"


def test_no_filter_of_normalised_pixels_has_a_larger_gain_than_the_bound() -> None:
    """The filter that sees black and white in turn: its variance is the largest that any input can give."""
    white, black = (torch.full((147,), value) for value in (2.64, -2.64))
    direction = torch.full((147,), 147**-0.5)
    found = torch.stack([direction @ white, direction @ black]).var(correction=0)
    torch.testing.assert_close(found.item(), LARGEST_GAIN, rtol=1e-5, atol=0)


@pytest.mark.parametrize(
    ("name", "gain", "message"),
    [
        ("resnet50_v1.safetensors", 1.0, r"is named as Keras' .* weights are torchvision's .*: rename it"),
        ("resnet50_fp16.safetensors", 1.0, r"is named as Keras'"),
        ("resnet50-0676ba61.pth", 1e5, r"is named as torchvision's .* weights are Keras' .*: rename it"),
    ],
)
def test_a_name_that_states_the_other_layout_is_refused(name: str, gain: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        find_resnet50_layout(Path(name), stem(gain * LENGTH))


def test_another_net_under_its_name_is_refused() -> None:
    with pytest.raises(ValueError, match=r"resnet50.pth has no bn1.running_var: give a checkpoint of ResNet-50"):
        find_resnet50_layout(Path("resnet50.pth"), {"conv1.weight": FILTER})


def write_resnet(path: Path, variance: float) -> None:
    state = ResNet50().state_dict()
    state["bn1.running_var"] = torch.full((64,), variance)
    path.parent.mkdir(exist_ok=True)
    save_file(state, path)


@pytest.mark.parametrize(("variance", "title", "stride"), [(1.0, "ResNet-50", 1), (1e5, "ResNet-50 v1", 2)])
def test_each_file_is_loaded_in_its_own_layout(tmp_path: Path, variance: float, title: str, stride: int) -> None:
    write_resnet(tmp_path / "models" / "resnet50.safetensors", variance)
    found = nets.load("resnet50", ExperimentOptions(data=tmp_path))
    assert found.name == title
    assert found.net.layer2[0].conv1.stride == (stride, stride)
    assert not found.net.training
    assert not any(one.requires_grad for one in found.net.parameters())
    assert panel_nets.load_net("resnet50", tmp_path, "cpu").net.layer2[0].conv1.stride == (stride, stride)


def test_weights_that_are_given_are_taken_without_a_data_folder(tmp_path: Path) -> None:
    write_resnet(tmp_path / "mine.safetensors", 1e5)
    options = ExperimentOptions(weights=tmp_path / "mine.safetensors")
    cut, whole = (nets.load(name, options) for name in ("resnet50", "resnet50-uncropped"))
    assert cut.margin == 0.875
    assert whole.margin is None
    assert (whole.name, whole.size, whole.mean, whole.std) == (cut.name, cut.size, cut.mean, cut.std)


def test_files_that_are_no_checkpoints_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    for name in ("resnet50.txt", "resnet50_v1.safetensors", "resnet18.pth"):
        (tmp_path / "models" / name).touch()
    assert find_checkpoint("resnet50", tmp_path).name == "resnet50_v1.safetensors"
    with pytest.raises(FileNotFoundError, match=r"no checkpoint squeezenet1_1\*.*or give one as `weights`\.$"):
        find_checkpoint("squeezenet1_1", tmp_path)


def test_the_panel_knows_every_checkpoint() -> None:
    assert set(CHECKPOINTS) < set(panel_nets.NETS)


def test_the_resnet_of_the_data_folder_is_keras_and_sees_the_whole_photo_when_uncropped(data: Path) -> None:
    workspace = Workspace(ExperimentOptions(data=data, limit=1))
    cut, whole = parse_setup("photos/resnet50"), parse_setup("photos/resnet50-uncropped")
    assert workspace.net("resnet50").name == "ResNet-50 v1"
    facts = [workspace.facts(setup, None) for setup in (cut, whole)]
    assert facts[0]["weights"] == facts[1]["weights"]
    assert facts[0]["pixels"] != facts[1]["pixels"]
    with torch.no_grad():
        for setup in (cut, whole):
            x = workspace.prepare_images(setup, None).x
            assert x.shape == (1, 3, 224, 224)
            assert workspace.net(setup.net).net(x).softmax(1).max() > 0.3  # nonsense gives about 1/1000
