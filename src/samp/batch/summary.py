"""What became of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

DONE, SOME_FAILED, WRONG_USAGE, BROKE = 0, 1, 2, 3  # exit codes of `samp run`; 2 is also click's


@dataclass(frozen=True)
class Summary:
    """Counts of a run, what failed and why, and the exit code that says it.

    >>> Summary(Path("out"), inputs=3, explained=2, failures={"a.jpg": "no photo"}).code
    1
    """

    folder: Path
    inputs: int
    explained: int
    """Inputs with a map, before this run or in it."""
    found: int = 0
    """Those of them that were there already."""
    failures: dict[str, str] = field(default_factory=dict)
    """Why each input that was tried failed, by its id."""
    lost: dict[int, str] = field(default_factory=dict)
    """Why each shard that could not be finished was not; its inputs have no rows."""
    seconds: float = 0.0

    @property
    def code(self) -> int:
        """0: everything is explained; 1: all was tried, and what failed has its reason; 3: some have no row at all."""
        if self.explained == self.inputs:
            return DONE
        return SOME_FAILED if self.explained + len(self.failures) == self.inputs else BROKE

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        counts = {"out": str(self.folder), "inputs": self.inputs, "explained": self.explained, "found": self.found}
        return {**counts, "failures": self.failures, "lost": self.lost, "seconds": round(self.seconds, 3)}


class BrokenRunError(RuntimeError):
    """A run that broke under way; the same call again goes on.

    >>> str(BrokenRunError("the device is lost.", Summary(Path("out"), inputs=3, explained=2)))
    'the device is lost.'
    """

    def __init__(self, said: str, summary: Summary) -> None:
        super().__init__(said, summary)
        self.summary = summary
        """How far it came."""

    def __str__(self) -> str:
        return str(self.args[0])


class ShardProgress(NamedTuple):
    """How far a shard is that is being worked on."""

    explained: int
    failed: int
    seconds: float
    """Of work on it."""


@dataclass
class RunProgress:
    """A run as it goes: told to whoever shows progress."""

    inputs: int
    found: int = 0
    explained: int = 0
    """Inputs with a map in shards that are written, before this run or in it."""
    failures: dict[str, str] = field(default_factory=dict)
    lost: dict[int, str] = field(default_factory=dict)
    kept: int = 0
    """Failures of an earlier run that are let be."""
    concurrency: int = 1
    """Batches that are worked on at a time."""
    inputs_per_batch: int = 1
    """Inputs of a batch."""
    begun: Mapping[int, ShardProgress] = field(default_factory=dict)
    """How far each shard is that is being worked on, by its number."""
    first_seconds: float = 0.0
    """Seconds of work in what was done first: what came before them was starting."""
    poll: Callable[[], Mapping[int, ShardProgress]] | None = None
    """Finds what workers in other processes have begun."""

    @property
    def done_count(self) -> int:
        """Inputs that are over with, well or badly, in this run."""
        return self.new_count + self.failed_count - self.kept

    @property
    def new_count(self) -> int:
        """Inputs explained in this run."""
        return self.explained - self.found + sum(begun.explained for begun in self.begun.values())

    @property
    def failed_count(self) -> int:
        """Inputs that failed, in this run or before."""
        return len(self.failures) + sum(begun.failed for begun in self.begun.values())

    @property
    def left_count(self) -> int:
        """Inputs that are not over with yet."""
        return self.inputs - self.found - self.new_count - self.failed_count

    @property
    def under_way(self) -> float:
        """Inputs' worth of work in batches that others are at: half of each, as one may be at its start or its end.

        >>> RunProgress(inputs=100, explained=10, concurrency=3, inputs_per_batch=10).under_way
        10.0
        """
        return min((self.concurrency - 1) * self.inputs_per_batch, self.left_count) / 2

    def update_shard(self, shard: int, progress: ShardProgress) -> None:
        """A worker is so far with its shard."""
        self.begun = {**self.begun, shard: progress}
        self.first_seconds = self.first_seconds or progress.seconds

    def finish_shard(self, shard: int) -> None:
        """A shard is not worked on any more."""
        self.begun = {number: begun for number, begun in self.begun.items() if number != shard}

    def refresh(self) -> None:
        """See how far workers in other processes are."""
        if self.poll is None:
            return
        self.begun = self.poll()
        self.first_seconds = self.first_seconds or max((begun.seconds for begun in self.begun.values()), default=0.0)
