"""The methods of the leaderboard by their names there; " (fast)" after a name asks for the same at `speed="fast"`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor, nn

import samp
from samp.fast import Speed
from samp.lookup import look_up
from samp.methods import Method, resolve_method
from samp.methods.consensus import Consensus
from samp.metrics import explain_maps_by, map_agreement
from samp.metrics.explain_maps import ExplainMaps
from samp_lab.path_rivals import PATH_RIVALS

METHODS: Mapping[str, str | Method] = {
    "consensus": Consensus(),
    "consensus, fine": Consensus("fine"),
    "consensus, draft": Consensus("draft"),
    "coupled": samp.Coupled(),
    "coupled, fine": samp.Coupled("fine"),
    "SAMP++": "samp++",
    "SAMP++, η 0.02": samp.SAMPPlusPlus(eta=0.02),
    "IG": "ig",
    "IDGI": "idgi",
    "Guided IG": "guidedig",
    "Blur IG": "blurig",
    "SmoothGrad": "smoothgrad",
    "Grad-CAM": "gradcam",
    "gradient × input": "gradientxinput",
    "Sobel": "sobel",
    "random": "random",
}
TRANSFORMER_RIVALS: Mapping[str, str | Method] = {
    "AttnLRP": "attnlrp",
    "attention relevance": "attentionrelevance",
    "attention rollout": "attentionrollout",
    "LibraGrad": "libragrad",
}
# Too dear to be there by default, or for some nets alone; `--methods` takes their names too.
ON_REQUEST: Mapping[str, str | Method] = {
    "Spectral IG": "spectralig",
    "IG2": "ig2",
    **PATH_RIVALS,
    **TRANSFORMER_RIVALS,
}
FAST = " (fast)"
CELL = 8  # pixels a side


@dataclass(frozen=True)
class Contestant:
    """A method at one speed, as the panel judges it."""

    method: Method
    speed: Speed = "exact"

    def explain(self, model: nn.Module, x: Tensor, target: Tensor, seed: int) -> samp.Attribution:
        return samp.explain(model, x, target=target, method=self.method, seed=seed, speed=self.speed)

    @property
    def explain_maps(self) -> ExplainMaps:
        """The callable by which judges explain again."""
        return explain_maps_by(self.method, speed=self.speed)


@dataclass(frozen=True)
class Likeness:
    """Mean rank correlation of the exact and the fast map of a photo, by pixels and by cells of 8 × 8."""

    pixels: float
    cells: float


def compare_maps(maps: Mapping[str, Tensor]) -> dict[str, Likeness]:
    """Return how alike the maps (b h w) of each method are that is there at both speeds.

    >>> import torch
    >>> same = torch.rand(1, 16, 16)
    >>> compare_maps({"ig": same, "ig (fast)": same, "random": same})
    {'ig': Likeness(pixels=1.0, cells=1.0)}
    """
    found = {}
    for name in (name for name in maps if f"{name}{FAST}" in maps):
        alike = (map_agreement(maps[name], maps[f"{name}{FAST}"], size).spearman for size in (1, CELL))
        found[name] = Likeness(*(round(float(one.nanmean()), 6) for one in alike))
    return found


def find_contestant(name: str) -> Contestant:
    """Return the contestant of this name; raise ValueError if there is none.

    >>> find_contestant("coupled").speed, find_contestant("coupled (fast)").speed
    ('exact', 'fast')
    """
    method = resolve_method(look_up(name.removesuffix(FAST), {**METHODS, **ON_REQUEST}, "method"))
    return Contestant(method, "fast" if name.endswith(FAST) else "exact")
