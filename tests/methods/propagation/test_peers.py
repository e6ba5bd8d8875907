"""Propagation methods against Captum where it is right, and on real nets."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from torch import Tensor, nn

import samp
from propagation_nets import images, net, paper_cnn
from samp import models
from samp.methods.propagation import LRP, MWP, ContrastiveMWP, Deconvolution, DeepLIFT, GuidedBackprop

CLOSE = {"rtol": 1e-9, "atol": 1e-11}
FLOAT32 = 1e-5  # of the score change: some 50 layers of float32 sums


def captum(name: str, model: nn.Module, x: Tensor, target: int) -> Tensor:
    attr = pytest.importorskip("captum.attr")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it sets hooks
        found: Tensor = getattr(attr, name)(model).attribute(x.clone().requires_grad_(), target=target)
    return found.detach()


@pytest.mark.parametrize(
    ("name", "method"),
    [("DeepLift", DeepLIFT()), ("GuidedBackprop", GuidedBackprop()), ("Deconvolution", Deconvolution())],
)
def test_equals_captum_on_separate_relu_modules(name: str, method: Any) -> None:
    model, x = net("modules"), images()
    ours = samp.explain(model, x, target=1, method=method)
    torch.testing.assert_close(ours.values, captum(name, model, x, 1), **CLOSE)


def test_deeplift_equals_captum_on_smooth_activations() -> None:
    model, x = net("tanh"), images()
    ours = samp.explain(model, x, target=1, method=DeepLIFT())
    torch.testing.assert_close(ours.values, captum("DeepLift", model, x, 1), **CLOSE)


@pytest.mark.parametrize(("name", "method"), [("GuidedBackprop", GuidedBackprop()), ("Deconvolution", Deconvolution())])
@pytest.mark.parametrize("build", ["in place", "reused", "functional", "relu6"])
def test_the_form_of_a_relu_does_not_matter(name: str, method: Any, build: str) -> None:
    """Written out as separate modules, where Captum is right, the net has the same map."""
    model, x = net(build), images()
    a, b, head = [m for m in model.modules() if isinstance(m, nn.Conv2d | nn.Linear)]
    written_out = nn.Sequential(a, nn.ReLU(), b, nn.ReLU(), nn.Flatten(), head)
    x = x / 10 if build == "relu6" else x  # below 6 throughout
    torch.testing.assert_close(model(x), written_out(x), **CLOSE)
    ours = samp.explain(model, x, target=1, method=method)
    if build != "functional":  # it goes through some of its ReLUs three times, which Deconvolution sees
        torch.testing.assert_close(ours.values, captum(name, written_out, x, 1), **CLOSE)
    assert not torch.allclose(ours.values, gradient(model, x, 1))


def gradient(model: nn.Module, x: Tensor, target: int) -> Tensor:
    leaf = x.clone().requires_grad_()
    return torch.autograd.grad(model(leaf)[:, target].sum(), leaf)[0]


def test_deeplift_is_complete_on_the_papers_cnn() -> None:
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        model, x = paper_cnn(), torch.rand(4, 3, 32, 32)
    result = samp.explain(model, x, method=DeepLIFT())
    assert (result.residual.abs() <= FLOAT32 * result.score_change["to_image"].abs()).all()
    assert result.details["operations"]["by rule"] == {"relu": 3, "adaptive_max_pool2d": 1}
    assert samp.explain(model, x, method=LRP()).residual.abs().max() < FLOAT32


def squeezenet(data: Path) -> models.Classifier:
    return models.squeezenet1_1(data / "models" / "squeezenet1_1_fp16.safetensors")


def mobilenet(data: Path) -> models.Classifier:
    return models.mobilenet_v2(data / "models" / "mobilenet_v2_fp16.safetensors")


def lite0(data: Path) -> models.Classifier:
    pytest.importorskip("efficientnet_lite_pytorch")
    return models.efficientnet_lite0()


REAL: dict[Callable[[Path], models.Classifier], dict[str, int]] = {
    squeezenet: {"relu": 26, "max_pool2d": 3},
    mobilenet: {"hardtanh": 35},
    lite0: {"hardtanh": 33},
}


@pytest.fixture(scope="module", params=list(REAL), ids=lambda load: load.__name__)
def real(request: pytest.FixtureRequest, data: Path) -> tuple[models.Classifier, Tensor, dict[str, int]]:
    classifier = request.param(data)
    photos = [Image.open(Path(data, "photos", name)).convert("RGB") for name in ("astronaut.png", "chelsea.png")]
    return classifier, torch.cat([classifier.prepare(photo) for photo in photos]), REAL[request.param]


def test_deeplift_is_complete_on_real_nets_and_says_what_it_covered(real: Any) -> None:
    classifier, x, covered = real
    result = samp.explain(classifier.net, x, method=DeepLIFT())
    assert (result.residual.abs() <= FLOAT32 * result.score_change["to_image"].abs()).all()
    assert result.details["operations"]["by rule"] == covered


def test_lrp_conserves_the_score_on_real_nets(real: Any) -> None:
    classifier, x, _ = real
    result = samp.explain(classifier.net, x, method=LRP())
    scores = classifier.net(x).amax(1)
    assert (result.residual.abs() <= FLOAT32 * scores).all()


def test_guided_maps_differ_from_the_gradient_on_real_nets(real: Any) -> None:
    classifier, x, covered = real
    plain = gradient(classifier.net, x, 281)
    for method in (GuidedBackprop(), Deconvolution()):
        result = samp.explain(classifier.net, x, target=281, method=method)
        assert torch.cosine_similarity(result.values.flatten(), plain.flatten(), 0) < 0.9
        rectifiers = {name: count for name, count in covered.items() if name != "max_pool2d"}
        assert result.details["operations"]["by rule"] == rectifiers


def test_winning_probabilities_arrive_whole_on_squeezenet(data: Path) -> None:
    classifier = squeezenet(data)
    x = classifier.prepare(Image.open(data / "photos" / "chelsea.png").convert("RGB"))
    assert samp.explain(classifier.net, x, method=MWP()).details["kept"] == pytest.approx([1], abs=FLOAT32)
    (kept,) = samp.explain(classifier.net, x, method=ContrastiveMWP()).details["kept"]
    assert kept == pytest.approx([1, 1], abs=FLOAT32)
