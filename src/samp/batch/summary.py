"""The result of `samp.run`: counts, failures and an exit code, and the error that carries them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DONE, SOME_FAILED, BROKE = 0, 1, 3  # exit codes of `samp run`; 2 is wrong usage, as everywhere in click


@dataclass(frozen=True)
class Summary:
    """Counts of a run, what failed and why, and the exit code that follows from them.

    >>> Summary(Path("out"), inputs=3, explained=2, failures={"a.jpg": "no photo"}).code
    1
    """

    folder: Path
    inputs: int
    explained: int
    """Inputs with a map, before this run or in it."""
    found: int = 0
    """Inputs that were explained before this run."""
    failures: dict[str, str] = field(default_factory=dict)
    """The reason of each input that failed, by its id."""
    lost: dict[int, str] = field(default_factory=dict)
    """The reason of each shard that could not be finished, by its number; its inputs may have no rows."""
    seconds: float = 0.0

    @property
    def code(self) -> int:
        """0 if every input is explained, 1 if each of the others failed with a reason, 3 if some have no row at all."""
        if self.explained == self.inputs:
            return DONE
        return SOME_FAILED if self.explained + len(self.failures) == self.inputs else BROKE

    def _repr_html_(self) -> str:
        from samp.display import summary_html

        return summary_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as values that JSON can hold."""
        counts = {"out": str(self.folder), "inputs": self.inputs, "explained": self.explained, "found": self.found}
        return {**counts, "failures": self.failures, "lost": self.lost, "seconds": round(self.seconds, 3)}


class BrokenRunError(RuntimeError):
    """A run broke before its end; the same call continues it. `summary` has its counts up to there.

    >>> str(BrokenRunError("the device is lost.", Summary(Path("out"), inputs=3, explained=2)))
    'the device is lost.'
    """

    def __init__(self, message: str, summary: Summary) -> None:
        super().__init__(message, summary)
        self.summary = summary

    def __str__(self) -> str:
        return str(self.args[0])
