"""Records of walks (credit, score curves, order of arrival and, on request, points), and the `Attribution` of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from samp.attribution import Attribution, Direction, Tape
from samp.devices import WITHOUT_FLOAT64
from samp.engine.credit import Credit, Shared, uses_guide_only
from samp.engine.problem import Compiler, Problem, keep_function
from samp.engine.walk import Step
from samp.errors import NonFiniteError

StepSummary = tuple[Tensor, Tensor, Tensor, int | Tensor]
"""Of a Step: its rows (r), value (r, or r d) and finite (r), and how many steps the rows have taken (r)."""


@dataclass(frozen=True, eq=False)
class WalkRecord:
    """The results of a walk, with one entry per row of the route (R rows)."""

    values: Tensor  # R n, credit signed so that both directions sum to f(image) − f(baseline)
    scores: Tensor  # R k+1 (d), NaN-padded
    order: Tensor  # R g, the step at which each group arrived, −1 if it never had to move
    steps: Tensor  # R
    blind: Tensor  # R, segments shared without any gradient
    failed: Tensor  # R, the step whose score or gradient was not finite, −1 if none
    tapes: list[RowTape]
    gradients: Tensor | None = None  # R, value-and-gradient evaluations; None for one at every point
    resolution: Tensor | None = None  # b, pixels; see `Attribution.resolution`


@dataclass(frozen=True, eq=False)
class RowTape:
    """Some points of one row's walk, the first and the last among them, on the CPU."""

    steps: Tensor  # k
    points: Tensor  # k n


class Account(Protocol):
    """Collects credit along a walk: `add` takes every segment, `values` returns the credit of each row's elements."""

    @property
    def needs_gradients(self) -> bool: ...  # of the steps `before`; otherwise their guides take the place of these
    @property
    def device(self) -> torch.device: ...
    def add(self, before: Step, after: Step) -> None: ...
    def credit_so_far(self) -> Tensor: ...  # R n, of the segments added until now; the caller may change it
    def values(self) -> Tensor: ...  # R n, the same, called once and last
    def blind(self) -> Tensor: ...  # R


StepCallback = Callable[[Step | None, Step, Account], None]
"""Called after each step with the one before, None at the start, and with the account that has its credit."""


class SumAccount:
    """The account of a credit that is a function of each segment: their sum."""

    def __init__(self, credit: Credit, sign: Tensor, elements: int, compiler: Compiler = keep_function) -> None:
        """`sign` (R 1) is that of the rows' route; each row has as many `elements`."""
        self.credit, self.sign, self.earned = credit, sign, sign.new_zeros(len(sign), elements)
        self.add_credit = compiler(_add_credit)
        self.needs_gradients = not uses_guide_only(credit)
        self.unseen = torch.zeros(len(sign), dtype=torch.long, device=sign.device)

    @property
    def device(self) -> torch.device:
        return self.earned.device

    def add(self, before: Step, after: Step) -> None:
        if len(after.rows) == len(self.earned):
            self.add_credit(self.earned, self.credit, before, after)
        else:
            self.earned.index_add_(0, after.rows, self.credit(before, after))
        if isinstance(self.credit, Shared):
            self.unseen[after.rows] += self.credit.blind(before, after)

    def credit_so_far(self) -> Tensor:
        return self.earned * self.sign

    def values(self) -> Tensor:
        return self.earned.mul_(self.sign)  # in place: its last use

    def blind(self) -> Tensor:
        return self.unseen


def _add_credit(earned: Tensor, credit: Credit, before: Step, after: Step) -> None:
    earned += credit(before, after)


def record_walk(
    steps: Iterator[Step],
    size: tuple[int, int],
    account: Account,
    points_per_row: int = 0,
    on_step: StepCallback | None = None,
) -> WalkRecord:
    """Walk to the end, add every segment to the account, and return the record of all rows.

    `size` is the number of rows and of groups; `points_per_row` bounds the tape (0: none); `on_step` is called for each
    Step.
    """
    count, groups = size
    order = torch.full((count, groups), -1, dtype=torch.int32, device=account.device)
    seen: list[StepSummary] = []
    recorder = TapeRecorder(count, points_per_row)
    before: Step | None = None
    for step in steps:
        if before is not None:
            before = before if step.previous_places is None else before.keep(step.previous_places)
            if len(before.rows):
                _add_segment(account, order, before, step.first(len(before.rows)))  # rows behind have just begun
        seen.append((step.rows, step.value, step.finite, step.steps_taken))
        recorder.record(step)
        if on_step:
            on_step(before, step, account)
        before = step if account.needs_gradients else step.drop_gradient()
        del step  # otherwise its gradient would be kept beside the next one
    scores, last, failed = _curves(seen, count)
    values = account.values().masked_fill_((failed >= 0)[:, None], math.nan)
    return WalkRecord(values, scores, order, last, account.blind(), failed, recorder.tapes())


