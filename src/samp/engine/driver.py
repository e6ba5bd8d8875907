"""The driver: runs every walk of every sample in batches that fit into memory, and assembles one `Attribution`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor

from samp.attribution import DIRECTIONS, Attribution, Direction
from samp.baselines import BaselineSetting, Blurred, evaluate_baseline, label_baseline, resolve_baseline, zero
from samp.checks import check_seed
from samp.engine.batches import Batches, BatchSize, check_batch_size, even_size
from samp.engine.call_sizes import make_call_sizes
from samp.engine.credit import Credit
from samp.engine.lookahead import scorer_for
from samp.engine.problem import Problem
from samp.engine.record import Account, StepCallback, SumAccount, WalkRecord, assemble, record_walk
from samp.engine.refill import WaitingRows, can_refill, walk_with_refill
from samp.engine.walk import Path, Route, Step, StepRule
from samp.engine.watch import WalkStep, Watcher
from samp.lookup import look_up
from samp.progress import Meter

BATCHES_A_WALK = 16  # of rows that begin as soon as others arrive; memory that runs out costs one walk


class Plan(Protocol):
    """A method prepared for one problem; a sample has `rows_per_sample` rows of `directions_per_row` directions."""

    @property
    def baselines(self) -> Mapping[Direction, Tensor]: ...  # b n each
    @property
    def directions_per_row(self) -> int: ...
    @property
    def rows_per_sample(self) -> int: ...
    @property
    def first_walk(self) -> int: ...
    @property
    def label(self) -> str: ...
    def can_refill(self, problem: Problem) -> bool: ...  # whether `run` takes more rows than fit into a batch
    def run(self, problem: Problem, rows: range, points: int, on_step: StepCallback | None) -> WalkRecord: ...
    def collect(self, problem: Problem, records: Iterator[WalkRecord]) -> list[WalkRecord]: ...
    def details(self) -> Mapping[str, object]: ...


@dataclass(frozen=True, eq=False)
class WalkPlan:
    """A plan that walks each direction separately: path, step rule, credit, and the baseline of each direction."""

    directions_per_row: ClassVar[int] = 1
    first_walk: ClassVar[int] = 0

    path: Path
    rule: StepRule
    momentum: float
    credit: Credit
    baselines: Mapping[Direction, Tensor]  # b n each
    label: str

    @property
    def rows_per_sample(self) -> int:
        return len(self.baselines)

    def can_refill(self, problem: Problem) -> bool:
        """Return whether rows that wait may begin as soon as others arrive; compiled walks take batch after batch."""
        return can_refill(self.path) and not problem.compiles_walks_of(self.path)

    def run(self, problem: Problem, rows: range, points: int, on_step: StepCallback | None) -> WalkRecord:
        """Return the record of the walks of these rows; those that do not fit into a batch wait for room."""
        room = problem.batches.size if problem.batches else len(rows)
        steps = self._walk(problem, rows) if len(rows) <= room else self._walk_with_refill(problem, rows, room)
        account = SumAccount(self.credit, _signs(problem, self, rows), problem.x.shape[1], problem.compiler(self.path))
        return record_walk(steps, (len(rows), problem.features.count), account, points, on_step)

    def _walk(self, problem: Problem, rows: range) -> Iterator[Step]:
        route = _route(problem, self, rows)
        scorer, path = scorer_for(problem, self.path, self.rule, route)
        return problem.walk(scorer, route, path, self.rule, self.momentum)

    def _walk_with_refill(self, problem: Problem, rows: range, room: int) -> Iterator[Step]:
        def make_route(first: int, last: int) -> Route:
            return _route(problem, self, rows[first:last])

        waiting = WaitingRows(len(rows), make_route, problem.features)
        return walk_with_refill(problem, waiting, even_size(len(rows), room), self.path, self.rule, self.momentum)

    def collect(self, problem: Problem, records: Iterator[WalkRecord]) -> list[WalkRecord]:
        """Return all records."""
        return list(records)

    def details(self) -> Mapping[str, object]:
        """Return what the result says of the plan besides its label: nothing."""
        return {}


@dataclass(frozen=True)
class RunOptions:
    """How to compute a result; only the seed may affect the result itself."""

    batch_size: BatchSize = "auto"
    tape_bytes: int = 0
    progress: bool = False
    seed: int = 0
    on_step: Watcher | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_batch_size(self.batch_size)
        if type(self.seed) is not int or not -(2**63) <= self.seed < 2**63:
            object.__setattr__(self, "seed", check_seed(self.seed))


def run_walks(problem: Problem, plan: Plan, run: RunOptions) -> Attribution:
    """Walk every sample in every direction of the plan, and return the attribution.

    The walks of all samples and directions are the rows of one list, which is cut into batches; the rows of a sample
    are adjacent. Raises NonFiniteError if a score or gradient on a walk was not finite.
    """
    directions = list(plan.baselines)
    batches = Batches(run.batch_size, problem.x.shape[1], problem.x.device, plan.directions_per_row)
    largest = even_size(plan.rows_per_sample * problem.batch, batches.size) * plan.directions_per_row
    problem = replace(problem, sizes=make_call_sizes(problem.model, problem.x.device, largest)).with_target(batches)
    points = _points_per_row(run.tape_bytes, len(directions) * problem.batch, problem.x)
    meter = Meter(problem.batch, plan.rows_per_sample, show=True) if run.progress else None

    def work(first: int, last: int) -> WalkRecord:
        if meter:
            meter.rewind_to(first)
        rows = range(first, last)
        return plan.run(problem, rows, points, _watch(problem, plan, rows, run.on_step, meter))

    waves = BATCHES_A_WALK if run.on_step is None and plan.can_refill(problem) else 1  # watchers see batch after batch
    try:
        with problem.compiling():
            records = plan.collect(problem, batches.map_slices(plan.rows_per_sample * problem.batch, work, waves))
    finally:
        if meter:
            meter.close()
    details: dict[str, object] = {"seed": run.seed, "batch_size": batches.size * plan.directions_per_row}
    details |= plan.details()
    return assemble(problem, directions, records, plan.label, details)


def _watch(
    problem: Problem, plan: Plan, rows: range, on_step: Watcher | None, meter: Meter | None
) -> StepCallback | None:
    """Return what shows each step of these rows to the caller and to the meter; None if neither looks."""
    if on_step is None and meter is None:
        return None
    each = plan.directions_per_row

    def watch(before: Step | None, step: Step, account: Account) -> None:
        if meter:  # counting arrivals waits for the device
            broken = ~step.finite
            if before is not None:
                broken[: len(before.finite)] &= before.finite  # rows behind those have just begun
            arrived = ~step.moving.any(1) & step.finite
            meter.record_step(len(step.rows) * each, int((arrived | broken).sum()))
        if on_step:
            entries = (rows.start + step.rows)[:, None] * each + torch.arange(each, device=step.rows.device)
            per_sample = plan.rows_per_sample * each
            on_step(WalkStep(problem, plan.baselines, entries.flatten(), per_sample, plan.first_walk, step, account))

    return watch


def _route(problem: Problem, plan: WalkPlan, rows: range) -> Route:
    """Return the route of these rows of the list of walks, without waiting for the device."""
    directions = list(plan.baselines)
    samples = slice(rows.start // len(directions), -(-rows.stop // len(directions)))
    image = problem.x[samples]
    ends = [(b[samples], image) if d == "to_image" else (image, b[samples]) for d, b in plan.baselines.items()]
    skipped = rows.start - samples.start * len(directions)  # a batch may begin or end within a sample
    start, end = (_interleave(points)[skipped : skipped + len(rows)] for points in zip(*ends, strict=True))
    sample = torch.arange(rows.start, rows.stop, device=image.device) // len(directions)
    return Route.between(start, end, sample, _signs(problem, plan, rows), problem.features)


def _signs(problem: Problem, plan: WalkPlan, rows: range) -> Tensor:
    """Return the sign of each of these rows (r 1): +1 for those to the image, −1 for those to the baseline."""
    directions = list(plan.baselines)
    place = torch.arange(rows.start, rows.stop, device=problem.x.device)
    up = place % len(directions) == (directions.index("to_image") if "to_image" in directions else -1)
    return torch.where(up, 1.0, -1.0).to(problem.x)[:, None]


def _interleave(points: tuple[Tensor, ...]) -> Tensor:
    """Return d points of every sample (b n each) as rows (bd n), those of a sample adjacent.

    >>> _interleave((torch.tensor([[1], [2]]), torch.tensor([[3], [4]]))).flatten().tolist()
    [1, 3, 2, 4]
    """
    return torch.stack(points, 1).flatten(0, 1)


def _points_per_row(tape_bytes: int, rows: int, x: Tensor) -> int:
    """Return how many points of each walk fit into `tape_bytes`: at least 3 (ends and middle), or 0 for no tape."""
    return max(tape_bytes // (rows * x.shape[1] * x.element_size()), 3) if tape_bytes else 0


def make_baselines(
    baseline: BaselineSetting, direction: str, problem: Problem, seed: int
) -> tuple[dict[Direction, Tensor], Any]:
    """Return the baseline of each direction (b n), and the label or labels of the baselines for results.

    `direction` is "to_image", "to_baseline" or "both". Raises ValueError to blur an input that looks like b h w c.
    """
    pair = baseline_pair(baseline, problem)
    chosen = directions(direction)
    if any(isinstance(resolve_baseline(one), Blurred) for d in chosen for one in _as_list(pair[d])):
        problem.check_layout()  # a blur runs along axes 2 and 3
    labels = tuple(label_baseline(pair[d]) for d in chosen)
    made = {d: problem.flatten(evaluate_baseline(pair[d], problem.inputs, seed)) for d in chosen}
    return made, labels if len(labels) > 1 else labels[0]


def repr_with(method: object, **replaced: object) -> str:
    """Return the repr of a dataclass with these values in place of its own fields.

    >>> repr_with(RunOptions(), seed=3)
    "RunOptions(batch_size='auto', tape_bytes=0, progress=False, seed=3)"
    """
    own = {field.name: getattr(method, field.name) for field in fields(method) if field.repr}  # type: ignore[arg-type]  # every method is a dataclass
    settings = ", ".join(f"{name}={value!r}" for name, value in {**own, **replaced}.items())
    return f"{type(method).__qualname__}({settings})"


def directions(direction: str) -> tuple[Direction, ...]:
    """Return the directions to walk; raises ValueError for an unknown name.

    >>> directions("both")
    ('to_baseline', 'to_image')
    """
    if direction == "both":
        return DIRECTIONS
    return look_up(direction, {"both": DIRECTIONS, **{d: (d,) for d in DIRECTIONS}}, "direction")


def baseline_pair(baseline: BaselineSetting, problem: Problem) -> dict[Direction, Any]:
    """Return the baseline of each direction: as given (one for both, or a tuple of two), or the default for None.

    The default is the paper's for images in pixels or patches (zero, blurred), else zero.

    Raises ValueError for a tuple of another length.
    """
    pair: tuple[Any, ...]
    if baseline is None:
        image = problem.inputs[0]
        pair = (zero, Blurred.for_image(*image.shape[2:])) if problem.is_image else (zero, zero)
    else:
        pair = baseline if isinstance(baseline, tuple) else (baseline, baseline)
    if len(pair) != 2:
        raise ValueError(
            f"baseline has {len(pair)} entries: a tuple is (deletion, insertion); one per input goes in a list."
        )
    return dict(zip(DIRECTIONS, pair, strict=True))


def _as_list(baseline: Any) -> list[Any]:
    """Return the baselines of all inputs as a list."""
    return list(baseline) if isinstance(baseline, list) else [baseline]
