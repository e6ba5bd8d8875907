"""The names of all methods, and other names for them, without importing torch.

The command line checks what was typed by these lists before anything heavy is loaded. `samp.methods` holds the methods
themselves; a test sees to it that both have the same names and settings.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from samp.names import unknown_name

_WALKS = ("direction", "baseline", "eta")
# Each method, with those of its settings that the command line can set. The default comes first.
METHODS: Mapping[str, tuple[str, ...]] = {
    "coupled": ("quality", *_WALKS, "momentum", "pixels_per_step"),
    "samp++": (*_WALKS, "momentum", "pixels_per_step"),
    "samp": (*_WALKS, "momentum", "pixels_per_step"),
    "ig": _WALKS,
    "ig-blurred": _WALKS,
    "ig-both": _WALKS,
    "idgi": _WALKS,
    "blurig": (),
    "guidedig": _WALKS,
    "spectralig": ("baseline",),
    "ig2": (),
    "gradient": (),
    "saliency": (),
    "gradientxinput": (),
    "deeplift": ("baseline",),
    "deepshap": (),
    "lrp": (),
    "mwp": (),
    "cmwp": (),
    "guidedbackprop": (),
    "deconvolution": (),
    "cam": (),
    "gradcam": (),
    "gradcam++": (),
    "smoothgrad": (),
    "rise": ("baseline",),
    "xrai": (),
    "shapley": ("baseline",),
    "lime": ("baseline",),
    "occlusion": ("baseline",),
    "ablation": ("baseline",),
    "random": (),
}
# What else these methods are called, in small letters without "-", "_" and spaces: those make no difference.
ALIASES: Mapping[str, str] = {
    "sampplusplus": "samp++",
    "integratedgradients": "ig",
    "integratedgradient": "ig",
    "blurintegratedgradients": "blurig",
    "guidedintegratedgradients": "guidedig",
    "spectralintegratedgradients": "spectralig",
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
# Well-known methods that are not here. A relative's map would be another method's, so it is named and not taken.
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


def method_name(name: str) -> str:
    """Return the name by which samp knows this method; raise ValueError, with the closest first, if it does not.

    >>> method_name("Integrated_Gradients"), method_name("Grad-CAM++"), method_name("ig")
    ('ig', 'gradcam++', 'ig')
    """
    spelled, spellings = simplify(name), {**{simplify(known): known for known in METHODS}, **ALIASES}
    if spelled in spellings:
        return spellings[spelled]
    if spelled in RELATIVES:
        raise ValueError(f"unknown method {name!r}: {RELATIVES[spelled]}. The known ones are {', '.join(METHODS)}.")
    close = difflib.get_close_matches(spelled, spellings, 1, 0.6)
    raise unknown_name(name, METHODS, "method", spellings[close[0]] if close else None)


def simplify(name: str) -> str:
    """Return the name as `ALIASES` has it: in small letters, without "-", "_" and spaces.

    >>> simplify("Guided Grad-CAM")
    'guidedgradcam'
    """
    return name.lower().translate({ord(mark): None for mark in "-_ "})


def other_names() -> str:
    """Return the other names of methods, each with the one it stands for, as a line for people.

    >>> other_names().split(", ")[1]
    'integratedgradients (ig)'
    """
    return ", ".join(f"{other} ({known})" for other, known in ALIASES.items())