class TapeRecorder:
    """Stores points of each row on the CPU, thinned to every 2nd, 4th, … so that a row never has more than `most`."""

    def __init__(self, rows: int, most: int) -> None:
        self.most = max(most, 3) if most else 0
        self.stride = [1] * rows
        self.points: list[list[tuple[int, Tensor]]] = [[] for _ in range(rows)]

    def record(self, step: Step) -> None:
        if not self.most:
            return
        x, ends = step.x.cpu(), (~step.moving.any(1)).tolist()
        taken = step.steps_taken
        numbers = [taken] * len(ends) if isinstance(taken, int) else taken.tolist()
        for place, (row, number) in enumerate(zip(step.rows.tolist(), numbers, strict=True)):
            if number % self.stride[row] == 0 or ends[place]:
                self.points[row].append((number, x[place].clone()))
            if len(self.points[row]) > self.most - (not ends[place]):
                self._thin(row, final=number if ends[place] else 0)

    def _thin(self, row: int, final: int) -> None:
        """Double the stride, but never drop the final point of a walk."""
        self.stride[row] *= 2
        self.points[row] = [
            entry for entry in self.points[row] if entry[0] % self.stride[row] == 0 or entry[0] == final
        ]

    def tapes(self) -> list[RowTape]:
        """Return the tape of each row; an empty list if nothing was to be recorded."""
        if not self.most:
            return []
        return [
            RowTape(torch.tensor([number for number, _ in row]), torch.stack([x for _, x in row]))
            for row in self.points
        ]


def _add_segment(account: Account, order: Tensor, before: Step, after: Step) -> None:
    account.add(before, after)
    _mark_arrivals(order, after, before.moving > after.moving)


def _mark_arrivals(order: Tensor, step: Step, arrived: Tensor) -> None:
    """Write the number of the step at which groups arrived (r g) into the order of all rows (R g)."""
    if isinstance(step.steps_taken, Tensor):
        order[step.rows] = torch.where(arrived, step.steps_taken[:, None].to(order), order[step.rows])
    elif len(step.rows) == len(order):
        order.masked_fill_(arrived, step.steps_taken)
    else:
        order[step.rows] = order[step.rows].masked_fill_(arrived, step.steps_taken)


