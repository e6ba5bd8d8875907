"""Every method behind one signature: a frozen dataclass with `attribute(problem, run) -> Attribution`.

A name stands for the method with its published settings, or as tuned where it is ours ("coupled", the default);
`table()` says of each where it comes from, what it costs and what it promises.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from samp.methods.registry import names, resolve_method, table

if TYPE_CHECKING:
    from samp.methods._common import Method
    from samp.methods.coupled import Coupled
    from samp.methods.ig import IG
    from samp.methods.samp import SAMP, SAMPPlusPlus

# Imported when first used: a method brings torch, and the list of methods must not.
_HOME = {"IG": "ig", "SAMP": "samp", "Coupled": "coupled", "Method": "_common", "SAMPPlusPlus": "samp"}

__all__ = ["IG", "SAMP", "Coupled", "Method", "SAMPPlusPlus", "names", "resolve_method", "table"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'samp.methods' has no attribute {name!r}")
    return getattr(importlib.import_module(f"samp.methods.{_HOME[name]}"), name)
