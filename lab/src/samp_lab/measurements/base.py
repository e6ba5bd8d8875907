"""Measurements as data: the fields of one are all that its numbers depend on, beside the images and the net."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar, Protocol

from torch import Tensor

from samp.methods import Method, resolve_method
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

    >>> from samp_lab.measurements.method_maps import MethodCurves
    >>> from samp_lab.setups import parse_setup
    >>> spec_of(MethodCurves(parse_setup("mnist"), "random"))
    {'kind': 'judged', 'bed': 'mnist', 'method': 'RandomMap()', 'protocol': None, 'most': None}
    """
    values = {f.name: _spec_value(f.name, getattr(measurement, f.name)) for f in fields(measurement)}
    return {"kind": measurement.kind, **{STORED_AS.get(name, name): value for name, value in values.items()}}


def name_of(measurement: Measurement) -> str:
    """Return `spec_of` as one line: the key of the measurement in results.json.

    >>> from samp_lab.measurements.method_maps import MethodCurves
    >>> from samp_lab.setups import parse_setup
    >>> name_of(MethodCurves(parse_setup("mnist"), "random"))
    'judged bed=mnist method=RandomMap()'
    """
    words = spec_of(measurement)
    return " ".join([words.pop("kind"), *(f"{key}={value}" for key, value in words.items() if value is not None)])


def title_of(measurement: Measurement) -> str:
    """Return a short title for people, with those settings of a method that are not its defaults.

    >>> from samp_lab.measurements.method_maps import MethodCurves
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

    >>> import torch
    >>> to_numbers(torch.tensor([1 / 3, float("nan")]))
    [0.3333333, None]
    """
    rounded = [float(f"{value:.7g}") for value in values.detach().cpu().double().tolist()]
    return [value if value == value and abs(value) != float("inf") else None for value in rounded]
