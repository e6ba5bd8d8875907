"""Methods side by side on the same samples: maps, curves, metrics and cost of each (`samp.compare_columns`)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from torch import Tensor

from samp.attribution import Attribution
from samp.compare_columns import COLUMNS, Column, Measurement
from samp.compare_panel import Judges, check_judges, judge_rows
from samp.data_frames import make_frame
from samp.devices import synchronize
from samp.engine.batches import BatchSize
from samp.engine.inputs import Inputs, as_tensors, preview_inputs
from samp.explain import explain
from samp.groups import Groups, Pixels, looks_channels_last
from samp.lookup import look_up
from samp.methods import Method, resolve_method
from samp.metrics import protocols
from samp.metrics.completeness import completeness_of
from samp.metrics.concentration import Concentration, concentration
from samp.metrics.deletion_insertion import Curves, GivenProtocol, deletion_insertion
from samp.metrics.masked_forward import ScoringOptions, open_scorer
from samp.metrics.panel_result import Panel
from samp.metrics.protocols import Protocol
from samp.preview import Preview
from samp.progress import JointBar
from samp.targets import Model, Target

if TYPE_CHECKING:
    from pandas import DataFrame

EXPLAINING = 0.5  # share of a method's part of the bar; the rest is for its curves
Methods = Sequence[str | Method] | Mapping[str, str | Method]


def compare(
    model: Model,
    inputs: Inputs,
    methods: Methods,
    target: Target = None,
    protocol: GivenProtocol = None,
    *,
    groups: Groups | None = None,
    judges: Judges = None,
    forward_args: object = (),
    batch_size: BatchSize = "auto",
    progress: bool = False,
    seed: int = 0,
) -> Compared:
    """Return a row for each method: maps, Deletion and Insertion, completeness error, concentration, time, model calls.

    - `methods`: names or objects such as `samp.SAMP(eta=0.1)`, or {label: one of these}.
    - `protocol`: of Deletion and Insertion, as in `samp.metrics.deletion_insertion`; by default the paper's for this
      input size.
    - `judges`: "panel" also gives the maps to all judges of `samp.metrics.panel` that need no truth and no other net,
      a list to those it names; `Compared.panel` has what they say. That takes some 600 forwards and four more
      explanations a method and image of 224 × 224 pixels.
    - The other arguments are those of `samp.explain`. Without a target, the class is predicted once, for all methods.

    An error of a method is raised with a note that names the method. For differences over many samples, with intervals
    and p-values, pass two rows' `curves.insertion` to `samp.metrics.compare_pairs`.

    >>> import torch
    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 5)).eval()
    >>> compared = compare(net, torch.rand(2, 3, 4, 4), ["samp++", "ig", "random"])
    >>> [row.name for row in compared.rows], compared["ig"].curves.deletion.shape
    (['samp++', 'ig', 'random'], torch.Size([2]))
    >>> compared["random"].completeness_error is None, compared["ig"].gradients.tolist()
    (True, [51, 51])
    """
    check_judges(judges)
    chosen = label_methods(methods)
    settings = ScoringOptions(forward_args, batch_size, progress, seed)
    with JointBar(len(chosen), "method", bool(progress)) as bar:
        with bar.piece("predicting", size=0):
            task = make_task(model, inputs, target, protocol, groups=groups, settings=settings)
        rows = tuple(task.measure(name, method, bar) for name, method in chosen.items())
    return Compared(rows, None if judges is None else judge_rows(task, rows, chosen, judges))


@dataclass(frozen=True, eq=False)
class Row:
    """One method's maps and their measurements.

    >>> import torch
    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 5)).eval()
    >>> row = compare(net, torch.rand(2, 3, 4, 4), ["ig"]).rows[0]
    >>> row.numbers(sample=0)["gradients"], row.forwards, row.uses_model
    (51.0, 0, True)
    """

    name: str
    attribution: Attribution
    curves: Curves
    completeness_error: Tensor | None
    """b: |residual| over |change of the score|; None for a method whose credit need not sum to it."""
    concentration: Concentration
    seconds: float
    """Wall time of explaining all samples, without the metrics."""
    measurements: Mapping[str, Measurement] = field(default_factory=dict, repr=False)
    """The numbers of each of `COLUMNS`, by its key."""

    @property
    def gradients(self) -> Tensor:
        """b: value-and-gradient evaluations spent on each sample."""
        return self.attribution.gradients

    @property
    def forwards(self) -> int:
        """Further evaluations without a gradient spent on each sample; those of the metrics are not counted."""
        return int(self.attribution.details.get("forwards") or 0)

    @property
    def uses_model(self) -> bool:
        """Whether the maps took any model call; those of "random" took none, and serve as a floor for the others."""
        return bool(self.forwards or (self.gradients > 0).any())

    def numbers(self, sample: int | None = None) -> dict[str, float | None]:
        """Return a number for each key of `COLUMNS`: one sample's, or the mean of the finite ones; None without any.

        Seconds are those of all samples together.
        """
        return {key: _number(values, sample) for key, values in self.measurements.items()}


@dataclass(frozen=True, eq=False, repr=False)
class Compared:
    """The result of `compare`: a row for each method, in the given order.

    >>> import torch
    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 5)).eval()
    >>> compared = compare(net, torch.rand(2, 3, 4, 4), {"ours": "consensus", "theirs": "ig"})
    >>> compared.names, compared.protocol.name, compared.table().splitlines()[0][:32]
    (('ours', 'theirs'), 'cifar10', '| method | deletion ↓ | insertio')
    """

    rows: tuple[Row, ...]
    panel: Panel | None = None
    """What the judges say, if any were asked for."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(row.name for row in self.rows)

    @property
    def protocol(self) -> Protocol:
        """The protocol of Deletion and Insertion."""
        return self.rows[0].curves.protocol

    def __getitem__(self, name: str) -> Row:
        return look_up(name, {row.name: row for row in self.rows}, "row")

    def __repr__(self) -> str:
        return f"Compared({', '.join(self.names)} on {len(self.rows[0].gradients)} samples; {self.protocol})"

    def _repr_html_(self) -> str:
        from samp.display import compared_html

        return compared_html(self)

    def to_pandas(self, sample: int | None = None) -> DataFrame:
        """Return `table` as a table of pandas, a line for each method; NaN where a method has no number."""
        return make_frame([{"method": row.name, **row.numbers(sample)} for row in self.rows], index="method")

    def best(self, column: Column, sample: int | None = None) -> set[str]:
        """Return the names of the methods with the best value of a column; empty if all are equal.

        A map made without the model (`random`) is never among them.
        """
        if column.better is None:
            return set()
        values = {row.name: row.numbers(sample)[column.key] for row in self.rows if row.uses_model}
        known = {name: value for name, value in values.items() if value is not None}
        goal = (min if column.better == "lower" else max)(known.values(), default=None)
        best = {name for name, value in known.items() if value == goal}
        return set() if len(best) == len(known) > 1 else best

    def table(self, sample: int | None = None) -> str:
        """Return a Markdown table of the means over all samples, or of one sample; arrows show what is better."""
        rows = [["method", *(column.heading_with_arrow for column in COLUMNS)], ["---"] * (len(COLUMNS) + 1)]
        for row in self.rows:
            numbers = row.numbers(sample)
            rows.append([row.name, *(column.format_value(numbers[column.key]) for column in COLUMNS)])
        return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


