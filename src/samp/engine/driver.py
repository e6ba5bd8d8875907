"""Following paths: every walk of every sample in batches that fit, put together into one `Attribution`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from samp.attribution import Attribution, Direction, Tape, total
from samp.checks import check_seed
from samp.engine.batching import Batches, BatchSize, check_batch_size
from samp.engine.credit import Credit, uses_guide_only
from samp.engine.lookahead import scorer_for
from samp.engine.paths import SalientPath
from samp.engine.problem import Problem
from samp.engine.record import RowTape, SumAccount, WalkRecord, record_walk
from samp.engine.step_rules import MaxL1, Unlimited
from samp.engine.walk import Path, Route, StepRule, identity, walk
from samp.errors import NonFiniteError
from samp.progress import Meter

StepCallback = Callable[[int, int], None]


class PlanLike(Protocol):
    """A method made ready for one problem; a row of its walks takes `directions_per_row` directions of a sample."""

    @property
    def baselines(self) -> Mapping[Direction, Tensor]: ...  # b n each
    @property
    def directions_per_row(self) -> int: ...
    @property
    def label(self) -> str: ...
    def run(self, problem: Problem, rows: range, points: int, on_step: StepCallback | None) -> WalkRecord: ...


@dataclass(frozen=True, eq=False)
class WalkPlan:
    """Each direction on its own: path, rule and credit, and where each direction's baseline lies."""

    directions_per_row: ClassVar[int] = 1

    path: Path
    rule: StepRule
    momentum: float
    credit: Credit
    baselines: Mapping[Direction, Tensor]  # b n each
    label: str

    def run(self, problem: Problem, rows: range, points: int, on_step: StepCallback | None) -> WalkRecord:
        """What the walks of these rows leave behind."""
        route = _route(problem, self, rows)
        ground, path = scorer_for(problem, self.path, self.rule, route)
        # other paths count steps: each would compile anew
        fuse = problem.fuse if isinstance(path, SalientPath) else identity
        quick = replace(path, unordered_ties=True) if isinstance(path, SalientPath) and fuse is not identity else path
        # ours, that is: what a user's path or rule asks for is not known
        ours = type(path) is SalientPath and type(self.rule) in (Unlimited, MaxL1)
        keep_start = not (ours and isinstance(path, SalientPath) and not path.full_distance)
        keep_gradients = not ours or not uses_guide_only(self.credit)
        steps = walk(
            ground, route, quick, self.rule, self.momentum,
            fuse=fuse, keep_start=keep_start, keep_gradients=keep_gradients,
        )  # fmt: skip
        route = route if keep_start else route.without_start()  # or it would be kept here
        return record_walk(steps, route, SumAccount(self.credit, route, fuse), points, on_step)


@dataclass(frozen=True)
class RunOptions:
    """How to go about it; nothing in here but the seed may change the result."""

    batch_size: BatchSize = "auto"
    tape_bytes: int = 0
    progress: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        check_batch_size(self.batch_size)
        object.__setattr__(self, "seed", check_seed(self.seed))


def run_walks(problem: Problem, plan: PlanLike, run: RunOptions) -> Attribution:
    """Walk every sample in every direction of the plan and sum up the credit.

    The walks of all samples and directions are rows of one list, cut into batches; a sample's rows stand side by side.
    """
    directions = list(plan.baselines)
    walks_per_sample = len(directions) // plan.directions_per_row
    batches = Batches(run.batch_size, problem.x.shape[1], problem.x.device, plan.directions_per_row)
    problem = problem.with_target(batches)
    points = _points_per_row(run.tape_bytes, len(directions) * problem.batch, problem.x)
    meter = Meter(problem.batch, walks_per_sample, run.progress)

    def work(first: int, last: int) -> WalkRecord:
        meter.rewind_to(first)
        return plan.run(problem, range(first, last), points, meter.record_step if run.progress else None)

    try:
        with problem.fusing_context():
            traces = list(batches.map_slices(walks_per_sample * problem.batch, work))
    finally:
        meter.close()
    result = _assemble(problem, plan, traces, {"seed": run.seed, "batch_size": batches.size * plan.directions_per_row})
    _raise_if_failed(result, directions, torch.cat([t.failed for t in traces]))
    return result


