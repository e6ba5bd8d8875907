"""A run on Ray Data: tasks read and crop inputs, actors that hold the model explain them, shard by shard.

    jobs ─► read (tasks, on CPUs) ─► explain and write (actors, one model each) ─► outcomes

A row of Ray's data is a shard, so which inputs are explained together does not depend on the number of workers. Ray
Data holds the readers back when workers fall behind, restarts a worker that dies, and gives its shard to another.
Workers write their shards themselves: only outcomes come back.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from samp.batch.explainer import BrokenDeviceError
from samp.batch.messages import error_line
from samp.batch.outcomes import MOST_DEATHS, JobOutcome, outcome_of_deaths
from samp.batch.parcel import Parcel
from samp.batch.preprocess import Sample, read_samples
from samp.batch.progress_files import ProgressFiles
from samp.batch.ray_session import ray_session, startable_workers
from samp.batch.shard_plan import Job, RunPlan
from samp.batch.sources import Source
from samp.batch.worker import Worker
from samp.batch.workers import Workers
from samp.models import Classifier

READERS = 8  # per worker at most; Ray starts as many as it needs and has room for
WAITING = 2  # shards given to a worker at a time: the present and the next one


@contextmanager
def run_on_ray(
    plan: RunPlan, source: Source, preprocessor: Classifier, jobs: Sequence[Job], workers: Workers
) -> Iterator[Iterable[JobOutcome]]:
    """Yield an iterator over the outcomes of jobs, in any order; a job whose reader died each time has none."""
    readers = min(READERS * workers.concurrency, len(jobs))
    with ray_session(workers) as ray:
        first = max(startable_workers(ray, workers), 1)
        dumps = ray.cloudpickle.dumps  # takes classes of a script or notebook too
        reading = Parcel.pack(plan.model, source, preprocessor, dumps=dumps)
        working = Parcel.pack(plan.model, plan, dumps=dumps)
        data = ray.data.from_items([{"job": pickle.dumps(job)} for job in jobs], override_num_blocks=len(jobs))
        data = data.map(
            _read_job,
            fn_kwargs={"reading": reading},
            compute=ray.data.TaskPoolStrategy(size=readers),  # without a size, Ray would let the workers read
            num_cpus=1,
        )
        data = data.map_batches(
            _Actor,
            batch_size=1,
            compute=ray.data.ActorPoolStrategy(
                min_size=first, max_size=workers.concurrency, max_tasks_in_flight_per_actor=WAITING
            ),
            fn_constructor_args=(working,),
            num_cpus=workers.cpus_per_worker,
            num_gpus=workers.gpus_per_worker or None,
        )
        with closing(_unpickle_outcomes(data)) as outcomes:  # closing ends the work in a Ray that stays
            yield outcomes


def _unpickle_outcomes(data: Any) -> Generator[JobOutcome, None, None]:
    for row in data.iter_rows():
        yield pickle.loads(row["outcome"])


def _read_job(row: dict[str, Any], reading: Parcel) -> dict[str, Any]:
    job: Job = pickle.loads(row["job"])
    try:
        source, preprocessor = reading.unpack()
    except Exception as error:
        samples = [Sample(entry.id, entry.target, None, error_line(error)) for entry in job.entries]
    else:
        samples = read_samples(source, job.entries, preprocessor, job.kept)
    return {"shard": job.shard, "samples": pickle.dumps(samples)}


class _Actor:
    """A worker in a process of its own, which Ray restarts with its shard when it dies."""

    def __init__(self, working: Parcel) -> None:
        self.error = ""
        try:
            (plan,) = working.unpack()
            self.plan: RunPlan = plan
            self.worker = Worker(self.plan, ProgressFiles(self.plan.folder).write)
        except Exception as error:  # if raised, Ray would restart it again and again
            self.error = error_line(error)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        return {"outcome": [pickle.dumps(self._outcome(int(batch["shard"][0]), batch["samples"][0]))]}

    def _outcome(self, shard: int, samples: bytes) -> JobOutcome:
        if self.error:
            return JobOutcome(shard, error=self.error, hopeless=True)
        attempts = self.plan.shards.attempts(shard)
        if attempts.start() > MOST_DEATHS:
            return outcome_of_deaths(shard)
        try:
            outcome = self.worker.work(shard, pickle.loads(samples))
        except BrokenDeviceError:
            os._exit(1)  # no call would succeed in this process; Ray starts another
        attempts.clear()
        return outcome
