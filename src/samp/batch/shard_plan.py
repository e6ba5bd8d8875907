"""What workers get: the plan of a run, which can be sent to them, and the jobs that a data set is cut into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from samp.batch.models import Model
from samp.batch.shards import Shards
from samp.batch.sources import Entry
from samp.engine.batches import Batches, BatchSize
from samp.methods import Method

MAP_DTYPES = ("float16", "bfloat16", "float32")


@dataclass(frozen=True, eq=False)
class RunPlan:
    """Everything but the inputs that decides the numbers of a run, and which rows of an earlier run are reused."""

    model: Model
    weights: str
    """The fingerprint that the model's weights must have on every worker."""
    method: Method
    target: str | None
    batch_size: BatchSize
    map_dtype: str
    seed: int
    speed: str
    folder: Path
    form: str
    """Of the files of rows: "parquet" or "jsonl"."""
    device: str
    dtype: str
    inputs_per_batch: int
    """How many inputs are explained together at most."""
    keep_failed: bool = False

    @property
    def shards(self) -> Shards:
        return Shards(self.folder, self.form)

    def reusable_rows(self, there: Mapping[str, str | None], ids: Sequence[str]) -> dict[str, str | None]:
        """Return the rows of a shard that need not be done again: the error of each by its id, None if it has none.

        `there` are the rows of an earlier run in the same form, `ids` the inputs of the shard. A batch is done again as
        a whole if any of its rows is missing or failed: then it is the same batch, and each number the same to the last
        bit. Rows of other inputs, or in another order, are those of another shard: then none is reused.
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
    """The ids of inputs whose rows of an earlier run are reused."""

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(entry.id for entry in self.entries)


def cut_into_batches(count: int, most: int) -> list[range]:
    """Return which of a shard's inputs are explained together.

    This depends on their number alone, so a run that is continued has the same batches, whichever inputs can be read
    and whichever are there already.

    >>> cut_into_batches(5, 2), cut_into_batches(4, 3)
    ([range(0, 2), range(2, 4), range(4, 5)], [range(0, 2), range(2, 4)])
    """
    return list(Batches(most, 1, torch.device("cpu")).map_slices(count, range))


def make_jobs(entries: Sequence[Entry], size: int) -> list[Job]:
    """Return the shards of this many inputs each, in order: the same ones every time.

    >>> [(job.shard, len(job.entries)) for job in make_jobs([Entry(str(i), i) for i in range(5)], 2)]
    [(0, 2), (1, 2), (2, 1)]
    """
    starts = range(0, len(entries), size)
    return [Job(number, tuple(entries[first : first + size])) for number, first in enumerate(starts)]