@dataclass(frozen=True, eq=False)
class Task:
    """The part of a comparison that all methods share: model, samples, class to explain and protocol."""

    model: Model
    inputs: Inputs
    target: Target
    protocol: Protocol
    groups: Groups | None
    settings: ScoringOptions
    preview: Preview | None = None
    """What all results keep of the inputs, and names of classes, for pictures."""

    def measure(self, name: str, method: Method, bar: JointBar | None = None) -> Row:
        """Return the method's row, under this name; an error gets a note that names the method."""
        try:
            return self._measure(name, method, bar or JointBar(1, "method", show=False))
        except Exception as error:
            error.add_note(f"while comparing, in {name}")
            raise

    def _measure(self, name: str, method: Method, bar: JointBar) -> Row:
        options = vars(self.settings)
        started = self._now()
        with bar.piece(name, size=EXPLAINING):
            result = explain(self.model, self.inputs, target=self.target, method=method, groups=self.groups, **options)
        result = replace(result, preview=self.preview or result.preview)
        seconds = self._now() - started
        with bar.piece(f"{name}, its curves", size=1 - EXPLAINING):
            curves = deletion_insertion(self.model, self.inputs, result, self.target, self.protocol, **options)
        error = completeness_of(result)["both"].relative if result.residual_by_direction else None
        row = Row(name, result, curves, error, concentration(result), seconds)
        return replace(row, measurements={column.key: column.measure(self, row) for column in COLUMNS})

    def _now(self) -> float:
        """Return the time after the device has finished its work."""
        first = self.inputs if isinstance(self.inputs, Tensor) else self.inputs[0]
        synchronize(first.device)
        return time.perf_counter()


