"""Cells: what is measured, as data. Its fields say all that its numbers depend on beside the images and the net."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
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


@dataclass(frozen=True, eq=False)
class PartResult:
    """What a cell found for the images of a part, in their order.

    `timing` is kept apart from `numbers`, since it is never the same twice; `arrays` have one row per image.
    """

    numbers: Mapping[str, Column]
    timing: Mapping[str, Column] = field(default_factory=dict)
    arrays: Mapping[str, Tensor] = field(default_factory=dict)


class Measurement(Protocol):
    """One measurement: `kind` and its fields name it, `measure` makes it for some images at a time.

    `most` is how many images are wanted at most (None: as many as the run asks for), and `version` changes with what
    `measure` means, so that numbers of an older meaning are not taken for this one's. A cell with `alone = True` is
    measured while no other is.
    """

    kind: ClassVar[str]
    version: ClassVar[int]

    @property
    def bed(self) -> Setup: ...
    @property
    def most(self) -> int | None: ...
    def measure(self, part: ImagePart) -> PartResult: ...


def spec_of(cell: Measurement) -> dict[str, Any]:
    """What the cell asks for, in words that JSON can hold: the name by which its result is found.

    >>> from samp_lab.setups import parse_setup
    >>> spec_of(MethodCurves(parse_setup("mnist"), "random"))
    {'kind': 'judged', 'bed': 'mnist', 'method': 'RandomMap()', 'protocol': None, 'most': None}
    """
    settings = {f.name: _spec_value(f.name, getattr(cell, f.name)) for f in fields(cell)}  # type: ignore[arg-type]  # all cells are dataclasses
    return {"kind": cell.kind, **settings}


def name_of(cell: Measurement) -> str:
    """The same as one line.

    >>> from samp_lab.setups import parse_setup
    >>> name_of(MethodCurves(parse_setup("mnist"), "random"))
    'judged bed=mnist method=RandomMap()'
    """
    words = spec_of(cell)
    return " ".join([words.pop("kind"), *(f"{key}={value}" for key, value in words.items() if value is not None)])


def title_of(cell: Measurement) -> str:
    """The cell for people: of a method's settings only those that are not its usual ones.

    >>> from samp_lab.setups import parse_setup
    >>> from samp.methods import SAMP
    >>> title_of(MethodCurves(parse_setup("mnist"), SAMP(eta=0.1)))
    'judged mnist SAMP(eta=0.1)'
    """
    method = getattr(cell, "method", None)
    told = [] if method is None else [method if isinstance(method, str) else _changed_settings(method)]
    others = [f.name for f in fields(cell) if f.name not in ("bed", "method", "most")]  # type: ignore[arg-type]  # all cells are dataclasses
    more = [f"{name}={getattr(cell, name)}" for name in others if getattr(cell, name) is not None]
    return " ".join([cell.kind, cell.bed.name, *told, *more])


def _changed_settings(method: Method) -> str:
    given = [(f.name, getattr(method, f.name)) for f in fields(method) if getattr(method, f.name) != f.default]  # type: ignore[arg-type]  # all methods are dataclasses
    return f"{type(method).__name__}({', '.join(f'{name}={value!r}' for name, value in given)})"


def key_of(cell: Measurement, facts: Mapping[str, Any]) -> str:
    """The key its results are cached under: a hash of all they depend on."""
    full = {**spec_of(cell), "version": cell.version, "facts": dict(facts)}
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
    """A protocol by its name and its fills: numbers measured when the name meant other fills are not taken for these.

    >>> _protocol_spec("diffid")
    'diffid(fill=RemainingMean(), start=RemainingMean())'
    """
    chosen = PROTOCOLS[name]
    return f"{name}(fill={chosen.fill!r}, start={chosen.start!r})"


def to_numbers(values: Tensor) -> Column:
    """One number per image with seven digits, None where there is none.

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

    bed: Setup
    method: str | Method
    protocol: str | None = None
    """Another protocol than the bed's."""
    most: int | None = None

    def measure(self, part: ImagePart) -> PartResult:
        started = part.now()
        result = explain(part.net, part.x, target=part.target, method=self.method, seed=part.seed)
        seconds = part.now() - started
        curves = deletion_insertion(part.net, part.x, result, part.target, self.protocol or self.bed.protocol)
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

    bed: Setup
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
