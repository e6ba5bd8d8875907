"""Nets of transformers from a folder: fed to the pixel as their own image processor feeds them, and explained."""

from __future__ import annotations

import json
import socket
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from PIL import Image

import hub_caches
import huggingface_nets
import samp
from samp import images, models
from samp.cli import main
from samp.models.cropping import ResizeThenCrop
from samp.models.huggingface import huggingface_settings

transformers = pytest.importorskip("transformers", reason="needs transformers: pip install transformers")
# family: the kind of its usual image processor, and settings of it
PROCESSORS: dict[str, tuple[str, dict[str, Any]]] = {
    "vit": ("ViT", {"size": {"height": 32, "width": 32}}),
    "deit": ("DeiT", {"size": {"height": 37, "width": 37}, "crop_size": {"height": 32, "width": 32}}),
    "deit with teacher": ("DeiT", {"size": {"height": 40, "width": 40}, "crop_size": {"height": 32, "width": 32}}),
    "dinov2": ("Bit", {"size": {"shortest_edge": 36}, "crop_size": {"height": 32, "width": 32}}),
    "dinov2 with registers": ("Bit", {"size": {"shortest_edge": 35}, "crop_size": {"height": 32, "width": 32}}),
    "beit": ("Beit", {"size": {"height": 32, "width": 32}, "image_mean": [0.4, 0.5, 0.6]}),
    "swin": ("ViT", {"size": {"height": 32, "width": 32}, "resample": 3}),
    "convnext": ("ConvNext", {"size": {"shortest_edge": 32}, "crop_pct": 0.875}),
    "resnet": ("ConvNext", {"size": {"shortest_edge": 32}, "crop_pct": 0.95}),
}


def make_processor(kind: str, **settings: Any) -> Any:
    """The processor that works with Pillow and NumPy alone."""
    made = getattr(transformers, f"{kind}ImageProcessorPil", None) or getattr(transformers, f"{kind}ImageProcessor")
    return made(**settings)


def save(family: str, folder: Path) -> tuple[Any, Any]:
    """The net, in float32, and its processor, both saved into this folder."""
    net = huggingface_nets.build(family).float()
    kind, settings = PROCESSORS[family]
    processor = make_processor(kind, **settings)
    net.save_pretrained(folder)
    processor.save_pretrained(folder)
    return net, processor


