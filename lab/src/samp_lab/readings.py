"""The two readings of the paper, as data: its text, and the benchmark that its first author published.

`text` is what the paper says (docs/paper.md). `authors` is what zbr17/ExplainAttr (MIT, March 2023) does where it does
otherwise: nets, inputs, blur and the settings of the rivals (docs/paper.md#two-readings). A setup names its reading
(`mnist@authors`), which chooses its net and protocol (`samp_lab.setups`) and the settings of each method here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from samp.baselines import Blurred, black
from samp.methods import IG, Method, resolve_method
from samp.methods.cam import GradCAM
from samp.methods.captum_adapters import LIME
from samp.methods.guided_ig import GuidedIG
from samp.methods.rise import RISE
from samp.methods.xrai import XRAI
from samp.metrics.fills import RISEBlur
from samp_lab.benchmark_methods import DerivativeBlurIG, SquaredNoise
from samp_lab.setups import PROTOCOL_OF, Setup

READINGS: Mapping[str, str] = {
    "text": "as the paper's text has it",
    "authors": "as its authors' benchmark has it (github.com/zbr17/ExplainAttr, March 2023)",
}
"""The readings, each with what it means."""
KERNELS = {"mnist": 11, "cifar10": 11, "imagenet": 31}
"""The width of the blur by protocol, in pixels."""


# LIME's fit, the layers of CAM and the ties of SAMP stay as they are: see docs/paper.md#two-readings.
AUTHORS: Mapping[str, Method] = {
    "ig": IG(steps=100, direction="to_baseline", credit="left"),
    "smoothgrad": SquaredNoise(samples=100, noise=0.3),
    "blurig": DerivativeBlurIG(),
    "guidedig": GuidedIG(steps=25, fraction=0.5, max_dist=1.0, score="probability"),
    "xrai": XRAI(min_size=150, score="probability"),
    "rise": RISE(masks=400, cells=8, p=0.1, score="logit", shift=False),
    "lime": LIME(samples=100, segmenter="quickshift"),
}
"""The settings of the rivals in the authors' benchmark, by the names of `samp.methods`."""
RESNET_LAYER = "layer4.2.bn3"
"""Where the benchmark takes Grad-CAM's features from, in ResNet-50."""


def method_as_read(method: str | Method, setup: Setup) -> str | Method:
    """Return the method with the settings of the setup's reading; the method itself for `text`.

    Methods that walk from the blurred image walk from the benchmark's blur, which is RISE's.

    >>> from samp_lab.setups import parse_setup
    >>> method_as_read("guidedig", parse_setup("mnist")), method_as_read("guidedig", parse_setup("mnist@authors")).steps
    ('guidedig', 25)
    >>> method_as_read("samp", parse_setup("mnist@authors")).baseline
    (Constant(value=0.0), RISEBlur(kernel=11, sigma=5.0))
    """
    if setup.reading == "text":
        return method
    if isinstance(method, str) and method in AUTHORS:
        return AUTHORS[method]
    resolved: Any = resolve_method(method)
    blur = RISEBlur(KERNELS[PROTOCOL_OF.get(setup.data.partition(":")[0], "imagenet")], 5.0)
    if isinstance(resolved, GradCAM) and setup.net.startswith("resnet50"):
        return replace(resolved, layer=RESNET_LAYER)
    baseline = getattr(resolved, "baseline", black)
    if baseline is None:
        return replace(resolved, baseline=(black, blur))  # type: ignore[no-any-return]  # a method, as it came
    if isinstance(baseline, tuple) and any(isinstance(one, Blurred) for one in baseline):
        chosen = tuple(blur if isinstance(one, Blurred) else one for one in baseline)
        return replace(resolved, baseline=chosen)  # type: ignore[no-any-return]  # a method, as it came
    return replace(resolved, baseline=blur) if isinstance(baseline, Blurred) else method
