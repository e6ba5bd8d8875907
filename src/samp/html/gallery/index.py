"""What the gallery's page knows of every input: numbers as arrays, and names that are unpacked when they are shown."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping

import numpy as np

from samp.batch.columns import TRUE, Array, Columns
from samp.batch.results import RunResults
from samp.html.report_facts import QUANTITIES

PER_PACK = 256  # names that are unpacked together
WHOLE = (TRUE, "predicted", "target")  # class numbers; −1 where there is none
FRACTIONS = ("confidence", "error_share", "gini", "score")


def pack_numbers(columns: Columns) -> str:
    """Return the numbers of all inputs, packed: int32 for `WHOLE`, float32 for `FRACTIONS`, a byte for failures.

    >>> packed = pack_numbers(Columns.from_rows([{"predicted": 3, "gini": 0.5}]))
    >>> len(gzip.decompress(base64.b64decode(packed)))
    29
    """
    parts = [np.nan_to_num(columns[name], nan=-1).astype("<i4") for name in WHOLE]
    parts += [_fractions(columns, name).astype("<f4") for name in FRACTIONS]
    return _pack(b"".join(part.tobytes() for part in (*parts, columns.failed.astype("u1"))))


def _fractions(columns: Columns, name: str) -> Array:
    values = QUANTITIES[0].per_input(columns) if name == QUANTITIES[0].key else columns[name]
    with np.errstate(over="ignore"):  # beyond float32 is infinite enough to be sorted
        return values


class NamePacker:
    """Packs the id, file and error of inputs, `PER_PACK` at a time."""

    def __init__(self) -> None:
        self.packs: list[str] = []
        self.waiting: list[tuple[str, str | None, str | None]] = []

    def add(self, name: str, path: str | None, error: str | None) -> None:
        """Add the next input."""
        self.waiting.append((name, path, error))
        if len(self.waiting) == PER_PACK:
            self._flush()

    def finish(self) -> str:
        """Return all packs, with spaces between."""
        self._flush()
        return " ".join(self.packs)

    def _flush(self) -> None:
        if self.waiting:
            self.packs.append(_pack(json.dumps(self.waiting, ensure_ascii=False).encode("utf-8", "replace")))
            self.waiting = []


def class_names(run: RunResults, columns: Columns) -> Mapping[str, str]:
    """Return the name of each class that occurs, by its number as text, which is what JSON has for keys."""
    seen = np.unique(np.concatenate([columns[name] for name in WHOLE]))
    numbers = seen[~np.isnan(seen)].astype(int).tolist()
    return {str(number): columns.labels.get(number) or run.class_name(number) for number in numbers}


def _pack(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content, 6, mtime=0)).decode("ascii")
