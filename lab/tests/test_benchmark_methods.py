"""The authors' rivals: Blur IG against PAIR's own package, SmoothGrad's noise against its formula."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import samp
from samp.methods.smoothgrad import SmoothGrad
from samp_lab.benchmark_methods import DerivativeBlurIG, SquaredNoise


def net() -> nn.Module:
    torch.manual_seed(0)
    layers = nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 14 * 14, 5)
    return nn.Sequential(*layers).double().eval()


def test_blur_ig_is_that_of_pairs_package() -> None:
    saliency = pytest.importorskip("saliency.core")
    model, x = net(), torch.rand(1, 3, 16, 16, generator=torch.Generator().manual_seed(1), dtype=torch.float64)

    def gradients(images: np.ndarray, call_model_args: object, expected_keys: object) -> dict[str, np.ndarray]:
        point = torch.from_numpy(images).movedim(-1, 1).requires_grad_()
        model(point).softmax(1)[:, 2].sum().backward()
        return {saliency.base.INPUT_OUTPUT_GRADIENTS: point.grad.movedim(1, -1).numpy()}

    theirs = saliency.BlurIG().GetMask(x[0].movedim(0, -1).numpy(), gradients, {}, max_sigma=50, steps=100)
    ours = samp.explain(model, x, target=2, method=DerivativeBlurIG()).values[0].movedim(0, -1)
    np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-4, atol=1e-6 * np.abs(theirs).max())


def test_the_squared_noise_is_smoothgrads_with_the_square_as_its_share() -> None:
    model, x = net(), torch.zeros(2, 3, 16, 16, dtype=torch.float64)
    x[0, 0, 0, 0], x[1, 0, 0, 0] = 1.0, 1.0  # both have the range 1, so that (0.3 · 1)² is a share of 0.09
    ours = samp.explain(model, x, target=1, method=SquaredNoise(samples=4, noise=0.3)).values
    same = samp.explain(model, x, target=1, method=SmoothGrad(samples=4, noise=0.09)).values
    torch.testing.assert_close(ours, same)
    other = samp.explain(model, 2 * x, target=1, method=SquaredNoise(samples=4, noise=0.3)).values
    torch.testing.assert_close(
        other, samp.explain(model, 2 * x, target=1, method=SmoothGrad(samples=4, noise=0.18)).values
    )
