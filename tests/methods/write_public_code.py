"""Write tests/methods/public_code.json: what the authors' own code of some path methods returns for a small net.

    PYTHONPATH=src:tests python tests/methods/write_public_code.py FOLDER

FOLDER holds the functions that are called below, as they stand in the public repositories at the commits of `SOURCES`,
in one file for each method. That code is not in this repository: only its numbers are, which `test_public_code.py`
compares with ours. It needs captum, scikit-learn and SciPy besides.
"""

from __future__ import annotations

import json
import platform
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from laws import images, net

FILE = Path(__file__).with_name("public_code.json")
SOURCES = {
    "spectralig": "leekwoon/sig 82f5922b2e7c16ccfad58f289c070449981fe682 (MIT): cleanig/explainer/path_utils.py, ig.py",
    "ig2": "JoeZhuo-ZY/IG2 7df081d3894a7e2d21cb60de6860a2ab92f0a237: ig2.py",
    "agi": "pd90506/AGI 41488431c4f0b117143dfb115458cb7b96a72f13: utils.py",
    "geodesicig": "sina-salek/geodesic-ig 368148e4140f539bf55a97f90421cea6a2d0a675 (MIT): "
    "geodesic/attr/geodesic_knn_ig.py, geodesic/utils/a_star_path.py",
    "revealig": "murphyka/Reveal-IG fc8386e55046e8a16cdda940d4ab1889fe9b0dd4 (MIT): "
    "revealig/core/integrator.py, path.py",
    "fringe": "GabMartino/FRInGe 376be940c3f602e19389d2cee33eff9c7edbb18a, 560270d4a407b928ac32cc5a649de3fc94993878: "
    "FisherRaoIG/FisherRaoIntegratedGradients.py, methods/FisherRaoIG/FR_utils.py",
}
MODEL = net(4, features=3 * 6 * 5, activation=nn.Softplus)
X = images(4, 2, 3, 6, 5).float().double()  # float32 numbers: some of the public code rounds to them
OTHERS = images(7, 3, 3, 6, 5).float().double()
POINTS = images(11, 30, 3, 6, 5)
TARGETS = MODEL(X).argmax(1)


def spectralig(public: Any) -> Tensor:
    generator = public.SpectralPathGenerator("zero", None, "cpu", 60, overlap=0.4)
    return public.compute_ig(MODEL, generator.get_paths(X), TARGETS, "logit")


def ig2(public: Any) -> Tensor:
    def call_model(batch: Any, call_model_args: Any = None, expected_keys: Any = None) -> dict[str, Any]:
        x = torch.tensor(np.asarray(batch), dtype=torch.float64, requires_grad=True)
        hidden = MODEL[:-1](x)
        if public.REP_LAYER_VALUES in expected_keys:
            return {public.REP_LAYER_VALUES: hidden}
        if public.REP_DISTANCE_GRADIENTS in expected_keys:
            loss = -nn.functional.mse_loss(hidden, call_model_args["layer_baseline"])
            (gradient,) = torch.autograd.grad(loss, x)
            return {public.REP_DISTANCE_GRADIENTS: gradient.numpy(), "loss": loss.item()}
        (gradient,) = torch.autograd.grad(MODEL[-1](hidden)[:, call_model_args["class"]].sum(), x)
        return {public.INPUT_OUTPUT_GRADIENTS: gradient.numpy()}

    found = [
        public.IG2().GetMask(
            x.numpy(), OTHERS.numpy(), call_model, {"class": int(c)}, steps=25, step_size=0.2, clip_min_max=[0, 1]
        )
        for x, c in zip(X, TARGETS, strict=True)
    ]
    return torch.tensor(np.stack(found))


def agi(public: Any) -> Tensor:
    found = []
    for x, target in zip(X.split(1), TARGETS, strict=True):
        false = [torch.tensor([c]) for c in range(3) if c != target]
        found.append(sum(public.pgd_step(x, 0.05, MODEL, target[None], c, 12)[0] for c in false))
    return torch.cat(found)


def geodesicig(public: Any) -> Tensor:
    found = [
        public.GeodesicIntegratedGradients(MODEL, data=POINTS, n_neighbors=2).attribute(x, baselines=0.0, target=int(c))
        for x, c in zip(X.split(1), TARGETS, strict=True)
    ]
    return torch.cat(found)


def revealig(public: Any) -> Tensor:
    generator = torch.Generator().manual_seed(5)
    noise = torch.stack([torch.randn(90, generator=generator) for _ in range(6)]).double().view(6, 3, 6, 5)
    randn, torch.randn = torch.randn, lambda *shape, **rest: noise  # the same draws at every step
    try:
        found = [
            public.RevealIG(MODEL, n_steps=40, n_samples=6, sigma_final=0.25).attribute(x, target=int(c))
            for x, c in zip(X.split(1), TARGETS, strict=True)
        ]
    finally:
        torch.randn = randn
    return torch.stack(found)


def fringe(public: Any) -> Tensor:
    def score(x: Tensor, target: Tensor) -> Tensor:
        return MODEL(x).gather(1, target[:, None]).squeeze(1)

    method = public.FisherRaoIntegratedGradients(MODEL, score, TARGETS, cg_max_iters=3)
    settings = {"delta_euc": 0.4, "eta_max": 3.0, "lambda_ratio": 0.01, "gamma_step": 0.002, "gamma_prior": 0.001}
    return method.attribute(X, kl_target=0.002, smoothing=True, **settings)[0]


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    made = {
        "made by": "python tests/methods/write_public_code.py FOLDER",
        "versions": {"torch": torch.__version__, "python": platform.python_version()},
        "outputs of the net": MODEL(X).tolist(),
        "methods": {
            name: {
                "source": source,
                "values": [
                    float(f"{value:.10g}")
                    for value in globals()[name](import_module(f"{name}_public")).detach().double().flatten().tolist()
                ],
            }
            for name, source in SOURCES.items()
        },
    }
    FILE.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n")