def _curves(seen: list[StepSummary], count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return scores (R k (d), NaN-padded), and the number of each row's last step (R) and failed step (R, −1 if none).

    Steps of the same rows are written together, since one by one would take many small kernels.
    """
    value = seen[0][1]
    last = torch.zeros(count, dtype=torch.long, device=value.device)
    failed = torch.full_like(last, -1)
    parts: list[tuple[Tensor, Tensor, Tensor]] = []  # rows (r), how many steps they had taken (r k), values (r k (d))
    for _, same in groupby(seen, key=lambda step: id(step[0])):
        rows, values, finite, taken = zip(*same, strict=True)
        first = taken[0] if isinstance(taken[0], Tensor) else torch.full_like(rows[0], taken[0])
        after = first + len(rows)
        last[rows[0]] = after - 1
        broken = (~torch.stack(finite, 1)).sum(1)  # r, steps; a failed row stays failed
        new = (broken > 0) & (failed[rows[0]] < 0)
        failed[rows[0]] = torch.where(new, after - broken, failed[rows[0]])
        numbers = first[:, None] + torch.arange(len(rows), device=value.device)
        parts.append((rows[0], numbers, torch.stack(values, 1)))
    longest = len(seen) if isinstance(seen[-1][3], int) else int(last.max()) + 1
    scores = value.new_full((count, longest, *value.shape[1:]), math.nan)
    for rows_of_part, numbers, values_of_part in parts:
        scores[rows_of_part[:, None], numbers] = values_of_part
    return scores, last, failed


def assemble(
    problem: Problem,
    directions: Sequence[Direction],
    records: list[WalkRecord],
    label: str,
    details: Mapping[str, object],
) -> Attribution:
    """Return one `Attribution` from the records of all rows; the rows of a sample, one per direction, are adjacent.

    Raises NonFiniteError if a score or gradient on a walk was not finite; it holds the result of the other samples.
    """
    values = _concatenate([t.values for t in records])  # rows n
    scores = _pad_scores([t.scores for t in records])
    steps = torch.cat([t.steps for t in records])
    first, last = scores[:, 0], scores.gather(1, steps[:, None]).squeeze(1)
    per_row = {
        "scores": scores,
        "order": _concatenate([t.order for t in records]),
        "steps": steps,
        "credit": sum_rows(values),
        "rise": last - first,
        "blind": torch.cat([t.blind for t in records]),
        "gradients": torch.cat([t.steps + 1 if t.gradients is None else t.gradients for t in records]),
    }
    by = {name: {d: t[i :: len(directions)] for i, d in enumerate(directions)} for name, t in per_row.items()}
    change = {d: rise if d == "to_image" else -rise for d, rise in by["rise"].items()}
    values = values.view(problem.batch, len(directions), -1).sum(1)  # b n
    parts = problem.unflatten(problem.level_patches(values))
    result = Attribution(
        values=parts[0] if problem.one_input else parts,
        group_values=problem.features.pool(values).clone(),  # elements pool to `values` itself
        scores={d: s[:, : int(by["steps"][d].max()) + 1] for d, s in by["scores"].items()},
        order=by["order"],
        steps=by["steps"],
        score_change=change,
        residual_by_direction={d: (change[d] - by["credit"][d]).to(values.dtype) for d in directions},
        blind=by["blind"],
        gradients=torch.stack([by["gradients"][d] for d in directions]).sum(0),
        method=label,
        details={**problem.describe(), **details},
        tapes=_tapes(problem, directions, [tape for t in records for tape in t.tapes]),
        resolution=records[0].resolution,
    )
    _raise_if_failed(result, directions, torch.cat([t.failed for t in records]))
    return result


def select_rows(record: WalkRecord, rows: Tensor) -> WalkRecord:
    """Return the record of these rows (on the CPU) only."""
    tensors = {name: getattr(record, name) for name in ("values", "scores", "order", "steps", "blind", "failed")}
    chosen = rows.to(record.steps.device)
    tapes = [record.tapes[row] for row in rows.tolist()] if record.tapes else []
    return WalkRecord(**{name: tensor[chosen] for name, tensor in tensors.items()}, tapes=tapes)


def join_records(records: Sequence[WalkRecord]) -> WalkRecord:
    """Return one record with the rows of several, in their order."""
    joined = {
        name: _concatenate([getattr(t, name) for t in records])
        for name in ("values", "order", "steps", "blind", "failed")
    }
    scores = _pad_scores([t.scores for t in records])
    return WalkRecord(**joined, scores=scores, tapes=[tape for t in records for tape in t.tapes])


def _concatenate(parts: list[Tensor]) -> Tensor:
    """Return the concatenated parts; a single part is returned without a copy, to save memory."""
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _pad_scores(scores: list[Tensor]) -> Tensor:
    """Return the curves of several batches in one tensor, NaN-padded to the longest."""
    longest = max(s.shape[1] for s in scores)
    return torch.cat([F.pad(s, (0, longest - s.shape[1]), value=math.nan) for s in scores])


def _tapes(problem: Problem, directions: Sequence[Direction], rows: list[RowTape]) -> dict[Direction, list[Tape]]:
    def tape(row: RowTape) -> Tape:
        points = problem.unflatten(row.points)
        return Tape(row.steps, points[0] if problem.one_input else points)

    return {d: [tape(row) for row in rows[i :: len(directions)]] for i, d in enumerate(directions)} if rows else {}


def _raise_if_failed(result: Attribution, directions: Sequence[Direction], failed: Tensor) -> None:
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


def sum_rows(values: Tensor) -> Tensor:
    """Return the sum of each row of b n values (b), in float64 where the device has it."""
    return values.sum(1) if values.device.type in WITHOUT_FLOAT64 else values.sum(1, dtype=torch.float64)
