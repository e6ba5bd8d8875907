"""What a worker does with a shard: explain it batch by batch, say how far it is, and keep what is finished.

A shard may take minutes. What of it is finished is written every `SAVED_EVERY` seconds, and when the work is
interrupted; whoever does the shard next goes on from there, with the same batches.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

import torch
from torch import Tensor

from samp.atomic import UnwritableError
from samp.batch.explainer import BatchExplainer, BrokenDeviceError, fail_odd_shapes
from samp.batch.models import fingerprint
from samp.batch.preprocess import Sample
from samp.batch.shard_plan import JobOutcome, RunPlan, cut_into_batches, error_line
from samp.batch.shards import stack_maps
from samp.batch.summary import ShardProgress
from samp.batch.tables import Row

SAVED_EVERY = 10.0  # seconds of work that are lost at most, beside the batch under way, whatever ends it
ShardWriter = Callable[[], JobOutcome]
ReportProgress = Callable[[int, ShardProgress], None]
"""Called with the shard and how far it is, after each batch."""


class Worker:
    """Holds the model and does one job after the other."""

    def __init__(self, plan: RunPlan, report: ReportProgress = lambda shard, begun: None) -> None:
        classifier = plan.model.load()
        if fingerprint(classifier.net) != plan.weights:
            raise ValueError(
                f"{classifier.name} has other weights each time it is made, so a data set cannot be explained by it: "
                "seed its factory, or give its weights in a file."
            )
        self.plan, self.report = plan, report
        how = {"batch_size": plan.batch_size, "seed": plan.seed, "speed": plan.speed}
        self.map_dtype: torch.dtype = getattr(torch, plan.map_dtype)
        self.explainer = BatchExplainer(classifier, plan.method, plan.target, self.map_dtype, **how)

    def work(self, shard: int, samples: Sequence[Sample]) -> JobOutcome:
        """Explain these samples and write their shard."""
        return self.explain(shard, samples)()

    def explain(self, shard: int, samples: Sequence[Sample]) -> ShardWriter:
        """Explain these samples; what comes back writes their shard. What goes wrong costs this shard alone.

        But for a device that is lost, with which nothing more can be done: that is raised.
        """
        work = ShardBuilder(self, shard, samples)
        try:
            work.explain()
        except BaseException as error:  # Ctrl-C and SIGTERM too
            with suppress(Exception):  # what ends the work matters more
                work.save()
            if isinstance(error, BrokenDeviceError) or not isinstance(error, Exception):
                raise
            return partial(JobOutcome, shard, error=error_line(error))
        return work.finish()


class ShardBuilder:
    """The answers of one shard as they come: rows of before first, until their batches are done again."""

    def __init__(self, worker: Worker, shard: int, samples: Sequence[Sample]) -> None:
        self.worker, self.shard, self.samples = worker, shard, samples
        self.started = self.saved = time.monotonic()
        there = worker.plan.shards.answers(shard)
        ids = [sample.id for sample in samples]
        self.done = set(worker.plan.reusable_rows({name: row["error"] for name, (row, _) in there.items()}, ids))
        self.answers = {name: there[name] for name in ids if name in there}
        self.unsaved = False

    def explain(self) -> None:
        """Do every batch whose rows do not stand."""
        for batch in cut_into_batches(len(self.samples), self.worker.plan.inputs_per_batch):
            chunk = self.samples[batch.start : batch.stop]
            if self.done.issuperset(sample.id for sample in chunk):
                continue
            if self.unsaved and time.monotonic() - self.saved > SAVED_EVERY:
                with suppress(UnwritableError):  # whether the whole shard fits is seen when it is written
                    self.save()
            self.answers |= self.worker.explainer.explain(chunk)
            self.done |= {sample.id for sample in chunk}
            self.unsaved = True
            self.worker.report(self.shard, self.progress())

    def progress(self) -> ShardProgress:
        """How many of the inputs that were left to do are done."""
        new = [self.answers[s.id][0] for s in self.samples if s.id in self.done and not s.kept]
        failed = sum(bool(row.get("error")) for row in new)
        return ShardProgress(len(new) - failed, failed, time.monotonic() - self.started)

    def save(self) -> None:
        """Write what is there of the shard, if anything is new."""
        if self.unsaved:
            self.worker.plan.shards.write(self.shard, *self._prepare())
            self.unsaved, self.saved = False, time.monotonic()

    def finish(self) -> ShardWriter:
        """What writes the whole shard; all that is calculated is calculated here, so that another thread may write."""
        try:
            prepared = self._prepare()
        except Exception as error:
            return partial(JobOutcome, self.shard, error=error_line(error))
        return partial(self._write, prepared)

    def _write(self, prepared: tuple[list[Row], dict[str, Tensor]]) -> JobOutcome:
        try:
            receipt = self.worker.plan.shards.write(self.shard, *prepared)
        except UnwritableError as error:
            return JobOutcome(self.shard, error=str(error), full=error.full)
        except Exception as error:
            return JobOutcome(self.shard, error=error_line(error))
        return JobOutcome(self.shard, receipt, seconds=time.monotonic() - self.started)

    def _prepare(self) -> tuple[list[Row], dict[str, Tensor]]:
        """Rows in the order of the inputs, and their maps in one tensor."""
        ordered = {s.id: self.answers[s.id] for s in self.samples if s.id in self.answers}
        answers = fail_odd_shapes(ordered).values()
        return [row for row, _ in answers], stack_maps([found for _, found in answers], self.worker.map_dtype)
