"""The same methods in other libraries, called directly with our settings; imported on first use."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

Peer = Callable[[nn.Module, Tensor, int], object]
PATCH = 16  # pixels, as our methods take at 224


def _captum() -> Any:
    import captum.attr

    return captum.attr


def _patches(x: Tensor) -> Tensor:
    from samp.groups import Patches

    return Patches(PATCH).ids(x.shape[1:])[None].to(x.device).contiguous()


def _integrated_gradients(model: nn.Module, x: Tensor, target: int) -> object:
    return _captum().IntegratedGradients(model).attribute(x, target=target, n_steps=51)


def _smooth_grad(model: nn.Module, x: Tensor, target: int) -> object:
    tunnel, deviation = _captum().NoiseTunnel(_captum().Saliency(model)), 0.15 * float(x.max() - x.min())
    return tunnel.attribute(
        x, nt_type="smoothgrad", nt_samples=50, nt_samples_batch_size=2, stdevs=deviation, target=target, abs=False
    )


def _shapley(model: nn.Module, x: Tensor, target: int, samples: int = 25) -> object:
    peer = _captum().ShapleyValueSampling(model)
    return peer.attribute(x, target=target, feature_mask=_patches(x), n_samples=samples, perturbations_per_eval=2)


def _ablation(model: nn.Module, x: Tensor, target: int) -> object:
    peer = _captum().FeatureAblation(model)
    return peer.attribute(x, target=target, feature_mask=_patches(x), perturbations_per_eval=2)


def _occlusion(model: nn.Module, x: Tensor, target: int, window: int = 15, stride: int = 8) -> object:
    sizes, strides = (x.shape[1], window, window), (x.shape[1], stride, stride)
    return _captum().Occlusion(model).attribute(x, sizes, strides, target=target, perturbations_per_eval=2)


def _lime(model: nn.Module, x: Tensor, target: int, samples: int = 1000) -> object:
    from samp.methods._perturbation import superpixels

    masks = superpixels(x, 100).ids.view_as(x)
    lime = _captum().Lime(model)
    settings = {"target": target, "n_samples": samples, "perturbations_per_eval": 2}
    return [lime.attribute(x[i : i + 1], feature_mask=masks[i : i + 1], **settings) for i in range(len(x))]


def _simple(name: str) -> Peer:
    """Return a caller of one of Captum's classes that take the model and a target."""
    return lambda model, x, target: getattr(_captum(), name)(model).attribute(x, target=target)


def saliency_call(model: nn.Module, device: torch.device) -> Callable[..., dict[str, Any]]:
    """Return the model in PAIR's form: from a batch of HWC arrays and a class to gradients."""

    def call(images: Any, call_model_args: Any = None, expected_keys: Any = None) -> dict[str, Any]:
        x = torch.as_tensor(np.asarray(images), dtype=torch.float32).permute(0, 3, 1, 2).to(device).requires_grad_()
        score = model(x)[:, call_model_args]
        (gradient,) = torch.autograd.grad(score.sum(), x)
        return {"INPUT_OUTPUT_GRADIENTS": gradient.permute(0, 2, 3, 1).cpu().numpy()}

    return call


def _by_saliency(name: str, **settings: Any) -> Peer:
    """Return a caller of a method of PAIR's `saliency`, which takes one image at a time."""

    def call(model: nn.Module, x: Tensor, target: int) -> object:
        import saliency.core

        method, run = getattr(saliency.core, name)(), saliency_call(model, x.device)
        return [
            method.GetMask(image.permute(1, 2, 0).cpu().numpy().astype(np.float64), run, target, **settings)
            for image in x
        ]

    return call


PEERS: dict[str, tuple[str, Peer]] = {
    "ig": ("Captum", _integrated_gradients),
    "smoothgrad": ("Captum", _smooth_grad),
    "guidedbackprop": ("Captum", _simple("GuidedBackprop")),
    "deconvolution": ("Captum", _simple("Deconvolution")),
    "deeplift": ("Captum", _simple("DeepLift")),
    "lrp": ("Captum", _simple("LRP")),
    "shapley": ("Captum", _shapley),
    "lime": ("Captum", _lime),
    "occlusion": ("Captum", _occlusion),
    "ablation": ("Captum", _ablation),
    "blurig": ("saliency", _by_saliency("BlurIG", steps=100, batch_size=20)),
    "guidedig": ("saliency", _by_saliency("GuidedIG", x_steps=200)),
    "xrai": ("saliency", _by_saliency("XRAI", batch_size=20)),
}

# Our adapters and Captum itself with few samples each, for pairs of runs; the ratio does not depend on how many.
ADAPTERS: dict[str, tuple[dict[str, int], Peer]] = {
    "shapley": ({"samples": 1}, partial(_shapley, samples=1)),
    "lime": ({"samples": 100}, partial(_lime, samples=100)),
    "occlusion": ({"window": 32, "stride": 32}, partial(_occlusion, window=32, stride=32)),
    "ablation": ({}, _ablation),
}
