"""Nets load their real weights, say so when they cannot, and show what the paper's credit is worth on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

import samp
from samp import images as photos
from samp import models
from samp.models.resnet import ResNet50
from samp.models.squeezenet import SqueezeNet

NETS = {"mobilenet_v2": models.mobilenet_v2, "squeezenet1_1": models.squeezenet1_1}


@pytest.mark.parametrize(("name", "load"), NETS.items())
def test_real_nets_recognise_a_photo(data: Path, name: str, load: Callable[[Path], models.Classifier]) -> None:
    classifier = load(data / "models" / f"{name}_fp16.safetensors")
    for photo, label in (("n02123394_283_Persian_cat.jpg", 283), ("n02123597_284_Siamese_cat.jpg", 284)):
        with torch.no_grad():
            scores = classifier.net(classifier.prepare(photos.read(data / "photos" / photo)))
        assert int(scores.argmax()) == label


def test_paper_credit_overshoots_on_mobilenet_and_exact_credits_do_not(data: Path) -> None:
    """With 3,584-pixel steps the sum comes out tens of times too large, and the residual says so."""
    classifier = models.mobilenet_v2(data / "models" / "mobilenet_v2_fp16.safetensors")
    x = classifier.prepare(photos.read(photos.example_photo("coffee")))
    paper = samp.explain(classifier.net, x, method="samp++")
    change = sum(float(c) for c in paper.score_change.values())
    assert abs(float(paper.residual)) > 10 * abs(change)
    for method in (samp.SAMPPlusPlus(credit="shared"), samp.Coupled()):
        exact = samp.explain(classifier.net, x, target=paper.details["target"], method=method)
        assert float(exact.residual.abs()) < 1e-4 * float(exact.values.abs().sum())  # float32 sums of 150,528 elements


def test_weights_of_another_net_are_refused(tmp_path: Path) -> None:
    save_file(SqueezeNet().state_dict(), tmp_path / "squeezenet.safetensors")
    with pytest.raises(ValueError, match="does not fit MobileNetV2: 1 of 52 weights has another shape"):
        models.mobilenet_v2(tmp_path / "squeezenet.safetensors")
    assert models.squeezenet1_1(tmp_path / "squeezenet.safetensors").net.training is False


def test_a_truncated_checkpoint_is_refused(tmp_path: Path) -> None:
    (tmp_path / "half.safetensors").write_bytes(b"\x10\x00")
    with pytest.raises(ValueError, match="not a whole safetensors file"):
        models.squeezenet1_1(tmp_path / "half.safetensors")


def test_resnet50_takes_a_checkpoint_of_its_names(tmp_path: Path) -> None:
    save_file(ResNet50().state_dict(), tmp_path / "resnet50.safetensors")
    loaded = models.load("resnet50", tmp_path / "resnet50.safetensors")
    assert (loaded.name, loaded.size, loaded.mean) == ("ResNet-50", 224, (0.485, 0.456, 0.406))
    assert loaded.net(torch.zeros(1, 3, 64, 64)).shape == (1, 1000)


def classifier(classes: tuple[str, ...] = ("Siamese cat", "crane", "crane", "tabby")) -> models.Classifier:
    return models.Classifier(torch.nn.Identity(), "net", 4, 0.5, 0.5, classes)


@pytest.mark.parametrize(("target", "index"), [("siamese cat", 0), ("Siamese_cat", 0), ("tabby", 3), ("2", 2)])
def test_classes_are_found_by_name_and_number(target: str, index: int) -> None:
    assert classifier().index(target, outputs=4) == index


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("tabbby", "net has no class 'tabbby': did you mean 'tabby'"),
        ("xyz", "net has no class 'xyz': give a number"),
        ("crane", "'crane' is the name of classes 1 and 2: give the number"),
        ("4", "target 4 is out of range: the model's output goes from 0 to 3"),
        ("-1", "target -1 is out of range"),
    ],
)
def test_unknown_classes_get_the_closest_names(target: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        classifier().index(target, outputs=4)


@pytest.mark.parametrize(
    ("target", "meant"),
    [
        ("cat", ["tiger cat", "Persian cat", "Siamese cat", "Egyptian cat", "Madagascar cat"]),
        ("Cats", ["tiger cat", "Persian cat", "Siamese cat", "Egyptian cat", "Madagascar cat"]),
        ("retriever golden", ["golden retriever"]),
        ("egyptain", ["Egyptian cat"]),
        ("siamese cta", ["Siamese cat"]),
    ],
)
def test_a_word_of_a_name_leads_to_the_classes_that_have_it(target: str, meant: list[str]) -> None:
    """By words first: by spelling alone "cat" is nearest to crate, oxcart and castle."""
    names = models.imagenet_classes()
    with pytest.raises(ValueError, match="has no class") as caught:
        classifier(names).index(target, outputs=1000)
    offered = [f"{name!r} ({names.index(name)})" for name in meant]
    assert str(caught.value).partition("did you mean ")[2].replace(" or ", ", ") == f"{', '.join(offered)}?"


def test_of_many_classes_with_a_word_some_are_named_and_the_others_counted() -> None:
    with pytest.raises(ValueError, match=r"'Sealyham terrier' \(190\) or 6 others\?$"):
        classifier(models.imagenet_classes()).index("terrier", outputs=1000)


def test_outputs_get_their_names() -> None:
    assert classifier(()).with_outputs(1000).label(281) == "tabby"
    assert classifier(()).with_outputs(7).label(6) == "class 6"
    with pytest.raises(ValueError, match="4 class names but net has 5 outputs"):
        classifier().with_outputs(5)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"channels": "cmyk"}, "unknown order of channels 'cmyk'"),
        ({"channels": "grey", "mean": (0.1, 0.2, 0.3)}, "mean has 3 numbers but grey has 1"),
        ({"std": (0.1, 0.2)}, "std has 2 numbers but rgb has 3"),
        ({"size": (0, 4)}, "a size is from 1 to 8,192 pixels"),
    ],
)
def test_settings_that_do_not_fit_get_a_sentence(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        replace(classifier(), **settings)
