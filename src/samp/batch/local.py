"""A run in this process: threads read the next shard and write the last one while this one is explained.

    read (threads) ─► explain (here) ─► write (a thread)

On a GPU explaining a photo takes some milliseconds, and so does reading one and writing its map: one after the other
would leave the GPU idle for most of the time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from itertools import zip_longest

from samp.batch.explainer import BrokenDeviceError
from samp.batch.preprocess import Sample, read_samples
from samp.batch.shard_plan import Job, JobOutcome, RunPlan
from samp.batch.sources import Source
from samp.batch.worker import ReportProgress, ShardWriter, Worker
from samp.images import ignore_pillow_warnings
from samp.models import Classifier

THREADS = 8  # that read, at most: one for each core
SLOW = 10.0  # seconds for a shard: then waiting until it is written is no loss, and the next is too far to tell of it
JobReader = Generator[tuple[Job, list[Sample]], None, None]


@contextmanager
def run_in_process(
    plan: RunPlan, source: Source, feeding: Classifier, jobs: Sequence[Job], report: ReportProgress
) -> Iterator[Iterable[JobOutcome]]:
    """The outcome of every job (one at least), in order: the same work as `samp.batch.ray` gives to many."""
    worker = Worker(plan, report)
    with (
        ignore_pillow_warnings(),
        closing(_read_jobs(source, feeding, jobs)) as reading,
        ThreadPoolExecutor(1) as writer,
    ):
        yield _outcomes(worker, reading, writer)


def _outcomes(worker: Worker, reading: JobReader, writer: ThreadPoolExecutor) -> Iterator[JobOutcome]:
    """Each job's outcome once it is written, which the next one's explaining does not wait for: it is told of after
    that, unless that would take long.
    """
    waiting: list[Future[JobOutcome]] = []
    begun = time.monotonic()
    try:
        for job, samples in reading:
            write = worker.explain(job.shard, samples)
            yield from _drain(waiting)
            waiting.append(writer.submit(_timed_outcome, write, begun))
            if time.monotonic() - begun > SLOW:
                yield from _drain(waiting)
            begun = time.monotonic()
    except BrokenDeviceError:
        yield from _drain(waiting)
        raise
    yield from _drain(waiting)


def _drain(waiting: list[Future[JobOutcome]]) -> Iterator[JobOutcome]:
    while waiting:
        yield waiting.pop(0).result()


def _timed_outcome(write: ShardWriter, begun: float) -> JobOutcome:
    return replace(write(), seconds=time.monotonic() - begun)  # with reading, which nobody does beside


def _read_jobs(source: Source, feeding: Classifier, jobs: Sequence[Job]) -> JobReader:
    """Each job with its samples; the next one is read ahead where threads may read."""
    if not source.by_threads:
        yield from ((job, read_samples(source, job.entries, feeding, job.kept)) for job in jobs)
        return
    with ThreadPoolExecutor(min(THREADS, os.cpu_count() or 1)) as pool:
        begin = partial(_submit_reads, pool, source, feeding)
        try:
            ahead = begin(jobs[0])
            for job, following in zip_longest(jobs, jobs[1:]):
                now, ahead = ahead, begin(following) if following else []
                yield job, [sample for future in now for sample in future.result()]
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _submit_reads(
    pool: ThreadPoolExecutor, source: Source, feeding: Classifier, job: Job
) -> list[Future[list[Sample]]]:
    return [pool.submit(read_samples, source, [entry], feeding, job.kept) for entry in job.entries]
