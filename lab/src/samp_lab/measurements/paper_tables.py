"""Measurements of the paper's tables: μFidelity, seconds of single images, and sums of credit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from samp.attribution import Attribution
from samp.explain import explain
from samp.groups import Pixels
from samp.methods import Method
from samp.metrics.mu_fidelity import mu_fidelity
from samp_lab.measurements.base import Column, PartResult, to_numbers
from samp_lab.setups import Setup
from samp_lab.workspace import ImagePart

FIDELITY_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "novello": {},
    "bhatt": {"groups": Pixels(), "correlation": "pearson"},
}
"""Settings of μFidelity: those of Novello et al., whom the paper cites, and the definition of Bhatt et al."""


@dataclass(frozen=True)
class Fidelity:
    """μFidelity of a method's maps by the settings of each source (docs/paper.md#mu-fidelity: the paper gives none).

    >>> from samp_lab.setups import parse_setup
    >>> Fidelity(parse_setup("mnist"), "ig").kind, list(FIDELITY_SETTINGS)
    ('fidelity', ['novello', 'bhatt'])
    """

    kind: ClassVar[str] = "fidelity"
    version: ClassVar[int] = 1

    setup: Setup
    method: str | Method
    most: int | None = None

    def measure(self, part: ImagePart) -> PartResult:
        started = part.now()
        result = explain(part.net, part.x, target=part.target, method=self.method, seed=part.seed)
        seconds = part.now() - started
        found = {
            source: mu_fidelity(part.net, part.x, result, part.target, seed=part.seed, **settings).correlation
            for source, settings in FIDELITY_SETTINGS.items()
        }
        timing = {"seconds": _per_image(seconds, len(part.x))}
        return PartResult({source: to_numbers(correlation) for source, correlation in found.items()}, timing)


@dataclass(frozen=True)
class MethodSeconds:
    """Seconds and model calls of single images, after one call that is not counted.

    Measurements at the same time slow each other down, so these run `alone`, whatever the number of jobs.

    >>> from samp_lab.setups import parse_setup
    >>> MethodSeconds(parse_setup("mnist"), "cam").most
    20
    """

    kind: ClassVar[str] = "timed"
    version: ClassVar[int] = 1
    alone: ClassVar[bool] = True

    setup: Setup
    method: str | Method
    most: int | None = 20  # as many as a verdict needs (samp_lab.statistics.MIN_IMAGES)

    def measure(self, part: ImagePart) -> PartResult:
        self._explain_one(part, 0)  # the first call on a device also loads libraries and probes how much fits
        found: dict[str, Column] = {"gradients": [], "forwards": []}
        seconds = []
        for image in range(len(part.x)):
            started = part.now()
            result = self._explain_one(part, image)
            seconds.append(part.now() - started)
            found["gradients"] += to_numbers(result.gradients)
            found["forwards"].append(int(result.details.get("forwards") or 0))
        return PartResult(found, {"seconds": seconds})

    def _explain_one(self, part: ImagePart, image: int) -> Attribution:
        one = slice(image, image + 1)
        return explain(part.net, part.x[one], target=part.target[one], method=self.method, seed=part.seed)


@dataclass(frozen=True)
class CreditSums:
    """Σa and Δy of each direction of a method, which the completeness check correlates over images.

    >>> import samp
    >>> from samp_lab.setups import parse_setup
    >>> CreditSums(parse_setup("mnist"), samp.SAMP(eta=0.1)).kind
    'summed'
    """

    kind: ClassVar[str] = "summed"
    version: ClassVar[int] = 1

    setup: Setup
    method: str | Method
    most: int | None = None

    def measure(self, part: ImagePart) -> PartResult:
        started = part.now()
        result = explain(part.net, part.x, target=part.target, method=self.method, seed=part.seed)
        seconds = part.now() - started
        if not result.residual_by_direction:
            raise ValueError(f"the credit of {result.method} sums to no change of the score: take a path method.")
        found: dict[str, Column] = {}
        for direction, residual in result.residual_by_direction.items():
            change = result.score_change[direction]
            found[f"credit {direction}"] = to_numbers(change - residual)
            found[f"change {direction}"] = to_numbers(change)
        found["gradients"] = to_numbers(result.gradients)
        return PartResult(found, {"seconds": _per_image(seconds, len(part.x))})


def _per_image(seconds: float, count: int) -> Column:
    return [seconds / count] * count
