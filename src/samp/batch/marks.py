"""How far workers in other processes are with their shards: a small file of each, in a folder that all see."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from samp.batch.summary import Begun

FOLDER = ".begun"


@dataclass(frozen=True)
class Marks:
    """The marks of a run. They are a courtesy: what hinders one, or harms it, costs nothing but that line of progress.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     marks = Marks(Path(folder))
    ...     marks.write(3, Begun(5, 1, 2.0))
    ...     there = marks.read()
    ...     marks.clear()
    ...     there, marks.read(), os.listdir(folder)
    ({3: Begun(explained=5, failed=1, seconds=2.0)}, {}, [])
    """

    out: Path

    def write(self, shard: int, begun: Begun) -> None:
        """Say how far this shard is."""
        with suppress(OSError):
            (self.out / FOLDER).mkdir(exist_ok=True)
            unfinished = self._place(shard).with_suffix(".part")
            unfinished.write_text(json.dumps(begun), encoding="utf-8")
            os.replace(unfinished, self._place(shard))

    def read(self) -> dict[int, Begun]:
        """How far each shard is, by its number."""
        found = {}
        with suppress(OSError):
            for path in (self.out / FOLDER).glob("*.json"):
                with suppress(OSError, ValueError, TypeError):  # just taken away, or no mark of ours
                    explained, failed, seconds = json.loads(path.read_text(encoding="utf-8"))
                    found[int(path.stem)] = Begun(int(explained), int(failed), float(seconds))
        return found

    def forget(self, shard: int) -> None:
        """This shard is not worked on any more."""
        with suppress(OSError):
            self._place(shard).unlink(missing_ok=True)

    def clear(self) -> None:
        """Take away all marks, of workers that died too."""
        with suppress(OSError):
            for path in (self.out / FOLDER).glob("[0-9]*"):
                path.unlink(missing_ok=True)
            (self.out / FOLDER).rmdir()

    def _place(self, shard: int) -> Path:
        return self.out / FOLDER / f"{shard:06d}.json"
