"""The true classes of a run's inputs, in a file of their own: other labels are joined without any new explanation.

    labels.jsonl    a line about the labels, then a line for each shard: the class of each of its inputs by its id

Labels decide no number of a run: they say which of its answers are right. A line for each shard keeps a report of a
million inputs small, since it reads the shards one after the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from samp.atomic import atomic_write
from samp.batch.shard_plan import Job

NAME = "labels.jsonl"
FORMAT = "samp labels 1"
MOST_BYTES_OF_A_LINE = 2**28


@dataclass(frozen=True)
class LabelsHeader:
    """Where the labels of a run come from, and how many of its inputs have one."""

    source: str
    labelled: int
    inputs: int
    format: str = FORMAT


def write_labels(folder: Path, labels: Mapping[str, int], source: str, jobs: Sequence[Job]) -> None:
    """Write the labels of the inputs of these jobs beside the shards of the run, replacing earlier ones."""
    inputs = sum(len(job.entries) for job in jobs)
    with atomic_write(folder / NAME) as unfinished, unfinished.open("w", encoding="utf-8") as file:
        file.write(json.dumps(asdict(LabelsHeader(source, len(labels), inputs))) + "\n")
        for job in jobs:
            own = {name: labels[name] for name in job.ids if name in labels}
            file.write(json.dumps({"shard": job.shard, "labels": own}) + "\n")


def read_header(folder: Path) -> LabelsHeader | None:
    """Return what the folder's labels are, or None if it has none; raises ValueError if their file is damaged."""
    if not (folder / NAME).is_file():
        return None
    fields = next(_lines(folder), {})
    kinds = {"source": str, "labelled": int, "inputs": int, "format": str}
    if {name: type(value) for name, value in fields.items()} != kinds or fields["format"] != FORMAT:
        raise _damage(folder, "its first line is not about labels")
    return LabelsHeader(**fields)


class LabelReader:
    """Reads the labels of shard after shard, in the order of their numbers; there are none if the file is not there."""

    def __init__(self, folder: Path) -> None:
        self.there = read_header(folder) is not None
        self._shards = _shards(folder) if self.there else iter(())
        self._next: tuple[int, dict[str, int]] | None = next(self._shards, None)

    def read(self, shard: int) -> dict[str, int]:
        """Return the label of each input of this shard by its id; shards must be asked for in ascending order."""
        while self._next is not None and self._next[0] < shard:
            self._next = next(self._shards, None)
        return self._next[1] if self._next is not None and self._next[0] == shard else {}


def _shards(folder: Path) -> Iterator[tuple[int, dict[str, int]]]:
    lines, last = _lines(folder), -1
    next(lines)
    for line in lines:
        shard, labels = line.get("shard"), line.get("labels")
        if shard != last + 1 or not isinstance(labels, dict):
            raise _damage(folder, "a line is not that of the next shard")
        if not all(map(_is_class, labels.values())):
            raise _damage(folder, f"a label of shard {last + 1} is no class")
        last += 1
        yield last, labels


def _lines(folder: Path) -> Iterator[dict[str, Any]]:
    with (folder / NAME).open(encoding="utf-8") as file:
        while line := file.readline(MOST_BYTES_OF_A_LINE):
            try:
                fields = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise _damage(folder, str(error)) from error
            if not isinstance(fields, dict):
                raise _damage(folder, "a line is no object")
            yield fields


def _damage(folder: Path, why: str) -> ValueError:
    return ValueError(f"{folder / NAME} is not whole ({why}): give the run its `labels` again, or remove the file.")


def _is_class(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
