"""Progress of workers in other processes: each writes a small file for its shard, in a folder that all of them see."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from samp.batch.progress import ShardProgress

FOLDER = ".begun"


@dataclass(frozen=True)
class ProgressFiles:
    """The progress files of a run. They only feed the line of progress, so errors with them are ignored.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = ProgressFiles(Path(folder))
    ...     files.write(3, ShardProgress(5, 1, 2.0))
    ...     there = files.read()
    ...     files.clear()
    ...     there, files.read(), os.listdir(folder)
    ({3: ShardProgress(explained=5, failed=1, seconds=2.0)}, {}, [])
    """

    out: Path

    def write(self, shard: int, progress: ShardProgress) -> None:
        """Write how far this shard is."""
        with suppress(OSError):
            (self.out / FOLDER).mkdir(exist_ok=True)
            unfinished = self._path(shard).with_suffix(".part")
            unfinished.write_text(json.dumps(progress), encoding="utf-8")
            os.replace(unfinished, self._path(shard))

    def read(self) -> dict[int, ShardProgress]:
        """Return how far each shard is, by its number."""
        progress = {}
        with suppress(OSError):
            for path in (self.out / FOLDER).glob("*.json"):
                with suppress(OSError, ValueError, TypeError):  # just removed, or not one of ours
                    explained, failed, seconds = json.loads(path.read_text(encoding="utf-8"))
                    progress[int(path.stem)] = ShardProgress(int(explained), int(failed), float(seconds))
        return progress

    def forget(self, shard: int) -> None:
        """Remove the file of a shard that is not worked on any more."""
        with suppress(OSError):
            self._path(shard).unlink(missing_ok=True)

    def clear(self) -> None:
        """Remove all files, also those of workers that died."""
        with suppress(OSError):
            for path in (self.out / FOLDER).glob("[0-9]*"):
                path.unlink(missing_ok=True)
            (self.out / FOLDER).rmdir()

    def _path(self, shard: int) -> Path:
        return self.out / FOLDER / f"{shard:06d}.json"
