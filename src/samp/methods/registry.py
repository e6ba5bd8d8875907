"""The registry of methods: the module of each, its settings on the command line, and its other names.

It does not import torch, so the command line can check its arguments quickly. A method's module is imported when the
method is first needed, and holds it under the same name in its own `METHODS`.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from samp.lookup import unknown_name

if TYPE_CHECKING:
    from samp.methods._common import Method


@dataclass(frozen=True)
class Entry:
    """A method's module, `samp.methods.<module>`, and the settings that the command line can set."""

    module: str
    settings: tuple[str, ...] = ()


_WALKS = ("steps", "direction", "baseline", "eta")
# The default comes first.
METHODS: Mapping[str, Entry] = {
    "consensus": Entry("consensus", ("quality", "walks", "steps", "noise", "direction", "baseline", "momentum")),
    "coupled": Entry("coupled", ("quality", *_WALKS, "momentum", "pixels_per_step")),
    "samp++": Entry("samp", (*_WALKS, "momentum", "pixels_per_step")),
    "samp": Entry("samp", (*_WALKS, "momentum", "pixels_per_step")),
    "ig": Entry("ig", _WALKS),
    "ig-blurred": Entry("ig", _WALKS),
    "ig-both": Entry("ig", _WALKS),
    "idgi": Entry("idgi", _WALKS),
    "blurig": Entry("blur_ig", ("steps",)),
    "guidedig": Entry("guided_ig", _WALKS),
    "spectralig": Entry("spectral_ig", ("steps", "baseline")),
    "ig2": Entry("ig2", ("steps",)),
    "agi": Entry("agi", ("steps",)),
    "pwig": Entry("path_weighted_ig", ("steps", "baseline")),
    "weightedig": Entry("weighted_ig", ("steps",)),
    "geodesicig": Entry("geodesic_ig", ("steps", "noise", "baseline")),
    "revealig": Entry("reveal_ig", ("steps", "baseline")),
    "fringe": Entry("fringe"),
    "gradient": Entry("gradient"),
    "saliency": Entry("gradient"),
    "gradientxinput": Entry("propagation"),
    "deeplift": Entry("propagation", ("baseline",)),
    "deepshap": Entry("propagation"),
    "lrp": Entry("propagation"),
    "attnlrp": Entry("propagation"),
    "libragrad": Entry("propagation"),
    "mwp": Entry("propagation"),
    "cmwp": Entry("propagation"),
    "guidedbackprop": Entry("propagation"),
    "deconvolution": Entry("propagation"),
    "cam": Entry("cam"),
    "gradcam": Entry("cam"),
    "gradcam++": Entry("cam"),
    "attentionrollout": Entry("attention"),
    "attentionrelevance": Entry("attention"),
    "smoothgrad": Entry("smoothgrad", ("noise",)),
    "rise": Entry("rise", ("baseline",)),
    "xrai": Entry("xrai", ("steps",)),
    "shapley": Entry("captum_adapters", ("baseline",)),
    "lime": Entry("captum_adapters", ("baseline",)),
    "occlusion": Entry("captum_adapters", ("baseline",)),
    "ablation": Entry("captum_adapters", ("baseline",)),
    "sobel": Entry("sobel"),
    "random": Entry("random_map"),
}
# Other names of methods, in lower case without "-", "_" and spaces, which are ignored.
ALIASES: Mapping[str, str] = {
    "sampplusplus": "samp++",
    "integratedgradients": "ig",
    "integratedgradient": "ig",
    "blurintegratedgradients": "blurig",
    "guidedintegratedgradients": "guidedig",
    "spectralintegratedgradients": "spectralig",
    "adversarialgradientintegration": "agi",
    "pathweightedig": "pwig",
    "pathweightedintegratedgradients": "pwig",
    "weightedintegratedgradients": "weightedig",
    "geodesicintegratedgradients": "geodesicig",
    "fisherraointegratedgradients": "fringe",
    "gradients": "gradient",
    "vanillagradient": "gradient",
    "vanillagradients": "gradient",
    "grad": "gradient",
    "saliencymap": "saliency",
    "inputxgradient": "gradientxinput",
    "inputxgradients": "gradientxinput",
    "gradienttimesinput": "gradientxinput",
    "inputtimesgradient": "gradientxinput",
    "gradxinput": "gradientxinput",
    "inputxgrad": "gradientxinput",
    "deepliftshap": "deepshap",
    "layerwiserelevancepropagation": "lrp",
    "attentionlrp": "attnlrp",
    "attentionawarelrp": "attnlrp",
    "rollout": "attentionrollout",
    "chefer": "attentionrelevance",
    "genericattention": "attentionrelevance",
    "excitationbackprop": "mwp",
    "contrastiveexcitationbackprop": "cmwp",
    "guidedbackpropagation": "guidedbackprop",
    "guidedbp": "guidedbackprop",
    "deconv": "deconvolution",
    "deconvnet": "deconvolution",
    "gradcamplusplus": "gradcam++",
    "gradcampp": "gradcam++",
    "smoothgradient": "smoothgrad",
    "smoothgradients": "smoothgrad",
    "shapleysampling": "shapley",
    "shapleyvaluesampling": "shapley",
    "shapleyvalues": "shapley",
    "featureablation": "ablation",
    "randommap": "random",
}
# Well-known methods that are not implemented: the error suggests a relative, which is never substituted.
RELATIVES: Mapping[str, str] = {
    "shap": "SHAP is a family: 'shapley' samples Shapley values, 'deepshap' is its method for nets",
    "kernelshap": "KernelSHAP is not here; 'shapley' samples the same Shapley values",
    "partitionshap": "PartitionSHAP is not here; 'shapley' samples Shapley values",
    "gradientshap": "GradientSHAP is not here; 'ig' is Integrated Gradients from one baseline",
    "expectedgradients": "Expected Gradients are not here; 'ig' is Integrated Gradients from one baseline",
    "guidedgradcam": "Guided Grad-CAM is not here; 'gradcam' and 'guidedbackprop' are its two factors",
    "scorecam": "Score-CAM is not here; of its family there are 'cam', 'gradcam' and 'gradcam++'",
    "layercam": "Layer-CAM is not here; of its family there are 'cam', 'gradcam' and 'gradcam++'",
    "eigencam": "Eigen-CAM is not here; of its family there are 'cam', 'gradcam' and 'gradcam++'",
    "vargrad": "VarGrad is not here; 'smoothgrad' is the mean of the same gradients",
}


