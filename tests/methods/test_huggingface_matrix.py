"""Every method on a vision transformer of transformers as it is: it works, and sums where it says so, or refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

import huggingface_nets
import samp
from samp import methods

REFUSED = {
    "lrp": "has no rule for the operation layer_norm: use .*'attnlrp'",
    "mwp": "has no rule for the operation layer_norm: use a method that needs only gradients, such as 'consensus'",
    "cmwp": "has no rule for the operation layer_norm: use a method that needs only gradients, such as 'consensus'",
    "guidedbackprop": "changes the gradient at ReLUs only, and this model has none: use 'gradientxinput', 'deeplift'",
    "deconvolution": "changes the gradient at ReLUs only, and this model has none: use 'gradientxinput', 'deeplift'",
    "cam": "needs a global average or max pool and one linear layer behind 'vit.layers.1.layernorm_before'.*'gradcam'",
}
# what a walk's quadrature leaves of the sum, as a share of all credit; the others sum to rounding (Captum's float32)
QUADRATURE = {"ig": 1e-4, "ig-blurred": 1e-4, "ig-both": 1e-4, "blurig": 1e-3, "guidedig": 1e-3, "spectralig": 2e-3}
CHEAPER: dict[str, dict[str, Any]] = {
    "shapley": {"samples": 2, "patch": 8},
    "rise": {"masks": 200},
    "ig2": {"steps": 21},
    "xrai": {"steps": 10},
    "lime": {"samples": 100},
}
COMPLETE = ("exactly", "yes", "f(x) − ")
IGNORES_THE_TARGET = ("sobel", "random", "attentionrollout")
NEEDS = {"lime": "sklearn", "shapley": "captum", "ablation": "captum", "occlusion": "captum", "xrai": "skimage"}


@pytest.mark.parametrize("name", methods.names())
def test_every_method_on_a_raw_vit_works_or_refuses_with_a_sentence(name: str) -> None:
    pytest.importorskip(NEEDS.get(name, "torch"))
    net, x = huggingface_nets.build("vit"), huggingface_nets.photos()
    method = replace(methods.resolve_method(name), **CHEAPER.get(name, {}))  # type: ignore[type-var]  # methods are dataclasses
    if name in REFUSED:
        with pytest.raises((ValueError, NotImplementedError), match=REFUSED[name]):
            samp.explain(net, x, target=1, method=method)
        return
    result = samp.explain(net, x, target=1, method=method)
    assert isinstance(result.values, torch.Tensor)
    assert result.values.shape == x.shape
    assert bool(result.values.any())
    if name not in IGNORES_THE_TARGET:
        assert not torch.equal(samp.explain(net, x, target=2, method=method).values, result.values)
    if method.about.complete.startswith(COMPLETE) or name in QUADRATURE:
        share = float(result.residual.abs().max()) / float(result.values.abs().sum())
        assert share < QUADRATURE.get(name, 1e-7), share