def make_task(
    model: Model,
    inputs: Inputs,
    target: Target,
    protocol: GivenProtocol,
    *,
    groups: Groups | None = None,
    settings: ScoringOptions,
) -> Task:
    """Return the task, with the protocol and the target class resolved."""
    given = model, inputs
    model, inputs = as_tensors(model, inputs)
    tensors = inputs if isinstance(inputs, tuple | list) else [inputs]
    shapes = [getattr(tensor, "shape", ()) for tensor in tensors]
    chosen = protocols.get_protocol(protocol, shapes)
    if isinstance(groups, Pixels) and any(map(looks_channels_last, shapes)):
        chosen = replace(chosen, unit=chosen.unit or groups)  # with groups=Pixels() the input is b c h w
    if target is None:
        with open_scorer(model, inputs, None, groups, "logit", settings) as scorer:
            target = scorer.problem.objective.index.squeeze(1)  # type: ignore[union-attr]  # predicted, so an index
    preview = preview_inputs(*given, [one for one in tensors if isinstance(one, Tensor)])
    return Task(model, inputs, target, chosen, groups, settings, preview)


def label_methods(methods: Methods) -> dict[str, Method]:
    """Return the methods by label: a mapping's key, a name, or the repr of an object.

    >>> list(label_methods(["ig", resolve_method("random")]))
    ['ig', 'RandomMap()']
    """
    if isinstance(methods, str):
        raise TypeError(f"methods are several, such as [{methods!r}, 'random'], not one string.")
    if not isinstance(methods, Mapping | list | tuple):
        raise TypeError(f"methods are a list such as ['consensus', 'random'] or {{label: method}}, not {methods!r}.")
    if isinstance(methods, Mapping) and not all(isinstance(label, str) for label in methods):
        raise TypeError(f"the labels of methods are strings, not {list(methods)}.")
    given = (
        methods
        if isinstance(methods, Mapping)
        else {one if isinstance(one, str) else repr(one): one for one in methods}
    )
    chosen = {label: resolve_method(one) for label, one in given.items()}
    if len(chosen) != len(methods) or not chosen:
        came = f"{len(methods)} of which {len(methods) - len(chosen)} stand twice" if chosen else "none"
        raise ValueError(f"give methods to compare, each once, or {{label: method}}; there are {came}.")
    return chosen


def _number(values: Measurement, sample: int | None) -> float | None:
    if not isinstance(values, Tensor):
        return values
    chosen = (values if sample is None else values[sample]).cpu().double()
    finite = chosen[chosen.isfinite()]
    return float(finite.mean()) if finite.numel() else None
