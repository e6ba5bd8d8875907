"""A run in this process: threads read the next shard and write the previous one while this one is explained.

    read (threads) ─► explain (here) ─► write (a thread)

On a GPU, explaining a photo takes some milliseconds, as does reading it and writing its map: done in sequence, they
would leave the GPU idle most of the time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace

from samp.batch.explainer import BrokenDeviceError
from samp.batch.outcomes import JobOutcome
from samp.batch.preprocess import Sample, read_samples
from samp.batch.shard_plan import Job, RunPlan
from samp.batch.sources import Source
from samp.batch.worker import ReportProgress, ShardWriter, Worker
from samp.images import ignore_pillow_warnings
from samp.models import Classifier

THREADS = 8  # readers at most: one for each core
SLOW = 10.0  # seconds for a shard: then waiting for its files costs little, and the next report would be far off
JobReader = Generator[tuple[Job, list[Sample]], None, None]


@contextmanager
def run_in_process(
    plan: RunPlan, source: Source, preprocessor: Classifier, jobs: Iterable[Job], report: ReportProgress
) -> Iterator[Iterable[JobOutcome]]:
    """Yield an iterator over the outcome of each job, in order; the next job is asked for while one is done.

    For many workers see `run_on_devices` and `run_on_ray`.
    """
    worker = Worker(plan, report)
    with (
        ignore_pillow_warnings(),
        closing(_read_jobs(source, preprocessor, jobs)) as reading,
        ThreadPoolExecutor(1) as writer,
    ):
        yield _outcomes(worker, reading, writer)


def _outcomes(worker: Worker, reading: JobReader, writer: ThreadPoolExecutor) -> Iterator[JobOutcome]:
    """Yield the outcome of each job when it is written.

    A shard is written while the next one is explained, so its outcome comes after that; shards that take long are
    waited for, so that it does not come late.
    """
    waiting: list[Future[JobOutcome]] = []
    started = time.monotonic()
    try:
        for job, samples in reading:
            write = worker.explain(job.shard, samples)
            yield from _drain(waiting)
            waiting.append(writer.submit(_timed_outcome, write, started))
            if time.monotonic() - started > SLOW:
                yield from _drain(waiting)
            started = time.monotonic()
    except BrokenDeviceError:
        yield from _drain(waiting)
        raise
    yield from _drain(waiting)


def _drain(waiting: list[Future[JobOutcome]]) -> Iterator[JobOutcome]:
    while waiting:
        yield waiting.pop(0).result()


def _timed_outcome(write: ShardWriter, started: float) -> JobOutcome:
    return replace(write(), seconds=time.monotonic() - started)  # including the time for reading


def _read_jobs(source: Source, preprocessor: Classifier, jobs: Iterable[Job]) -> JobReader:
    """Yield each job with its samples; the next job is read ahead if the source allows threads."""
    if not source.by_threads:
        yield from ((job, read_samples(source, job.entries, preprocessor, job.kept)) for job in jobs)
        return
    with ThreadPoolExecutor(min(THREADS, os.cpu_count() or 1)) as pool:
        reads = ((job, _submit_reads(pool, source, preprocessor, job)) for job in jobs)
        try:
            now = next(reads, None)
            while now is not None:
                ahead = next(reads, None)
                yield now[0], [sample for future in now[1] for sample in future.result()]
                now = ahead
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _submit_reads(
    pool: ThreadPoolExecutor, source: Source, preprocessor: Classifier, job: Job
) -> list[Future[list[Sample]]]:
    return [pool.submit(read_samples, source, [entry], preprocessor, job.kept) for entry in job.entries]
