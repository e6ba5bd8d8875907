"""How far workers in other processes are with their shards: a small file of each, in a folder that all see."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from samp.batch.summary import ShardProgress

FOLDER = ".begun"


@dataclass(frozen=True)
class ProgressFiles:
    """The marks of a run. They are a courtesy: what hinders one, or harms it, costs nothing but that line of progress.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     marks = ProgressFiles(Path(folder))
    ...     marks.write(3, ShardProgress(5, 1, 2.0))
    ...     there = marks.read()
    ...     marks.clear()
    ...     there, marks.read(), os.listdir(folder)
    ({3: ShardProgress(explained=5, failed=1, seconds=2.0)}, {}, [])
    """

    out: Path

    def write(self, shard: int, progress: ShardProgress) -> None:
        """Say how far this shard is."""
        with suppress(OSError):
            (self.out / FOLDER).mkdir(exist_ok=True)
            unfinished = self._path(shard).with_suffix(".part")
            unfinished.write_text(json.dumps(progress), encoding="utf-8")
            os.replace(unfinished, self._path(shard))

    def read(self) -> dict[int, ShardProgress]:
        """How far each shard is, by its number."""
        found = {}
        with suppress(OSError):
            for path in (self.out / FOLDER).glob("*.json"):
                with suppress(OSError, ValueError, TypeError):  # just taken away, or no mark of ours
                    explained, failed, seconds = json.loads(path.read_text(encoding="utf-8"))
                    found[int(path.stem)] = ShardProgress(int(explained), int(failed), float(seconds))
        return found

    def forget(self, shard: int) -> None:
        """This shard is not worked on any more."""
        with suppress(OSError):
            self._path(shard).unlink(missing_ok=True)

    def clear(self) -> None:
        """Take away all marks, of workers that died too."""
        with suppress(OSError):
            for path in (self.out / FOLDER).glob("[0-9]*"):
                path.unlink(missing_ok=True)
            (self.out / FOLDER).rmdir()

    def _path(self, shard: int) -> Path:
        return self.out / FOLDER / f"{shard:06d}.json"
