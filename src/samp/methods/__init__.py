"""Attribution methods with one signature: each is a frozen dataclass with `attribute(problem, run) -> Attribution`.

One file holds one method or one family of methods; `registry` lists them all by name. A name stands for the method with
its published settings, or the tuned ones of our own "consensus", the default, and "coupled". `table()` lists the
source, cost and guarantees of each. Modules that begin with an underscore hold what methods share: `_path_method`
(settings and walks of path methods), `_perturbation` (regions and counted scores), `_last_map`, `_feature_maps`,
`_token_maps` and `_channel_axis` (the layer for class activation maps), `_layer_model` (a model cut off at a layer),
`_classes` (classes beside the explained one), `_value_range` (bounds of a search), `_draws` (noise and sums over draws)
and `_common` (results).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from samp.methods.registry import names, resolve_method, table

if TYPE_CHECKING:
    from samp.methods._common import Method
    from samp.methods.consensus import Consensus
    from samp.methods.coupled import Coupled
    from samp.methods.ig import IG
    from samp.methods.samp import SAMP, SAMPPlusPlus

# Imported when first used: a method brings torch, and the list of methods must not.
_HOME = {
    "IG": "ig",
    "SAMP": "samp",
    "Consensus": "consensus",
    "Coupled": "coupled",
    "Method": "_common",
    "SAMPPlusPlus": "samp",
}

__all__ = ["IG", "SAMP", "Consensus", "Coupled", "Method", "SAMPPlusPlus", "names", "resolve_method", "table"]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'samp.methods' has no attribute {name!r}")
    return getattr(importlib.import_module(f"samp.methods.{_HOME[name]}"), name)