def _route(problem: Problem, plan: WalkPlan, rows: range) -> Route:
    """Where these rows of the list of walks start and end; nothing here waits for the device."""
    directions = list(plan.baselines)
    samples = slice(rows.start // len(directions), -(-rows.stop // len(directions)))
    image = problem.x[samples]
    ends = [(b[samples], image) if d == "to_image" else (image, b[samples]) for d, b in plan.baselines.items()]
    skipped = rows.start - samples.start * len(directions)  # a batch may begin, and end, amid a sample
    start, end = (_interleave(points)[skipped : skipped + len(rows)] for points in zip(*ends, strict=True))
    place = torch.arange(rows.start, rows.stop, device=image.device)
    up = place % len(directions) == (directions.index("to_image") if "to_image" in directions else -1)
    sign = torch.where(up, 1.0, -1.0).to(image)[:, None]
    return Route.between(start, end, place // len(directions), sign, problem.features)


def _interleave(points: tuple[Tensor, ...]) -> Tensor:
    """d points of every sample (b n each) as rows, those of a sample side by side.

    >>> _interleave((torch.tensor([[1], [2]]), torch.tensor([[3], [4]]))).flatten().tolist()
    [1, 3, 2, 4]
    """
    return torch.stack(points, 1).flatten(0, 1)


def _points_per_row(tape_bytes: int, rows: int, x: Tensor) -> int:
    """How many points of each walk fit in the tape's memory: at least 3, so that a tape has a middle; 0 for no tape."""
    return max(tape_bytes // (rows * x.shape[1] * x.element_size()), 3) if tape_bytes else 0


def _assemble(problem: Problem, plan: PlanLike, traces: list[WalkRecord], details: dict[str, object]) -> Attribution:
    """One `Attribution` from the traces of all rows."""
    directions = list(plan.baselines)
    values = _concatenate([t.values for t in traces])  # rows n
    scores = _pad_scores([t.scores for t in traces])
    steps = torch.cat([t.steps for t in traces])
    first, last = scores[:, 0], scores.gather(1, steps[:, None]).squeeze(1)
    per_row = {
        "scores": scores,
        "order": _concatenate([t.order for t in traces]),
        "steps": steps,
        "credit": total(values),
        "rise": last - first,
        "blind": torch.cat([t.blind for t in traces]),
    }
    by = {name: {d: t[i :: len(directions)] for i, d in enumerate(directions)} for name, t in per_row.items()}
    change = {d: rise if d == "to_image" else -rise for d, rise in by["rise"].items()}
    values = values.view(problem.batch, len(directions), -1).sum(1)  # b n
    parts = problem.unflatten(values)
    return Attribution(
        values=parts[0] if problem.one_input else parts,
        group_values=problem.features.pool(values).clone(),  # elements pool to `values` itself
        scores={d: s[:, : int(by["steps"][d].max()) + 1] for d, s in by["scores"].items()},
        order=by["order"],
        steps=by["steps"],
        score_change=change,
        residual_by_direction={d: (change[d] - by["credit"][d]).to(values.dtype) for d in directions},
        blind=by["blind"],
        gradients=torch.stack([by["steps"][d] + 1 for d in directions]).sum(0),
        method=plan.label,
        details={**problem.describe(), **details},
        tapes=_tapes(problem, directions, [tape for t in traces for tape in t.tapes]),
    )


def _concatenate(parts: list[Tensor]) -> Tensor:
    """One after the other; a single one as it is, since to copy it would take memory."""
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _pad_scores(scores: list[Tensor]) -> Tensor:
    """Curves of several batches in one tensor, NaN-padded to the longest."""
    longest = max(s.shape[1] for s in scores)
    return torch.cat([F.pad(s, (0, longest - s.shape[1]), value=math.nan) for s in scores])


def _tapes(problem: Problem, directions: list[Direction], rows: list[RowTape]) -> dict[Direction, list[Tape]]:
    def tape(row: RowTape) -> Tape:
        points = problem.unflatten(row.points)
        return Tape(row.steps, points[0] if problem.one_input else points)

    return {d: [tape(row) for row in rows[i :: len(directions)]] for i, d in enumerate(directions)} if rows else {}


def _raise_if_failed(result: Attribution, directions: list[Direction], failed: Tensor) -> None:
    where = (failed >= 0).nonzero().squeeze(1).tolist()
    if not where:
        return
    sample, direction = where[0] // len(directions), directions[where[0] % len(directions)]
    samples = sorted({row // len(directions) for row in where})
    more = f" ({len(samples)} samples failed: {samples})" if len(samples) > 1 else ""
    raise NonFiniteError(
        f"score or gradient turned NaN or Inf in sample {sample} at step {int(failed[where[0]])} "
        f"of its walk {direction}{more}: "
        "try float32 or float64 inputs, or another baseline; all other samples are in this error's .result.",
        result,
    )
