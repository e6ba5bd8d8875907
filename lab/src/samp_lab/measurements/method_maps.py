"""Measurements of a method's maps: Deletion and Insertion, as in most tables; and the maps themselves, for figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from samp.explain import explain
from samp.methods import Method
from samp.metrics.completeness import completeness_of
from samp.metrics.concentration import gini, top_share
from samp.metrics.deletion_insertion import deletion_insertion
from samp_lab.measurements.base import PartResult, to_numbers
from samp_lab.measurements.map_grain import mean_frequency
from samp_lab.measurements.straightness import straightness
from samp_lab.setups import Setup
from samp_lab.workspace import ImagePart


@dataclass(frozen=True)
class MethodCurves:
    """Deletion and Insertion of a method's maps, their curves, and the gradients, forwards and seconds they took.

    `line fit` and `line gap` say how straight each curve is (`samp_lab.measurements.straightness`), `frequency` how
    fine the map is (`samp_lab.measurements.map_grain`).

    >>> from samp_lab.setups import parse_setup
    >>> MethodCurves(parse_setup("mnist"), "samp++").kind
    'judged'
    """

    kind: ClassVar[str] = "judged"
    version: ClassVar[int] = 2

    setup: Setup
    method: str | Method
    protocol: str | None = None
    """Instead of the setup's protocol."""
    most: int | None = None

    def measure(self, part: ImagePart) -> PartResult:
        started = part.now()
        result = explain(part.net, part.x, target=part.target, method=self.method, seed=part.seed)
        seconds = part.now() - started
        curves = deletion_insertion(part.net, part.x, result, part.target, self.protocol or self.setup.protocol)
        found = {
            "deletion": to_numbers(curves.deletion),
            "insertion": to_numbers(curves.insertion),
            "gradients": to_numbers(result.gradients),
            "forwards": [int(result.details.get("forwards") or 0)] * len(part.x),
        }
        for name, series in (("deletion", curves.deletion_curve), ("insertion", curves.insertion_curve)):
            line = straightness(series.detach(), curves.shares)
            found[f"line fit {name}"] = to_numbers(line.fit)
            found[f"line gap {name}"] = to_numbers(line.gap)
        found["frequency"] = to_numbers(mean_frequency(result.map.detach()))
        if result.residual_by_direction:
            found["completeness_error"] = to_numbers(completeness_of(result)["both"].relative)
        curve = {"deletion": curves.deletion_curve, "insertion": curves.insertion_curve}
        curve["shares"] = curves.shares.to(curves.deletion_curve).expand_as(curves.deletion_curve)
        arrays = {name: values.detach().float().cpu() for name, values in curve.items()}  # b k each
        return PartResult(found, {"seconds": [seconds / len(part.x)] * len(part.x)}, arrays)


@dataclass(frozen=True)
class MethodMaps:
    """A method's maps themselves (b h w), for figures, with how concentrated they are.

    >>> from samp_lab.setups import parse_setup
    >>> MethodMaps(parse_setup("photos"), "samp++", most=4).most
    4
    """

    kind: ClassVar[str] = "mapped"
    version: ClassVar[int] = 2

    setup: Setup
    method: str | Method
    most: int | None = None
    target: int | None = None
    """A class for all images instead of the predicted one."""

    def measure(self, part: ImagePart) -> PartResult:
        target = part.target if self.target is None else torch.full_like(part.target, self.target)
        started = part.now()
        result = explain(part.net, part.x, target=target, method=self.method, seed=part.seed)
        seconds = part.now() - started
        maps = result.map.detach().float().cpu()
        found = {
            "sum": to_numbers(maps.flatten(1).sum(1)),
            "gini": to_numbers(gini(maps)),
            "top10": to_numbers(top_share(maps)),
        }
        return PartResult(found, {"seconds": [seconds / len(maps)] * len(maps)}, {"map": maps})
