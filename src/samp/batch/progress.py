"""How far a run is: the counts that `samp.run(on_progress=…)` is called with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class ShardProgress(NamedTuple):
    """How far an unfinished shard is."""

    explained: int
    failed: int
    seconds: float
    """Time spent on it so far."""


@dataclass
class RunProgress:
    """Counts of a run while it goes on; updated in place."""

    inputs: int
    found: int = 0
    """Inputs that were explained before this run."""
    explained: int = 0
    """Inputs with a map in shards that are written, before this run or in it."""
    failures: dict[str, str] = field(default_factory=dict)
    lost: dict[int, str] = field(default_factory=dict)
    kept: int = 0
    """Failures of an earlier run that are not tried again."""
    concurrency: int = 1
    """Batches that are worked on at a time."""
    inputs_per_batch: int = 1
    in_progress: Mapping[int, ShardProgress] = field(default_factory=dict)
    """The shards that are being worked on, by their numbers."""
    first_seconds: float = 0.0
    """Seconds of work in the batch that was done first: all time before it was spent on starting."""
    poll: Callable[[], Mapping[int, ShardProgress]] | None = None
    """Reads `in_progress` where workers are other processes."""

    @property
    def done_count(self) -> int:
        """Inputs that were explained or failed in this run."""
        return self.new_count + self.failed_count - self.kept

    @property
    def new_count(self) -> int:
        """Inputs explained in this run."""
        return self.explained - self.found + sum(shard.explained for shard in self.in_progress.values())

    @property
    def failed_count(self) -> int:
        """Inputs that failed, in this run or before."""
        return len(self.failures) + sum(shard.failed for shard in self.in_progress.values())

    @property
    def left_count(self) -> int:
        """Inputs that are neither explained nor failed."""
        return self.inputs - self.found - self.new_count - self.failed_count

    @property
    def under_way(self) -> float:
        """Work in batches of other workers, in inputs: half of each batch, which may be at its start or its end.

        >>> RunProgress(inputs=100, explained=10, concurrency=3, inputs_per_batch=10).under_way
        10.0
        """
        return min((self.concurrency - 1) * self.inputs_per_batch, self.left_count) / 2

    def update_shard(self, shard: int, progress: ShardProgress) -> None:
        """Note how far a shard is."""
        self.in_progress = {**self.in_progress, shard: progress}
        self.first_seconds = self.first_seconds or progress.seconds

    def finish_shard(self, shard: int) -> None:
        """Note that a shard is not worked on any more."""
        self.in_progress = {number: there for number, there in self.in_progress.items() if number != shard}

    def refresh(self) -> None:
        """Poll how far workers in other processes are, if there are any."""
        if self.poll is None:
            return
        self.in_progress = self.poll()
        seconds = (shard.seconds for shard in self.in_progress.values())
        self.first_seconds = self.first_seconds or max(seconds, default=0.0)


ProgressCallback = Callable[[RunProgress], None]
