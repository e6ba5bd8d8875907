"""Measurements as data: the fields of one are all that its numbers depend on, beside the images and the net."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor

from samp.explain import explain
from samp.methods import Method, resolve_method
from samp.metrics.completeness import completeness_of
from samp.metrics.concentration import gini, top_share
from samp.metrics.deletion_insertion import deletion_insertion
from samp.metrics.protocols import PROTOCOLS
from samp_lab.setups import Setup
from samp_lab.workspace import ImagePart

Column = list[Any]
STORED_AS = {"setup": "bed"}
"""Fields whose stored name is another: keys of results.json never change."""


@dataclass(frozen=True, eq=False)
class PartResult:
    """The numbers of a measurement for the images of one part, in their order.

    `timing` is apart from `numbers` because it differs from run to run; `arrays` have one row per image.
    """

    numbers: Mapping[str, Column]
    timing: Mapping[str, Column] = field(default_factory=dict)
    arrays: Mapping[str, Tensor] = field(default_factory=dict)


class Measurement(Protocol):
    """A frozen dataclass that measures one number, or several, of each image.

    `kind` and the fields identify it; `measure` is called with one part of the images after another. `most` limits the
    number of images (None: as many as the run uses). `version` is raised whenever `measure` changes its meaning, so
    that older numbers are not reused. A measurement with `alone = True` runs while no other does.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    kind: ClassVar[str]
    version: ClassVar[int]

    @property
    def setup(self) -> Setup: ...
    @property
    def most(self) -> int | None: ...
    def measure(self, part: ImagePart) -> PartResult: ...


def spec_of(measurement: Measurement) -> dict[str, Any]:
    """Return the measurement as JSON values, which identify its result.

    >>> from samp_lab.setups import parse_setup
    >>> spec_of(MethodCurves(parse_setup("mnist"), "random"))
    {'kind': 'judged', 'bed': 'mnist', 'method': 'RandomMap()', 'protocol': None, 'most': None}
    """
    values = {f.name: _spec_value(f.name, getattr(measurement, f.name)) for f in fields(measurement)}
    return {"kind": measurement.kind, **{STORED_AS.get(name, name): value for name, value in values.items()}}


def name_of(measurement: Measurement) -> str:
    """Return `spec_of` as one line: the key of the measurement in results.json.

    >>> from samp_lab.setups import parse_setup
    >>> name_of(MethodCurves(parse_setup("mnist"), "random"))
    'judged bed=mnist method=RandomMap()'
    """
    words = spec_of(measurement)
    return " ".join([words.pop("kind"), *(f"{key}={value}" for key, value in words.items() if value is not None)])


def title_of(measurement: Measurement) -> str:
    """Return a short title for people, with those settings of a method that are not its defaults.

    >>> from samp_lab.setups import parse_setup
    >>> from samp.methods import SAMP
    >>> title_of(MethodCurves(parse_setup("mnist"), SAMP(eta=0.1)))
    'judged mnist SAMP(eta=0.1)'
    """
    method = getattr(measurement, "method", None)
    described = [] if method is None else [method if isinstance(method, str) else _changed_settings(method)]
    others = [f.name for f in fields(measurement) if f.name not in ("setup", "method", "most")]
    more = [f"{name}={getattr(measurement, name)}" for name in others if getattr(measurement, name) is not None]
    return " ".join([measurement.kind, measurement.setup.name, *described, *more])


def _changed_settings(method: Method) -> str:
    given = [(f.name, getattr(method, f.name)) for f in fields(method) if getattr(method, f.name) != f.default]  # type: ignore[arg-type]  # all methods are dataclasses
    return f"{type(method).__name__}({', '.join(f'{name}={value!r}' for name, value in given)})"


def key_of(measurement: Measurement, facts: Mapping[str, Any]) -> str:
    """Return the key under which results are cached: a hash of all they depend on."""
    full = {**spec_of(measurement), "version": measurement.version, "facts": dict(facts)}
    return hashlib.sha256(json.dumps(full, sort_keys=True).encode()).hexdigest()[:32]


def _spec_value(name: str, value: Any) -> Any:
    if isinstance(value, Setup):
        return value.name
    if name == "method":
        return repr(resolve_method(value))
    if name == "protocol" and value is not None:
        return _protocol_spec(value)
    return value if isinstance(value, str | int | float | None) else repr(value)


def _protocol_spec(name: str) -> str:
    """Return a protocol's name with its fills, so that numbers measured when the name meant other fills are not reused.

    >>> _protocol_spec("diffid")
    'diffid(fill=RemainingMean(), start=RemainingMean())'
    """
    chosen = PROTOCOLS[name]
    return f"{name}(fill={chosen.fill!r}, start={chosen.start!r})"


def to_numbers(values: Tensor) -> Column:
    """Return one number per image with seven digits, None for NaN and infinity.

    >>> to_numbers(torch.tensor([1 / 3, float("nan")]))
    [0.3333333, None]
    """
    rounded = [float(f"{value:.7g}") for value in values.detach().cpu().double().tolist()]
    return [value if value == value and abs(value) != float("inf") else None for value in rounded]


@dataclass(frozen=True)
class MethodCurves:
    """Deletion and Insertion of a method's maps, their curves, and the gradients, forwards and seconds they took.

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
