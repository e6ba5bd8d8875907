"""The numbers of a whole run as arrays: a million inputs take some tens of megabytes, where rows take gigabytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from samp.batch.tables import COLUMNS, WORDS, Row

Array = np.ndarray[Any, Any]
NUMBERS = tuple(name for name, kind in COLUMNS.items() if kind != WORDS)
READ_COLUMNS = (*NUMBERS, "label", "error")
"""All columns but the ids, which are most of a file and needed for few rows."""
TRUE = "true"  # the column of the classes that labels say


@dataclass(frozen=True, eq=False)
class Columns:
    """One value for each row of a run, shard after shard; NaN where a row has none.

    >>> rows = [{"id": "a", "target": 1, "label": "cat", "score": 0.5}, {"id": "b", "error": "no photo"}]
    >>> columns = Columns.from_rows(rows)
    >>> columns["score"], columns.failed, columns.labels
    (array([0.5, nan]), array([False,  True]), {1: 'cat'})
    """

    numbers: Mapping[str, Array]
    failed: Array
    labels: Mapping[int, str]
    """The names of the classes that were explained, by their numbers."""
    shards: Sequence[int]
    ends: Array
    """The number of rows up to the end of each shard."""

    def __getitem__(self, name: str) -> Array:
        return self.numbers[name]

    def __len__(self) -> int:
        return len(self.failed)

    @property
    def explained_count(self) -> int:
        """How many rows did not fail."""
        return len(self) - int(self.failed.sum())

    @property
    def is_judged(self) -> Array:
        """Which rows have both an answer of the model and a label."""
        both: Array = ~np.isnan(self["predicted"]) & ~np.isnan(self[TRUE])
        return both

    @property
    def wrong(self) -> Array:
        """Which rows have a label, and an answer of the model that is another class.

        >>> rows = [{"predicted": 1, "true": 1}, {"predicted": 1, "true": 0}, {"predicted": 1}, {"true": 0}]
        >>> Columns.from_rows(rows).wrong
        array([False,  True, False, False])
        """
        found: Array = self.is_judged & (self["predicted"] != self[TRUE])
        return found

    def locate(self, position: int) -> tuple[int, int]:
        """Return the shard of a row, and its place in the shard.

        >>> one, two = ({name: numbers for name in READ_COLUMNS} for numbers in ([0.0], [0.0, 1.0]))
        >>> Columns.from_shards([(3, one), (7, two)]).locate(2)
        (7, 1)
        """
        nth = int(np.searchsorted(self.ends, position, side="right"))
        return self.shards[nth], position - (int(self.ends[nth - 1]) if nth else 0)

    @classmethod
    def from_shards(cls, parts: Iterable[tuple[int, Mapping[str, Sequence[Any]]]]) -> Columns:
        """Join the columns `READ_COLUMNS` of shards, each with its number; None and NaN are values that are missing.

        A column `true` holds the true classes, where there are labels.
        """
        numbers: dict[str, list[Array]] = {name: [np.empty(0)] for name in (*NUMBERS, TRUE)}
        failed, labels, shards = [np.empty(0, bool)], dict[int, str](), []
        for shard, part in parts:
            shards.append(shard)
            for name in (*NUMBERS, TRUE):
                numbers[name].append(
                    np.asarray(part[name] if name in part else [None] * len(part["error"]), dtype=float)
                )
            failed.append(np.array([error is not None for error in part["error"]], dtype=bool))
            classes, firsts = np.unique(numbers["target"][-1], return_index=True)
            labels |= {int(c): part["label"][i] for c, i in zip(classes, firsts, strict=True) if not np.isnan(c)}
        ends = np.cumsum([len(some) for some in failed[1:]], dtype=np.int64)
        whole = {name: np.concatenate(some) for name, some in numbers.items()}
        return cls(whole, np.concatenate(failed), labels, shards, ends)

    @classmethod
    def from_rows(cls, rows: Sequence[Row]) -> Columns:
        """Return the columns of rows in memory, as one shard."""
        return cls.from_shards([(0, {name: [row.get(name) for row in rows] for name in (*READ_COLUMNS, TRUE)})])
