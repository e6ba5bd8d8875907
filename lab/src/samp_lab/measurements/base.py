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
from samp.methods import Method, named
from samp.metrics.completeness import completeness_of
from samp.metrics.concentration import gini, top_share
from samp.metrics.deletion_insertion import deletion_insertion
from samp.metrics.protocols import PROTOCOLS
from samp_lab.setups import Bed
from samp_lab.workspace import Part

Column = list[Any]


@dataclass(frozen=True, eq=False)
class Measured:
    """What a cell found for the images of a part, in their order.

    `timing` is kept apart from `numbers`, since it is never the same twice; `arrays` have one row per image.
    """

    numbers: Mapping[str, Column]
    timing: Mapping[str, Column] = field(default_factory=dict)
    arrays: Mapping[str, Tensor] = field(default_factory=dict)


class Cell(Protocol):
    """One measurement: `kind` and its fields name it, `measure` makes it for some images at a time.

    `most` is how many images are wanted at most (None: as many as the run asks for), and `version` changes with what
    `measure` means, so that numbers of an older meaning are not taken for this one's. A cell with `alone = True` is
    measured while no other is.
    """

    kind: ClassVar[str]
    version: ClassVar[int]

    @property
    def bed(self) -> Bed: ...
    @property
    def most(self) -> int | None: ...
    def measure(self, part: Part) -> Measured: ...


def asked(cell: Cell) -> dict[str, Any]:
    """What the cell asks for, in words that JSON can hold: the name by which its result is found.

    >>> from samp_lab.setups import bed
    >>> asked(Judged(bed("mnist"), "random"))
    {'kind': 'judged', 'bed': 'mnist', 'method': 'RandomMap()', 'protocol': None, 'most': None}
    """
    settings = {f.name: _words(f.name, getattr(cell, f.name)) for f in fields(cell)}  # type: ignore[arg-type]  # all cells are dataclasses
    return {"kind": cell.kind, **settings}


def name_of(cell: Cell) -> str:
    """The same as one line.

    >>> from samp_lab.setups import bed
    >>> name_of(Judged(bed("mnist"), "random"))
    'judged bed=mnist method=RandomMap()'
    """
    words = asked(cell)
    return " ".join([words.pop("kind"), *(f"{key}={value}" for key, value in words.items() if value is not None)])


def title_of(cell: Cell) -> str:
    """The cell for people: of a method's settings only those that are not its usual ones.

    >>> from samp_lab.setups import bed
    >>> from samp.methods import SAMP
    >>> title_of(Judged(bed("mnist"), SAMP(eta=0.1)))
    'judged mnist SAMP(eta=0.1)'
    """
    method = getattr(cell, "method", None)
    told = [] if method is None else [method if isinstance(method, str) else _unusual(method)]
    others = [f.name for f in fields(cell) if f.name not in ("bed", "method", "most")]  # type: ignore[arg-type]  # all cells are dataclasses
    more = [f"{name}={getattr(cell, name)}" for name in others if getattr(cell, name) is not None]
    return " ".join([cell.kind, cell.bed.name, *told, *more])


def _unusual(method: Method) -> str:
    given = [(f.name, getattr(method, f.name)) for f in fields(method) if getattr(method, f.name) != f.default]  # type: ignore[arg-type]  # all methods are dataclasses
    return f"{type(method).__name__}({', '.join(f'{name}={value!r}' for name, value in given)})"


def key_of(cell: Cell, facts: Mapping[str, Any]) -> str:
    """The key its results are cached under: a hash of all they depend on."""
    full = {**asked(cell), "version": cell.version, "facts": dict(facts)}
    return hashlib.sha256(json.dumps(full, sort_keys=True).encode()).hexdigest()[:32]


def _words(name: str, value: Any) -> Any:
    if isinstance(value, Bed):
        return value.name
    if name == "method":
        return repr(named(value))
    if name == "protocol" and value is not None:
        return _protocol_words(value)
    return value if isinstance(value, str | int | float | None) else repr(value)


def _protocol_words(name: str) -> str:
    """A protocol by its name and its fills: numbers measured when the name meant other fills are not taken for these.

    >>> _protocol_words("diffid")
    'diffid(fill=RemainingMean(), start=RemainingMean())'
    """
    chosen = PROTOCOLS[name]
    return f"{name}(fill={chosen.fill!r}, start={chosen.start!r})"


def numbers(values: Tensor) -> Column:
    """One number per image with seven digits, None where there is none.

    >>> numbers(torch.tensor([1 / 3, float("nan")]))
    [0.3333333, None]
    """
    rounded = [float(f"{value:.7g}") for value in values.detach().cpu().double().tolist()]
    return [value if value == value and abs(value) != float("inf") else None for value in rounded]


@dataclass(frozen=True)
class Judged:
    """Deletion and Insertion of a method's maps, their curves, and the gradients, forwards and seconds they took.

    >>> from samp_lab.setups import bed
    >>> Judged(bed("mnist"), "samp++").kind
    'judged'
    """

    kind: ClassVar[str] = "judged"
    version: ClassVar[int] = 2

    bed: Bed
    method: str | Method
    protocol: str | None = None
    """Another protocol than the bed's."""
    most: int | None = None

    def measure(self, part: Part) -> Measured:
        started = part.now()
        result = explain(part.net, part.x, target=part.target, method=self.method, seed=part.seed)
        seconds = part.now() - started
        curves = deletion_insertion(part.net, part.x, result, part.target, self.protocol or self.bed.protocol)
        found = {
            "deletion": numbers(curves.deletion),
            "insertion": numbers(curves.insertion),
            "gradients": numbers(result.gradients),
            "forwards": [int(result.details.get("forwards") or 0)] * len(part.x),
        }
        if result.residual_by_direction:
            found["completeness_error"] = numbers(completeness_of(result)["both"].relative)
        curve = {"deletion": curves.deletion_curve, "insertion": curves.insertion_curve}
        curve["shares"] = curves.shares.to(curves.deletion_curve).expand_as(curves.deletion_curve)
        arrays = {name: values.detach().float().cpu() for name, values in curve.items()}  # b k each
        return Measured(found, {"seconds": [seconds / len(part.x)] * len(part.x)}, arrays)


@dataclass(frozen=True)
class Mapped:
    """A method's maps themselves (b h w), for figures, with how concentrated they are.

    >>> from samp_lab.setups import bed
    >>> Mapped(bed("photos"), "samp++", most=4).most
    4
    """

    kind: ClassVar[str] = "mapped"
    version: ClassVar[int] = 2

    bed: Bed
    method: str | Method
    most: int | None = None
    target: int | None = None
    """A class for all images instead of the predicted one."""

    def measure(self, part: Part) -> Measured:
        target = part.target if self.target is None else torch.full_like(part.target, self.target)
        started = part.now()
        result = explain(part.net, part.x, target=target, method=self.method, seed=part.seed)
        seconds = part.now() - started
        maps = result.map.detach().float().cpu()
        found = {"sum": numbers(maps.flatten(1).sum(1)), "gini": numbers(gini(maps)), "top10": numbers(top_share(maps))}
        return Measured(found, {"seconds": [seconds / len(maps)] * len(maps)}, {"map": maps})