def names() -> list[str]:
    """Return the names of all methods with their published settings; the default comes first.

    >>> names()[:3]
    ['consensus', 'coupled', 'samp++']
    """
    return list(METHODS)


def resolve_method(method: str | Method) -> Method:
    """Return the method of this name, also spelled "Grad-CAM" or "integrated_gradients", or the given method object.

    Raises ValueError for an unknown name, and TypeError for anything that is not a method.

    >>> resolve_method("samp")
    SAMP(pixels_per_step=None, eta=None, momentum=0.0, credit='momentum', direction='both', baseline=None, steps=None)
    """
    if isinstance(method, str):
        name = method_name(method)
        resolved: Method = importlib.import_module(f"samp.methods.{METHODS[name].module}").METHODS[name]
        return resolved
    if not callable(getattr(method, "attribute", None)) or isinstance(method, type):
        raise TypeError(f"a method is a name or an object such as samp.SAMP(), not {method!r}.")
    return method


def table() -> str:
    """Return all methods as a Markdown table.

    >>> table().splitlines()[0]
    '| name | method and its settings | source | model calls per sample | sums to the score change | made by |'
    """
    head = "| name | method and its settings | source | model calls per sample | sums to the score change | made by |"
    rows = [head, "|---|---|---|---|---|---|"]
    for name in METHODS:
        method = resolve_method(name)
        about = method.about
        by = f"{about.implementation} ({about.licence})"
        rows.append(f"| `{name}` | `{method!r}` | {about.paper} | {about.cost} | {about.complete} | {by} |")
    return "\n".join(rows)


def method_name(name: str) -> str:
    """Return the method's name in `METHODS`; raise ValueError, with the closest name first, if it is unknown.

    >>> method_name("Integrated_Gradients"), method_name("Grad-CAM++"), method_name("ig")
    ('ig', 'gradcam++', 'ig')
    """
    spelled, spellings = simplify(name), {**{simplify(known): known for known in METHODS}, **ALIASES}
    if spelled in spellings:
        return spellings[spelled]
    if spelled in RELATIVES:
        raise ValueError(f"unknown method {name!r}: {RELATIVES[spelled]}. The known ones are {', '.join(METHODS)}.")
    closest = max(spellings, key=lambda known: _likeness(known, spelled))
    meant = spellings[closest] if _likeness(closest, spelled) >= 0.6 else None
    raise unknown_name(name, METHODS, "method", meant)


def _likeness(known: str, typed: str) -> float:
    """Return how alike two spellings are, from 0 to 1; `typed` may also be the beginning of a longer name.

    >>> round(_likeness("integratedgradients", "integratd"), 2), round(_likeness("ig", "integratd"), 2)
    (0.8, 0.36)
    """
    whole = difflib.SequenceMatcher(None, known, typed).ratio()
    if not 4 <= len(typed) < len(known):
        return whole
    return max(whole, 0.9 * difflib.SequenceMatcher(None, known[: len(typed)], typed).ratio())


def simplify(name: str) -> str:
    """Return the name as `ALIASES` has it: in lower case, without "-", "_" and spaces.

    >>> simplify("Guided Grad-CAM")
    'guidedgradcam'
    """
    return name.lower().translate({ord(mark): None for mark in "-_ "})


def format_aliases() -> str:
    """Return the other names of methods, each with the one it stands for, as one line of text.

    >>> format_aliases().split(", ")[1]
    'integratedgradients (ig)'
    """
    return ", ".join(f"{other} ({known})" for other, known in ALIASES.items())
