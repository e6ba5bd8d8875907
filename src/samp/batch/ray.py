"""Ray Data as the engine: readers open and cut inputs, workers that hold the model explain them, shard by shard.

    jobs ─► read (tasks, on CPUs) ─► explain and write (actors, one model each) ─► outcomes

One row is one shard, so which inputs go together does not depend on how many workers there are. Ray Data holds the
readers back when workers fall behind, starts a worker anew when it dies, and gives its shard to another. A worker
writes its shards itself: nothing but outcomes comes back.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from samp.batch.explainer import BrokenDeviceError
from samp.batch.models import Model
from samp.batch.preprocess import Sample, read_samples
from samp.batch.progress_files import ProgressFiles
from samp.batch.ray_session import ray_session, startable_workers
from samp.batch.shard_plan import Job, JobOutcome, RunPlan, error_line
from samp.batch.sources import Source
from samp.batch.worker import Worker
from samp.batch.workers import Workers
from samp.models import Classifier

MOST_DEATHS = 3  # of workers over one shard: one that kills its worker every time must not do so for ever
READERS = 8  # for each worker at most; Ray starts as many as there is need and room for
WAITING = 2  # shards given to a worker at a time: the one it is at, and the next


@contextmanager
def run_on_ray(
    plan: RunPlan, source: Source, feeding: Classifier, jobs: Sequence[Job], workers: Workers
) -> Iterator[Iterable[JobOutcome]]:
    """The outcome of each job as it comes in, in any order; a job whose worker died each time has none."""
    readers = min(READERS * workers.concurrency, len(jobs))
    with ray_session(workers) as ray:
        first = max(startable_workers(ray, workers), 1)
        reading, working = (Parcel.pack(ray, plan.model, *things) for things in ((source, feeding), (plan,)))
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
        with closing(_unpickle_outcomes(data)) as outcomes:  # ends the work, in a Ray that goes on
            yield outcomes


def _unpickle_outcomes(data: Any) -> Generator[JobOutcome, None, None]:
    for row in data.iter_rows():
        yield pickle.loads(row["outcome"])


@dataclass(frozen=True)
class Parcel:
    """What a worker is sent, unpacked by ourselves: only then can it be told first where modules lie, and what hinders
    it be caught."""

    modules: tuple[str, ...]
    content: bytes

    @classmethod
    def pack(cls, ray: Any, model: Model, *things: Any) -> Parcel:
        try:
            return cls(model.modules, ray.cloudpickle.dumps(things))  # which takes classes of a script or notebook too
        except (TypeError, pickle.PicklingError) as error:
            raise TypeError(
                f"the data set or the model cannot be sent to workers ({error_line(error)}): open files when an item "
                "is read, or leave out the workers."
            ) from error

    @lru_cache(maxsize=1)  # noqa: B019  # a process opens one parcel for many shards, and holds no other
    def unpack(self) -> Any:
        sys.path.extend(place for place in self.modules if place not in sys.path)
        return pickle.loads(self.content)


def _read_job(row: dict[str, Any], reading: Parcel) -> dict[str, Any]:
    job: Job = pickle.loads(row["job"])
    try:
        source, feeding = reading.unpack()
    except Exception as error:
        samples = [Sample(entry.id, entry.target, None, error_line(error)) for entry in job.entries]
    else:
        samples = read_samples(source, job.entries, feeding, job.kept)
    return {"shard": job.shard, "samples": pickle.dumps(samples)}


class _Actor:
    """A worker in a process of its own; Ray starts it anew when it dies, and has it try its shard again."""

    def __init__(self, working: Parcel) -> None:
        self.useless = ""
        try:
            (self.plan,) = working.unpack()
            self.worker = Worker(self.plan, ProgressFiles(self.plan.folder).write)
        except Exception as error:  # Ray would start it again and again
            self.useless = error_line(error)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        return {"outcome": [pickle.dumps(self._outcome(int(batch["shard"][0]), batch["samples"][0]))]}

    def _outcome(self, shard: int, samples: bytes) -> JobOutcome:
        if self.useless:
            return JobOutcome(shard, error=self.useless, hopeless=True)
        attempts = self.plan.shards.attempts(shard)
        if attempts.start() > MOST_DEATHS:
            return JobOutcome(
                shard, error=f"its worker died {MOST_DEATHS} times over it: look for an input that does this."
            )
        try:
            outcome = self.worker.work(shard, pickle.loads(samples))
        except BrokenDeviceError:
            os._exit(1)  # no call would succeed in this process; Ray starts another, with a device that works
        attempts.clear()
        return outcome
