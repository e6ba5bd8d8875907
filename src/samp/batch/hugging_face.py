"""Data sets that Hugging Face's `datasets` saved on disk; the package is imported when one is opened."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from samp.batch.sources import Entry, Items


@dataclass(frozen=True)
class SavedDataset:
    """A folder that `Dataset.save_to_disk` wrote. (A data set in memory is a map-style one: `Items` takes it.)

    >>> SavedDataset(Path("flowers")).describe()
    {'kind': 'Hugging Face', 'place': 'flowers'}
    """

    by_threads: ClassVar[bool] = False

    folder: Path

    def entries(self) -> list[Entry]:
        return self._items().entries()

    def read(self, entry: Entry) -> Any:
        return self._items().read(entry)

    def describe(self) -> dict[str, Any]:
        return {"kind": "Hugging Face", "place": str(self.folder)}

    def _items(self) -> Items:
        if str(self.folder) not in _OPEN:
            try:
                from datasets import load_from_disk
            except ImportError as error:
                raise ImportError(f"{self.folder} needs the package datasets: pip install datasets.") from error
            _OPEN.clear()  # a worker reads one data set at a time
            _OPEN[str(self.folder)] = Items(load_from_disk(str(self.folder)))
        return _OPEN[str(self.folder)]


_OPEN: dict[str, Items] = {}  # each process opens a data set once
