"""What became of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


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
        """0: everything is explained; 1: something is; 2: nothing is."""
        return 0 if self.explained == self.inputs else 1 if self.explained else 2

    def plain(self) -> dict[str, Any]:
        """Ready for JSON."""
        counts = {"out": str(self.folder), "inputs": self.inputs, "explained": self.explained, "found": self.found}
        return {**counts, "failures": self.failures, "lost": self.lost, "seconds": round(self.seconds, 3)}


@dataclass
class Count:
    """A run as it goes: told to whoever shows progress."""

    inputs: int
    found: int = 0
    explained: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    lost: dict[int, str] = field(default_factory=dict)

    @property
    def done(self) -> int:
        """Inputs that are over with, well or badly, in this run."""
        return self.explained - self.found + len(self.failures)
