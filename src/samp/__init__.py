"""samp: attributions that are clear, rigorous and fast, by choosing the integration path.

>>> import torch, samp
>>> model = torch.nn.Linear(4, 2).eval()
>>> samp.explain(model, torch.rand(1, 4), target=0).values.shape
torch.Size([1, 4])
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from samp.arguments import ForAll, PerSample
    from samp.attribution import Attribution, Tape
    from samp.comparison import Compared, compare
    from samp.door import explain
    from samp.finite import NonFiniteError
    from samp.groups import Elements, Patches, Pixels
    from samp.methods import IG, SAMP, Coupled, SAMPPlusPlus
    from samp.runs.door import run

# Public names are imported when first used, so that `samp --help` need not wait for torch.
_HOME = {
    "explain": "samp.door",
    "compare": "samp.comparison",
    "Compared": "samp.comparison",
    "Attribution": "samp.attribution",
    "Tape": "samp.attribution",
    "NonFiniteError": "samp.finite",
    "Elements": "samp.groups",
    "Patches": "samp.groups",
    "PerSample": "samp.arguments",
    "ForAll": "samp.arguments",
    "Pixels": "samp.groups",
    "run": "samp.runs.door",
    "Coupled": "samp.methods",
    "IG": "samp.methods",
    "SAMP": "samp.methods",
    "SAMPPlusPlus": "samp.methods",
}
_MODULES = (
    "baselines",
    "captum",
    "credit",
    "datasets",
    "groups",
    "methods",
    "metrics",
    "models",
    "photos",
    "player",
    "plots",
    "quantus",
    "runs",
)

__all__ = [
    "IG",
    "SAMP",
    "Attribution",
    "Compared",
    "Coupled",
    "Elements",
    "ForAll",
    "NonFiniteError",
    "Patches",
    "PerSample",
    "Pixels",
    "SAMPPlusPlus",
    "Tape",
    "compare",
    "explain",
    "run",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"samp.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'samp' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES, "__version__"])
