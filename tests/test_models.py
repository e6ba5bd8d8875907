"""Nets load their real weights, say so when they cannot, and show what the paper's credit is worth on them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

import samp
from samp import models, photos
from samp.models.squeezenet import SqueezeNet

NETS = {"mobilenet_v2": models.mobilenet_v2, "squeezenet1_1": models.squeezenet1_1}


@pytest.mark.parametrize(("name", "load"), NETS.items())
def test_real_nets_recognise_a_photo(data: Path, name: str, load: Callable[[Path], models.Classifier]) -> None:
    classifier = load(data / "models" / f"{name}_fp16.safetensors")
    for photo, label in (("n02123394_283_Persian_cat.jpg", 283), ("n02123597_284_Siamese_cat.jpg", 284)):
        with torch.no_grad():
            scores = classifier.net(classifier.prepare(photos.read(data / "photos" / photo)))
        assert int(scores.argmax()) == label


def test_paper_credit_overshoots_on_mobilenet_and_shared_credit_does_not(data: Path) -> None:
    """READING point 4: with 3,584-pixel steps the sum comes out tens of times too large; the residual says so."""
    classifier = models.mobilenet_v2(data / "models" / "mobilenet_v2_fp16.safetensors")
    x = classifier.prepare(photos.read(photos.embedded("coffee")))
    paper = samp.explain(classifier.net, x)
    change = sum(float(c) for c in paper.score_change.values())
    assert abs(float(paper.residual)) > 10 * abs(change)
    shared = samp.explain(classifier.net, x, target=paper.details["target"], method=samp.SAMPPlusPlus(credit="shared"))
    assert float(shared.residual.abs()) < 1e-4 * float(shared.values.abs().sum())  # float32 sums over 150,528 elements


def test_weights_of_another_net_are_refused(tmp_path: Path) -> None:
    save_file(SqueezeNet().state_dict(), tmp_path / "squeezenet.safetensors")
    with pytest.raises(ValueError, match="does not hold the weights of MobileNetV2"):
        models.mobilenet_v2(tmp_path / "squeezenet.safetensors")
    assert models.squeezenet1_1(tmp_path / "squeezenet.safetensors").net.training is False


def test_a_truncated_checkpoint_is_refused(tmp_path: Path) -> None:
    (tmp_path / "half.safetensors").write_bytes(b"\x10\x00")
    with pytest.raises(ValueError, match="not a whole safetensors file"):
        models.squeezenet1_1(tmp_path / "half.safetensors")