@pytest.mark.parametrize("photo", ["coffee", "chelsea"])
@pytest.mark.parametrize("family", PROCESSORS)
def test_inputs_and_outputs_are_those_of_the_package(family: str, photo: str, tmp_path: Path) -> None:
    net, processor = save(family, tmp_path)
    picture = images.read(images.example_photo(photo)).crop((0, 0, 301, 203))  # odd sides, which round
    want = torch.from_numpy(np.asarray(processor(images=picture, return_tensors="np")["pixel_values"]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier = models.load(f"hf:{tmp_path}")
    x = classifier.prepare(picture)
    torch.testing.assert_close(x, want, atol=1e-6, rtol=1e-6)  # to rounding: the same pixels, normalised
    assert (classifier.classes, classifier.assumed) == (("cup", "cat", "dog", "tree"), ())
    with torch.no_grad():
        torch.testing.assert_close(classifier.net(x), net(pixel_values=want.float()).logits)


@pytest.mark.parametrize("family", ["vit", "swin", "convnext", "dinov2 with registers"])
def test_a_folder_is_explained_from_the_command_line(family: str, tmp_path: Path) -> None:
    net, processor = save(family, tmp_path / "net")
    photo = images.example_photo()
    out = tmp_path / "why.png"
    for method in ("coupled", "gradcam"):
        words = ["explain", str(photo), "--model", f"hf:{tmp_path / 'net'}", "--method", method, "--json"]
        done = CliRunner().invoke(main, [*words, "--out", str(out)])
        assert done.exit_code == 0, done.output
        told = json.loads(done.stdout.splitlines()[-1])
        with torch.no_grad():
            pixels = np.asarray(processor(images=images.read(photo), return_tensors="np")["pixel_values"])
            best = int(net(torch.from_numpy(pixels).float()).logits.argmax())
        assert huggingface_nets.NAMES[best] in json.dumps(told)
        assert Image.open(out).size > (100, 100)


def test_a_raw_net_is_explained_as_it_is(tmp_path: Path) -> None:
    """`samp.explain` gives pixel_values as the first argument and finds the logits of a ModelOutput."""
    for family in PROCESSORS:
        net, x = huggingface_nets.build(family), huggingface_nets.photos()
        assert type(net(x)).__name__ != "Tensor"
        result = samp.explain(net, x, method=samp.Coupled(steps=6))
        assert result.details["target"] == net(x).logits.argmax(1).tolist()
        assert float(result.residual.abs().max()) < 1e-9 * float(result.values.abs().sum())


def test_a_folder_without_a_processor_says_what_it_assumes(tmp_path: Path) -> None:
    huggingface_nets.build("vit").save_pretrained(tmp_path)
    classifier = models.load(f"hf:{tmp_path}")
    assert (classifier.size, classifier.assumed) == (32, ("mean", "std"))


def test_defaults_that_a_file_leaves_out_are_those_of_its_class(tmp_path: Path) -> None:
    huggingface_nets.build("vit").save_pretrained(tmp_path)
    (tmp_path / "preprocessor_config.json").write_text(json.dumps({"image_processor_type": "ViTImageProcessor"}))
    classifier = models.load(f"hf:{tmp_path}")
    assert (classifier.size, classifier.mean, classifier.resample) == ((224, 224), (0.5, 0.5, 0.5), "bilinear")


def test_a_processor_that_does_more_than_it_states_is_told(tmp_path: Path) -> None:
    huggingface_nets.build("vit").save_pretrained(tmp_path)
    make_processor("MobileNetV2", do_rescale=True, size={"shortest_edge": 36}).save_pretrained(tmp_path)
    stated = json.loads((tmp_path / "preprocessor_config.json").read_text())
    assert stated["do_center_crop"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        models.load(f"hf:{tmp_path}")
    make_processor("PoolFormer", crop_pct=0.5).save_pretrained(tmp_path)  # resizes by a rule of its own
    with pytest.warns(UserWarning, match="has an image processor that does more than its settings say"):
        models.load(f"hf:{tmp_path}")


def test_levit_resizes_to_more_than_it_states() -> None:
    processor = make_processor("Levit", size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28})
    photo = images.read(images.example_photo())
    settings = huggingface_settings({**processor.to_dict(), "image_processor_type": "LevitImageProcessor"})
    ours = models.Classifier(torch.nn.Identity(), "levit", classes=(), **settings).prepare(photo)
    theirs = np.asarray(processor(images=photo, return_tensors="np")["pixel_values"])
    np.testing.assert_allclose(ours.numpy(), theirs, atol=1e-6)


def test_another_size_takes_the_same_share_of_the_photo(tmp_path: Path) -> None:
    save("dinov2", tmp_path)
    classifier = models.load(f"hf:{tmp_path}", size=64)
    assert (classifier.resizing, classifier.margin) == (None, 32 / 36)


def test_the_box_of_the_crop_is_in_pixels_of_the_photo() -> None:
    whole = ResizeThenCrop((40, 40))
    assert whole.box((400, 200), (20, 20)) == (100, 50, 300, 150)
    assert ResizeThenCrop(10).box((400, 200), (20, 20)) == (0, 0, 400, 200)  # with a border: the whole photo
    assert ResizeThenCrop(11, nearest=True).box((11, 11), (6, 6))[:2] == (2, 2)  # 2.5 to the even neighbour
    assert ResizeThenCrop(13, nearest=True).box((13, 13), (6, 6))[:2] == (4, 4)
    assert ResizeThenCrop(13).box((13, 13), (6, 6))[:2] == (3, 3)


def test_a_trunk_without_a_head_is_refused(tmp_path: Path) -> None:
    """transformers itself loads it with a random head and a warning."""
    trunk = huggingface_nets.build("dinov2").float().dinov2
    trunk.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=r"has no trained head: its checkpoint lacks classifier\.bias and 1 more"):
        models.load(f"hf:{tmp_path}")
    done = CliRunner().invoke(main, ["explain", "--model", f"hf:{tmp_path}"])
    assert done.exit_code == 2
    assert "has no trained head" in done.stderr
    assert "Traceback" not in done.output


@pytest.mark.parametrize("switch", [{"HF_HUB_OFFLINE": "1"}, {}], ids=["switched off", "out of reach"])
@pytest.mark.parametrize("place", ["HF_HOME", "HF_HUB_CACHE"])
def test_the_cache_of_the_hub_is_used_where_the_hub_cannot_be(
    place: str, switch: dict[str, str], tmp_path: Path
) -> None:
    save("vit", tmp_path / "net")
    hub_caches.put(tmp_path / "net", "someone/tiny", tmp_path / "home" / ("hub" if place == "HF_HOME" else ""))
    done = hub_caches.explain("hf:someone/tiny", tmp_path, **{place: str(tmp_path / "home")}, **switch)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "why.png").stat().st_size > 1000


def test_what_is_not_in_the_cache_is_one_message(tmp_path: Path) -> None:
    done = hub_caches.explain("hf:someone/else", tmp_path, HF_HOME=str(tmp_path), HF_HUB_OFFLINE="1")
    assert done.returncode == 2
    told = [line for line in done.stderr.splitlines() if line.strip()]
    assert "hf:someone/else could not be loaded (HF_HUB_OFFLINE is set, and its cache has not got it)" in told[-1]
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "why.png").exists()


def test_a_folder_is_loaded_without_any_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save("vit", tmp_path)

    def refuse(*_: object) -> None:
        pytest.fail("a connection was asked for")

    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert models.load(f"hf:{tmp_path}").size == (32, 32)
