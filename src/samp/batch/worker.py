"""A worker: explains a shard batch by batch, reports its progress and saves what is finished.

A shard may take minutes. Its finished rows are written every `SAVED_EVERY` seconds and when the work is interrupted;
whoever does the shard next continues from there, with the same batches.
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
from samp.batch.messages import error_line
from samp.batch.models import fingerprint
from samp.batch.outcomes import JobOutcome
from samp.batch.preprocess import Sample
from samp.batch.progress import ShardProgress
from samp.batch.shard_plan import RunPlan, cut_into_batches
from samp.batch.stored_maps import stack_maps
from samp.batch.tables import Row

SAVED_EVERY = 10.0  # seconds: no more work than this is lost, besides the present batch, whatever ends the run
ShardWriter = Callable[[], JobOutcome]
ReportProgress = Callable[[int, ShardProgress], None]
"""Called with the shard and its progress after each batch."""


class Worker:
    """Holds the model and does one job after the other; raises ValueError if its weights are not those of the plan."""

    def __init__(self, plan: RunPlan, report: ReportProgress = lambda shard, progress: None) -> None:
        classifier = plan.model.load()
        if fingerprint(classifier.net) != plan.weights:
            raise ValueError(
                f"{classifier.name} has other weights each time it is made, so a data set cannot be explained by it: "
                "seed its factory, or give its weights as a file."
            )
        self.plan, self.report = plan, report
        options = {"batch_size": plan.batch_size, "seed": plan.seed, "speed": plan.speed}
        self.map_dtype: torch.dtype = getattr(torch, plan.map_dtype)
        self.explainer = BatchExplainer(classifier, plan.method, plan.target, self.map_dtype, **options)

    def work(self, shard: int, samples: Sequence[Sample]) -> JobOutcome:
        """Explain these samples and write their shard."""
        return self.explain(shard, samples)()

    def explain(self, shard: int, samples: Sequence[Sample]) -> ShardWriter:
        """Explain these samples, and return a function that writes their shard.

        An error costs this shard alone, and is its outcome; BrokenDeviceError is raised, since no shard can be done
        after it.
        """
        builder = ShardBuilder(self, shard, samples)
        try:
            builder.explain()
        except BaseException as error:  # Ctrl-C and SIGTERM too
            with suppress(Exception):  # the first error matters more
                builder.save()
            if isinstance(error, BrokenDeviceError) or not isinstance(error, Exception):
                raise
            return partial(JobOutcome, shard, error=error_line(error))
        return builder.finish()


class ShardBuilder:
    """The rows and maps of one shard so far; those of an earlier run stay until their batches are done again."""

    def __init__(self, worker: Worker, shard: int, samples: Sequence[Sample]) -> None:
        self.worker, self.shard, self.samples = worker, shard, samples
        self.started = self.saved = time.monotonic()
        there = worker.plan.shards.rows_and_maps(shard)
        ids = [sample.id for sample in samples]
        self.done = set(worker.plan.reusable_rows({name: row["error"] for name, (row, _) in there.items()}, ids))
        self.answers = {name: there[name] for name in ids if name in there}
        self.unsaved = False

    def explain(self) -> None:
        """Explain every batch whose rows cannot be reused."""
        for batch in cut_into_batches(len(self.samples), self.worker.plan.inputs_per_batch):
            chunk = self.samples[batch.start : batch.stop]
            if self.done.issuperset(sample.id for sample in chunk):
                continue
            if self.unsaved and time.monotonic() - self.saved > SAVED_EVERY:
                with suppress(UnwritableError):  # reported if the finished shard cannot be written either
                    self.save()
            self.answers |= self.worker.explainer.explain(chunk)
            self.done |= {sample.id for sample in chunk}
            self.unsaved = True
            self.worker.report(self.shard, self.progress())

    def progress(self) -> ShardProgress:
        """Return how many of the inputs that were left to do are done."""
        new = [self.answers[s.id][0] for s in self.samples if s.id in self.done and not s.kept]
        failed = sum(bool(row.get("error")) for row in new)
        return ShardProgress(len(new) - failed, failed, time.monotonic() - self.started)

    def save(self) -> None:
        """Write the unfinished shard, if it has new rows."""
        if self.unsaved:
            self.worker.plan.shards.write(self.shard, *self._prepare())
            self.unsaved, self.saved = False, time.monotonic()

    def finish(self) -> ShardWriter:
        """Return a function that writes the shard. Nothing is left to compute in it, so another thread may call it."""
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
        """Return the rows in the order of the inputs, and their maps in one tensor."""
        ordered = {s.id: self.answers[s.id] for s in self.samples if s.id in self.answers}
        answers = fail_odd_shapes(ordered).values()
        return [row for row, _ in answers], stack_maps([stored for _, stored in answers], self.worker.map_dtype)
