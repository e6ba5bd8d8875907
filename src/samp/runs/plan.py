"""What workers are told: a plan that travels, the jobs cut out of a data set, and what a worker does with one."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from samp.batches import BatchSize
from samp.files import UnwritableError
from samp.methods import Method
from samp.runs.explainer import BrokenDeviceError, Explainer
from samp.runs.feeding import Sample
from samp.runs.models import Model, fingerprint
from samp.runs.shards import Receipt, Shards, packed
from samp.runs.sources import Entry
from samp.runs.tables import Row

MAP_DTYPES = ("float16", "bfloat16", "float32")


@dataclass(frozen=True, eq=False)
class Plan:
    """All that decides what the numbers of a run are, but for its inputs."""

    model: Model
    weights: str
    """The fingerprint that the model's weights must have, on every worker."""
    method: Method
    target: str | None
    batch_size: BatchSize
    map_dtype: str
    seed: int
    speed: str
    folder: Path
    form: str
    device: str
    dtype: str

    @property
    def shards(self) -> Shards:
        return Shards(self.folder, self.form)


@dataclass(frozen=True)
class Job:
    """A shard to be done: its number and its inputs."""

    shard: int
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Outcome:
    """What became of a job: the receipt of its shard, or why there is none."""

    shard: int
    receipt: Receipt | None = None
    error: str = ""
    full: bool = False
    """Whether it failed for want of room, so that no other shard would fit either."""
    hopeless: bool = False
    """Whether its worker can do nothing at all."""
    seconds: float = 0.0
    """Of work."""


Writing = Callable[[], Outcome]


class Worker:
    """Holds the model and does one job after the other."""

    def __init__(self, plan: Plan) -> None:
        classifier = plan.model.load()
        if fingerprint(classifier.net) != plan.weights:
            raise ValueError(
                f"{classifier.name} has other weights each time it is made, so a data set cannot be explained by it: "
                "seed its factory, or give its weights in a file."
            )
        self.plan = plan
        how = {"batch_size": plan.batch_size, "seed": plan.seed, "speed": plan.speed}
        self.map_dtype: torch.dtype = getattr(torch, plan.map_dtype)
        self.explainer = Explainer(classifier, plan.method, plan.target, self.map_dtype, **how)

    def work(self, shard: int, samples: Sequence[Sample]) -> Outcome:
        """Explain these samples and write their shard."""
        return self.explain(shard, samples)()

    def explain(self, shard: int, samples: Sequence[Sample]) -> Writing:
        """Explain these samples; what comes back writes their shard. What goes wrong costs this shard alone.

        But for a device that is lost, with which nothing more can be done: that is raised.
        """
        started = time.monotonic()
        try:
            rows, maps = self.explainer.explain(samples)
            together = packed(maps, self.map_dtype)
        except BrokenDeviceError:
            raise
        except Exception as error:
            return partial(Outcome, shard, error=words(error))
        return partial(self._write, shard, rows, together, started)

    def _write(self, shard: int, rows: list[Row], maps: dict[str, Tensor], started: float) -> Outcome:
        try:
            receipt = self.plan.shards.write(shard, rows, maps)
        except UnwritableError as error:
            return Outcome(shard, error=str(error), full=error.full)
        except Exception as error:
            return Outcome(shard, error=words(error))
        return Outcome(shard, receipt, seconds=time.monotonic() - started)


def cut(entries: Sequence[Entry], size: int) -> list[Job]:
    """Shards of this many inputs, in order: the same ones every time.

    >>> [(job.shard, len(job.entries)) for job in cut([Entry(str(i), i) for i in range(5)], 2)]
    [(0, 2), (1, 2), (2, 1)]
    """
    starts = range(0, len(entries), size)
    return [Job(number, tuple(entries[first : first + size])) for number, first in enumerate(starts)]


def words(error: Exception) -> str:
    r"""What an error says, in one line.

    >>> words(ValueError("no\nphoto")), words(KeyError())
    ('no photo', 'KeyError')
    """
    return " ".join(str(error).split()) or type(error).__name__
