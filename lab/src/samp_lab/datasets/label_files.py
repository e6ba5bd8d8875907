"""`labels.csv`, the table of the classes of photos in a folder."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

INDEX = ("index", "class_index", "label")
NAME = ("name", "species", "class")
MOST = 1_000_000  # classes; a larger index is a typing error, and would need as many names


@dataclass(frozen=True)
class Labels:
    """The class index of each file, the names of all classes, and the WordNet ids if given.

    >>> Labels({"a.png": 1}, ("cat", "dog")).indices["a.png"]
    1
    """

    indices: Mapping[str, int]
    classes: tuple[str, ...]
    wnids: Mapping[str, str] = field(default_factory=dict)


def read_labels(path: str | os.PathLike[str]) -> Labels:
    """Read a table with the columns `file` and `index` (or `class_index`), and optionally `name` (or `species`).

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "labels.csv"
    ...     _ = path.write_text("file,index,name\\na.png,1,dog\\nb.png,0,cat\\n")
    ...     read_labels(path)
    Labels(indices={'a.png': 1, 'b.png': 0}, classes=('cat', 'dog'), wnids={})
    """
    columns, rows = _table(path)
    index, name = (next((one for one in known if one in columns), None) for known in (INDEX, NAME))
    if "file" not in columns or index is None:
        raise ValueError(f"{path} has the columns {', '.join(columns) or 'none'}: it needs file and index.")
    indices: dict[str, int] = {}
    names: dict[int, str] = {}
    for line, row in enumerate(rows, 2):
        where = f"{path}, line {line}"
        number = _index(row[index], where)
        if row["file"] in indices or not row["file"]:
            raise ValueError(f"{where} names the file {row['file']!r} again, or none: each has one line.")
        indices[row["file"]] = number
        if name and names.setdefault(number, row[name]) != row[name]:
            raise ValueError(f"{where} calls class {number} {row[name]!r}, which was {names[number]!r} before.")
    if not indices:
        raise ValueError(f"{path} has no lines below its columns: give one for each photo.")
    wnids = {row["file"]: row["wnid"] for row in rows} if "wnid" in columns else {}
    return Labels(indices, _names(indices.values(), names), wnids)


def _table(path: str | os.PathLike[str]) -> tuple[list[str], list[dict[str, str]]]:
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            table = csv.DictReader(file, restval="", strict=True)
            rows = [{key: (text or "").strip() for key, text in row.items() if key} for row in table]
            return list(table.fieldnames or []), rows
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path} is no table in UTF-8 with commas ({error}): write it anew.") from error


def _index(text: str, where: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 9 or int(text) >= MOST:
        raise ValueError(f"{where}: the index of a class is a whole number from 0 on, not {text!r}.")
    return int(text)


def _names(indices: Iterable[int], names: Mapping[int, str]) -> tuple[str, ...]:
    return tuple(names.get(index, str(index)) for index in range(max(indices) + 1))
