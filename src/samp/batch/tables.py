"""Files of rows: Parquet if pyarrow is installed (extra `scale`), else JSON lines. Only this module imports pyarrow."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from samp.batch.messages import error_line
from samp.extras import install_command

Row = dict[str, Any]
WORDS, WHOLE, FRACTIONS = "words", "whole", "fractions"  # kinds of columns
COLUMNS: Mapping[str, str] = {
    "id": WORDS,
    "target": WHOLE,
    "label": WORDS,
    "predicted": WHOLE,
    "confidence": FRACTIONS,
    "score": FRACTIONS,
    "baseline_score_to_baseline": FRACTIONS,
    "baseline_score_to_image": FRACTIONS,
    "score_change": FRACTIONS,
    "credit": FRACTIONS,
    "residual": FRACTIONS,
    "gini": FRACTIONS,
    "top_share": FRACTIONS,
    "resolution": WHOLE,
    "gradients": WHOLE,
    "forwards": WHOLE,
    "seconds": FRACTIONS,
    "error": WORDS,
}
FORMS = ("parquet", "jsonl")
TIMING = ("seconds",)
"""Columns that differ between two runs with the same settings."""
LATER = ("resolution", "confidence")
"""Columns that runs of older versions do not have."""


def best_form() -> str:
    """Return the form in which rows are written: "parquet", or "jsonl" if pyarrow is not installed.

    >>> best_form() in ("parquet", "jsonl")
    True
    """
    return "parquet" if find_spec("pyarrow") else "jsonl"


def check_form(form: str) -> None:
    """Raise ImportError, before any work is done, if rows of this form cannot be written here."""
    if form == "parquet" and best_form() != form:
        raise ImportError(_parquet_missing())


def write_table(path: Path, rows: Sequence[Row], form: str) -> None:
    """Write these rows, with every column of `COLUMNS`; values that a row does not have are null.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(Path(folder) / "rows.jsonl", [{"id": "a", "score": 0.5}], "jsonl")
    ...     row = read_table(Path(folder) / "rows.jsonl")[0]
    >>> row["id"], row["score"], row["error"]
    ('a', 0.5, None)
    """
    full = [{name: row.get(name) for name in COLUMNS} for row in rows]
    if form == "jsonl":
        path.write_text("".join(json.dumps(row, allow_nan=False) + "\n" for row in full), encoding="utf-8")
        return
    arrow, parquet = _arrow()
    kinds = {WORDS: arrow.string(), WHOLE: arrow.int64(), FRACTIONS: arrow.float64()}
    schema = arrow.schema([(name, kinds[kind]) for name, kind in COLUMNS.items()])
    parquet.write_table(arrow.Table.from_pylist(full, schema), path)


def read_table(path: Path) -> list[Row]:
    """Return the rows of a CSV, TSV, Parquet or JSON-lines file; raises ValueError if it cannot be read as such."""
    readers = {".parquet": _parquet_rows, ".jsonl": _json_rows}
    with _wrap_errors(path):
        return readers.get(path.suffix.lower(), _csv_rows)(path)


def read_columns(path: Path, names: Sequence[str]) -> dict[str, Sequence[Any]]:
    """Return these columns of a file that `write_table` wrote, reading no others of Parquet; null is None or NaN.

    Those that an older version did not write are null.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(Path(folder) / "rows.jsonl", [{"id": "a", "score": 0.5}], "jsonl")
    ...     read_columns(Path(folder) / "rows.jsonl", ["score", "error"])
    {'score': [0.5], 'error': [None]}
    """
    if path.suffix != ".parquet":
        rows = read_table(path)
        return {name: [row.get(name) if name in LATER else row[name] for row in rows] for name in names}
    with _wrap_errors(path):
        file = _arrow()[1].ParquetFile(path)
        there = [name for name in names if name not in LATER or name in file.schema_arrow.names]
        table = file.read(there, use_threads=False)  # files are small
        words = [name for name in names if COLUMNS[name] == WORDS]
        found = {name: table[name].to_pylist() if name in words else table[name].to_numpy() for name in there}
        return {name: found.get(name, [None] * len(table)) for name in names}


@contextmanager
def _wrap_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except (OSError, ValueError, csv.Error) as error:  # pyarrow's errors derive from these
        raise ValueError(f"{path} cannot be read as a table ({error_line(error)}): write it again.") from error


def _csv_rows(path: Path) -> list[Row]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ","))


def _json_rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _parquet_rows(path: Path) -> list[Row]:
    rows: list[Row] = _arrow()[1].read_table(path).to_pylist()
    return rows


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(_parquet_missing()) from error
    return pyarrow, pyarrow.parquet


def _parquet_missing() -> str:
    return f"Parquet files need pyarrow, which is not installed: {install_command('scale')}."
