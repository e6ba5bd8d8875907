"""What workers are told: a plan that travels, and the jobs cut out of a data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from samp.batch.models import Model
from samp.batch.receipts import Receipt
from samp.batch.shards import Shards
from samp.batch.sources import Entry
from samp.engine.driver import Batches, BatchSize
from samp.methods import Method

MAP_DTYPES = ("float16", "bfloat16", "float32")


@dataclass(frozen=True, eq=False)
class RunPlan:
    """All that decides what the numbers of a run are, but for its inputs; and which rows of an earlier run stand."""

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
    inputs_per_batch: int
    """Inputs that are explained together at most."""
    keep_failed: bool = False

    @property
    def shards(self) -> Shards:
        return Shards(self.folder, self.form)

    def reusable_rows(self, there: Mapping[str, str | None], ids: Sequence[str]) -> dict[str, str | None]:
        """Of the inputs of a shard, those whose rows stand: whole batches without a failure, with their errors if any.

        `there` are the rows of an earlier run: of each id its error, or None. A batch is done again as a whole, so that
        it is the same batch, and each of its numbers the same to the last bit. Rows that are not of these inputs, or
        not in their order, are of another shard: then none stands.
        """
        if list(there) != [name for name in ids if name in there]:
            return {}
        good = {name for name, error in there.items() if self.keep_failed or error is None}
        batches = (ids[batch.start : batch.stop] for batch in cut_into_batches(len(ids), self.inputs_per_batch))
        return {name: there[name] for batch in batches if good.issuperset(batch) for name in batch}


@dataclass(frozen=True)
class Job:
    """A shard to be done: its number and its inputs."""

    shard: int
    entries: tuple[Entry, ...]
    kept: frozenset[str] = frozenset()
    """The ids of those whose rows of an earlier run stand."""

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(entry.id for entry in self.entries)


@dataclass(frozen=True)
class JobOutcome:
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


def cut_into_batches(count: int, most: int) -> list[range]:
    """Which of a shard's inputs are explained together: decided by their number alone, so that it stays the same when a
    run goes on, whatever can be read and whatever is there already.

    >>> cut_into_batches(5, 2), cut_into_batches(4, 3)
    ([range(0, 2), range(2, 4), range(4, 5)], [range(0, 2), range(2, 4)])
    """
    return list(Batches(most, 1, torch.device("cpu")).map_slices(count, range))


def make_jobs(entries: Sequence[Entry], size: int) -> list[Job]:
    """Shards of this many inputs, in order: the same ones every time.

    >>> [(job.shard, len(job.entries)) for job in make_jobs([Entry(str(i), i) for i in range(5)], 2)]
    [(0, 2), (1, 2), (2, 1)]
    """
    starts = range(0, len(entries), size)
    return [Job(number, tuple(entries[first : first + size])) for number, first in enumerate(starts)]


def error_line(error: Exception) -> str:
    r"""What an error says, in one line.

    >>> error_line(ValueError("no\nphoto")), error_line(KeyError())
    ('no photo', 'KeyError')
    """
    return " ".join(str(error).split()) or type(error).__name__
