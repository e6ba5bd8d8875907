"""samp: attributions that are clear, rigorous and fast, by choosing the integration path.

>>> import torch, samp
>>> model = torch.nn.Linear(4, 2).eval()
>>> samp.explain(model, torch.rand(1, 4), target=0).values.shape
torch.Size([1, 4])
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from samp.attribution import Attribution, Tape
    from samp.batch.run import run
    from samp.compare import Compared, compare
    from samp.engine.forward_args import ForAll, PerSample
    from samp.engine.watch import WalkStep
    from samp.errors import NonFiniteError
    from samp.explain import explain
    from samp.gradual import explain_gradually
    from samp.groups import Elements, Patches, Pixels, Superpixels
    from samp.methods import IG, SAMP, Consensus, Coupled, SAMPPlusPlus
    from samp.methods.cam import CAM, GradCAM
    from samp.targets import Margin

# Public names are imported when first used, so that `samp --help` need not wait for torch.
_HOME = {
    "explain": "samp.explain",
    "explain_gradually": "samp.gradual",
    "compare": "samp.compare",
    "Compared": "samp.compare",
    "Attribution": "samp.attribution",
    "Tape": "samp.attribution",
    "Margin": "samp.targets",
    "NonFiniteError": "samp.errors",
    "Elements": "samp.groups",
    "Patches": "samp.groups",
    "Superpixels": "samp.groups",
    "PerSample": "samp.engine.forward_args",
    "WalkStep": "samp.engine.watch",
    "ForAll": "samp.engine.forward_args",
    "Pixels": "samp.groups",
    "run": "samp.batch.run",
    "CAM": "samp.methods.cam",
    "Consensus": "samp.methods",
    "Coupled": "samp.methods",
    "GradCAM": "samp.methods.cam",
    "IG": "samp.methods",
    "SAMP": "samp.methods",
    "SAMPPlusPlus": "samp.methods",
}
# Modules that are reached as `samp.NAME`, whatever folder they lie in.
_MODULES = {
    "annotations": "samp.annotations",
    "baselines": "samp.baselines",
    "batch": "samp.batch",
    "callables": "samp.integrations.callables",
    "captum": "samp.integrations.captum",
    "credit": "samp.engine.credit",
    "groups": "samp.groups",
    "images": "samp.images",
    "methods": "samp.methods",
    "metrics": "samp.metrics",
    "models": "samp.models",
    "player": "samp.html.player",
    "plots": "samp.plots",
    "quantus": "samp.integrations.quantus",
    "region": "samp.region",
    "targets": "samp.targets",
    "text": "samp.text",
}

__all__ = [
    "CAM",
    "IG",
    "SAMP",
    "Attribution",
    "Compared",
    "Consensus",
    "Coupled",
    "Elements",
    "ForAll",
    "GradCAM",
    "Margin",
    "NonFiniteError",
    "Patches",
    "PerSample",
    "Pixels",
    "SAMPPlusPlus",
    "Superpixels",
    "Tape",
    "WalkStep",
    "compare",
    "explain",
    "explain_gradually",
    "run",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name not in _HOME:
        raise AttributeError(f"module 'samp' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES, "__version__"])


class _Package(ModuleType):
    """This package, in which `samp.explain` is the function, also once the module of that name is imported.

    Python binds a module to its package under its own name when it is imported, whoever imports it.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        ours = name in _HOME and isinstance(value, ModuleType)
        super().__setattr__(name, getattr(value, name) if ours else value)


sys.modules[__name__].__class__ = _Package
