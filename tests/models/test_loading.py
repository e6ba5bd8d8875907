"""Classifiers from files and the user's own code: the right net, fed as its file says."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from PIL import Image
from torch import nn

import samp
from samp import models
from samp.model_output import extract_scores
from samp.models.loaded_net import NetAdapter


def convolutional(channels: int = 3) -> nn.Module:
    torch.manual_seed(0)
    layers = [nn.Conv2d(channels, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.5), nn.AdaptiveAvgPool2d(1)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(4, 5))


def export(net: nn.Module, path: Path, shape: tuple[int, ...], dynamic: bool = False) -> Path:
    shapes = ({0: torch.export.Dim("rows")},) if dynamic else None
    torch.export.save(torch.export.export(net, (torch.rand(shape),), dynamic_shapes=shapes), path)
    return path


def same(loaded: models.Classifier, net: nn.Module, side: int = 16) -> None:
    x = torch.rand(3, 3, side, side)
    with torch.no_grad():
        torch.testing.assert_close(loaded.net(x), net.eval()(x))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # TorchScript is on its way out, but its files are there
@pytest.mark.parametrize("make", [torch.jit.script, lambda net: torch.jit.trace(net.eval(), torch.rand(1, 3, 16, 16))])
def test_torchscript_files_load_in_evaluation_mode_and_explain(tmp_path: Path, make: Any) -> None:
    net = convolutional()
    make(net).save(tmp_path / "net.pt")
    classifier = models.load(str(tmp_path / "net.pt"), trust=True, size=16)
    same(classifier, net)
    assert classifier.assumed == ("mean", "std", "channels")
    by_name = samp.explain(classifier.net, torch.rand(1, 3, 16, 16), method="ig")
    assert float(by_name.residual.abs()) < 0.05


@pytest.mark.parametrize("rows", [1, 2])
def test_exported_programs_of_a_fixed_batch_explain_any_batch(tmp_path: Path, rows: int) -> None:
    net = convolutional().eval()
    classifier = models.load(str(export(net, tmp_path / "net.pt2", (rows, 3, 16, 16))), trust=True)
    assert classifier.size == (16, 16)  # read off the program itself
    same(classifier, net)
    x = torch.rand(3, 3, 16, 16)
    torch.testing.assert_close(
        samp.explain(classifier.net, x, target=1, method="ig").values,
        samp.explain(net, x, target=1, method="ig").values,
    )


def test_exported_programs_of_any_batch_are_called_as_they_are(tmp_path: Path) -> None:
    net = convolutional().eval()
    classifier = models.load(str(export(net, tmp_path / "net.pt2", (2, 3, 16, 16), dynamic=True)), trust=True)
    assert isinstance(classifier.net, NetAdapter)
    assert classifier.net.rows is None
    same(classifier, net)


def test_an_exported_program_of_one_channel_is_fed_grey(tmp_path: Path) -> None:
    classifier = models.load(str(export(convolutional(1).eval(), tmp_path / "grey.pt2", (1, 1, 12, 20))), trust=True)
    assert classifier.prepare(Image.new("RGB", (50, 50))).shape == (1, 1, 12, 20)


def test_an_exported_program_of_no_image_gets_a_sentence(tmp_path: Path) -> None:
    path = export(nn.Linear(4, 2).eval(), tmp_path / "table.pt2", (1, 4))
    with pytest.raises(ValueError, match=r"does not take one b c h w input, but \(1, 4\)"):
        models.load(str(path), trust=True)


def test_a_pickled_net_is_opened_with_trust(tmp_path: Path) -> None:
    net = convolutional()
    torch.save(net, tmp_path / "net.pth")
    same(models.load(str(tmp_path / "net.pth"), trust=True), net)


def test_weights_alone_are_no_net(tmp_path: Path) -> None:
    torch.save(convolutional().state_dict(), tmp_path / "weights.pth")
    with pytest.raises(ValueError, match="holds weights and no net: name the net by `model`"):
        models.load(str(tmp_path / "weights.pth"))


@pytest.mark.parametrize("name", ["net.pt", "net.pt2", "net.pth"])
@pytest.mark.parametrize("content", [None, b"", b"not a net"])
def test_files_that_are_missing_or_no_nets_get_a_sentence(tmp_path: Path, name: str, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises((ValueError, FileNotFoundError), match=name):
        models.load(str(tmp_path / name))


@pytest.mark.parametrize("wrap", [lambda w: w, lambda w: {"state_dict": w}, lambda w: {"model": w, "epoch": 3}])
def test_checkpoints_are_understood_as_training_scripts_write_them(tmp_path: Path, wrap: Any) -> None:
    weights = {f"module.{name}": tensor for name, tensor in only_32().state_dict().items()}
    torch.save(wrap(weights), tmp_path / "weights.pth")
    loaded = models.load("tiny_nets:only_32", tmp_path / "weights.pth")
    assert all(torch.equal(a, b) for a, b in zip(loaded.net.parameters(), only_32().parameters(), strict=True))


@pytest.mark.parametrize("found", [{"epoch": 3}, {}, [torch.zeros(1)]])
def test_a_checkpoint_without_weights_gets_a_sentence(tmp_path: Path, found: Any) -> None:
    torch.save(found, tmp_path / "weights.pth")
    with pytest.raises(ValueError, match="does not hold weights by name"):
        models.load("tiny_nets:only_32", tmp_path / "weights.pth")


def test_a_net_in_a_file_takes_no_weights(tmp_path: Path) -> None:
    path = export(convolutional().eval(), tmp_path / "net.pt2", (1, 3, 16, 16))
    with pytest.raises(ValueError, match="holds its own weights: leave out `weights`"):
        models.load(str(path), tmp_path / "weights.pth")


@pytest.mark.parametrize(
    "output", [torch.zeros(1, 2), {"logits": torch.zeros(1, 2)}, SimpleNamespace(logits=torch.zeros(1, 2))]
)
def test_scores_are_found_in_what_a_net_returns(output: Any) -> None:
    assert extract_scores(output).shape == (1, 2)


def test_a_net_without_scores_gets_a_sentence() -> None:
    with pytest.raises(TypeError, match=r"the model returns dict with tensors boxes \(1 × 4\) and labels \(1 × 1\)"):
        extract_scores({"boxes": torch.zeros(1, 4), "labels": torch.zeros(1, 1)})
    with pytest.raises(TypeError, match="the model returns dict, not a tensor: pass a target function"):
        extract_scores({"count": 3})


def only_32() -> nn.Module:
    from tiny_nets import only_32

    net = only_32()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(1)
    return net


def test_the_users_own_function_may_return_a_net_or_a_classifier() -> None:
    assert models.load("tiny_nets:classifier").assumed == ()
    plain = models.load("tiny_nets:any_size", mean=(0.5,), channels="bgr")
    assert plain.assumed == ("size", "std")
    assert (plain.mean, plain.size) == (0.5, 224)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ("tiny_nets:nothing", "no attribute 'nothing'"),
        ("tiny_nets:not_a_net", "returned str, not an nn.Module"),
        ("nowhere:net", "there is no module 'nowhere'"),
        ("mobilenet", "did you mean 'mobilenet_v2'"),
        ("resnet50", "comes without weights: give a checkpoint as `weights`"),
        ("nowhere.pt2", "nowhere.pt2 is not a file"),
    ],
)
def test_unknown_models_get_a_sentence(model: str, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=sentence):
        models.load(model)


def test_what_the_users_module_lacks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "wants_more.py").write_text("import no_such_package.inside\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match=r"wants_more:net needs the module 'no_such_package', which is not installed"):
        models.load("wants_more:net")


@pytest.mark.parametrize("name", ["in_a_dict", "in_a_pair"])
def test_the_users_net_may_give_its_scores_among_others(name: str) -> None:
    assert models.load(f"tiny_nets:{name}").net(torch.rand(2, 3, 8, 8)).shape == (2, 4)


def test_bgr_turns_the_channels_round() -> None:
    photo = Image.new("RGB", (8, 8), (255, 128, 0))
    rgb, bgr = (models.load("tiny_nets:classifier", channels=order).prepare(photo) for order in ("rgb", "bgr"))
    assert torch.equal(rgb.flip(1), bgr)


def test_class_names_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("čaj\nkáva\n", encoding="utf-8")
    assert models.load("tiny_nets:any_size", classes=tmp_path / "names.txt").label(1) == "káva"
    with pytest.raises(ValueError, match="one name a line"):
        models.load("tiny_nets:any_size", classes=tmp_path / "nowhere.txt")


@pytest.mark.parametrize(("name", "advised"), [("resnet50", True), ("dinov2_vits14", False), ("resnet50_v1", False)])
def test_torchvision_is_advised_only_for_nets_that_it_has(name: str, advised: bool) -> None:
    with pytest.raises(ValueError, match="comes without weights: give a checkpoint as `weights`") as caught:
        models.load(name)
    assert ("torchvision" in str(caught.value)) == advised
