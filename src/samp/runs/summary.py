"""What became of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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

    def plain(self) -> dict[str, Any]:
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


@dataclass
class Count:
    """A run as it goes: told to whoever shows progress."""

    inputs: int
    found: int = 0
    explained: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    lost: dict[int, str] = field(default_factory=dict)
    kept: int = 0
    """Failures of an earlier run that are let be."""
    hands: int = 1
    """Shards that are worked on at a time."""
    shard_size: int = 1
    first_took: float = 0.0
    """Seconds of work in the shard that was done first: what came before them was starting."""

    @property
    def done(self) -> int:
        """Inputs that are over with, well or badly, in this run."""
        return self.new + len(self.failures) - self.kept

    @property
    def new(self) -> int:
        """Inputs explained in this run."""
        return self.explained - self.found

    @property
    def left(self) -> int:
        """Inputs that are not over with yet."""
        return self.inputs - self.explained - len(self.failures)

    @property
    def under_way(self) -> float:
        """Inputs' worth of work in shards that others are at: half of each, as one may be at its start or its end.

        >>> Count(inputs=100, explained=10, hands=3, shard_size=10).under_way
        10.0
        """
        return min((self.hands - 1) * self.shard_size, self.left) / 2
