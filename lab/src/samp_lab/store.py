"""The files of a run: every part of every measurement under the hash of all it depends on, and what a report reads.

OUT/cells/KEY/000.json, 000.safetensors, 000.time.json     parts, each written atomically
OUT/results.json                                           numbers of all measurements; a second run writes the same
OUT/timing.json                                            seconds, which differ from run to run
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from samp.atomic import atomic_write
from samp_lab.measurements.base import Measurement, PartResult, name_of, spec_of
from samp_lab.provenance import code_version

RESULT_SECTIONS: dict[str, type] = {
    "about": dict,
    "commands": list,
    "images": dict,
    "cells": dict,
    "failed": dict,
    "nets": dict,
}
"""The top-level keys of results.json, and their types."""
ResultEntry = dict[str, Any]
"""A measurement's entry in results.json: `asked` (its `spec_of`), `facts`, `numbers`, `made`, and `skipped` if any."""


@dataclass(frozen=True)
class Store:
    """The folder of a run's results.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(Path(folder))
    ...     store.put("key", 0, PartResult({"deletion": [0.5]}, {"seconds": [0.1]}))
    ...     dict(store.part("key", 0).numbers), store.part("key", 1)
    ({'deletion': [0.5]}, None)
    """

    folder: Path

    @property
    def results_file(self) -> Path:
        return self.folder / "results.json"

    @property
    def timing_file(self) -> Path:
        return self.folder / "timing.json"

    def open(self) -> None:
        """Make the folder, and raise ValueError now, not after minutes of measuring, if its files cannot be used."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(
                f"{self.folder} cannot be a folder of results ({error.strerror}): give another as `out`."
            ) from error
        self.read()

    def put(self, key: str, number: int, result: PartResult) -> None:
        """Write a part; its numbers come last, so that a part whose numbers exist is whole."""
        base = self._base(key, number)
        base.parent.mkdir(parents=True, exist_ok=True)
        if result.arrays:
            from safetensors.torch import save_file

            with atomic_write(base.with_suffix(".safetensors")) as unfinished:
                save_file({name: array.contiguous() for name, array in result.arrays.items()}, unfinished)
        write_json(base.with_suffix(".time.json"), dict(result.timing))
        write_json(base.with_suffix(".json"), {**result.numbers})

    def part(self, key: str, number: int) -> PartResult | None:
        """Return a stored part, or None if it is missing or damaged."""
        base = self._base(key, number)
        try:
            numbers, timing = (json.loads(base.with_suffix(end).read_text()) for end in (".json", ".time.json"))
        except (OSError, ValueError):
            return None
        return PartResult(numbers, timing)

    def arrays(self, key: str, count: int) -> dict[str, Tensor]:
        """Return the arrays of a measurement's first `count` parts, joined."""
        import torch
        from safetensors.torch import load_file

        parts = [load_file(self._base(key, number).with_suffix(".safetensors")) for number in range(count)]
        return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}

    def results(self) -> dict[str, Any]:
        """Return the content of results.json, empty if there is none; raise ValueError if it is another file."""
        if not self.results_file.exists():
            return {name: kind() for name, kind in RESULT_SECTIONS.items()}
        found = {"images": {}, "nets": {}, **_read(self.results_file)}
        wrong = [name for name, kind in RESULT_SECTIONS.items() if not isinstance(found.get(name), kind)]
        wrong = wrong or [name for name, entry in found["cells"].items() if not _is_entry(entry)]
        if wrong:
            raise ValueError(
                f"{self.results_file} is not of samp bench: it lacks {', '.join(wrong)}. Remove it, or give another "
                "folder as `out`."
            )
        return found

    def timing(self) -> dict[str, Any]:
        """Return the content of timing.json: by measurement, the seconds of each image and the machine."""
        found = _read(self.timing_file) if self.timing_file.exists() else {}
        return {name: timing for name, timing in found.items() if isinstance(timing, dict)}

    def read(self) -> Results:
        """Return all results."""
        results = self.results()
        return Results(results["cells"], self.timing(), results["failed"])

    def _base(self, key: str, number: int) -> Path:
        return self.folder / "cells" / key / f"{number:03d}"


@dataclass(frozen=True, eq=False)
class Results:
    """The results that a report reads: entries of results.json and timing.json, by measurement.

    >>> from samp_lab.setups import parse_setup
    >>> from samp_lab.measurements.method_maps import MethodCurves
    >>> measurement = MethodCurves(parse_setup("mnist"), "ig")
    >>> results = Results({name_of(measurement): {"numbers": {"deletion": [0.25, None]}}}, {})
    >>> results.numbers(measurement, "deletion"), results.has(MethodCurves(parse_setup("mnist"), "samp"))
    ([0.25, nan], False)
    """

    entries: Mapping[str, ResultEntry]
    timings: Mapping[str, Any]
    failures: Mapping[str, str] = field(default_factory=dict)

    def has(self, measurement: Measurement) -> bool:
        """Return whether there is a result."""
        return name_of(measurement) in self.entries

    def entry(self, measurement: Measurement) -> ResultEntry:
        """Return the entry of a measurement; raise KeyError if there is none."""
        if not self.has(measurement):
            raise KeyError(f"{name_of(measurement)} was not measured.")
        return self.entries[name_of(measurement)]

    def failure(self, measurement: Measurement) -> str | None:
        """Return why a measurement failed, or None."""
        return self.failures.get(name_of(measurement))

    def numbers(self, measurement: Measurement, column: str) -> list[float]:
        """Return one number per image; NaN where there is none."""
        return [float("nan") if value is None else value for value in self.entry(measurement)["numbers"][column]]

    def seconds(self, measurement: Measurement) -> list[float]:
        """Return the seconds of each image; empty if they are not known."""
        timing = self.timings.get(name_of(measurement), {})
        return [float(value) for value in timing.get("seconds", [])]


def join_parts(parts: Iterable[PartResult]) -> PartResult:
    """Return the numbers and timing of several parts as one; arrays stay in their files.

    >>> dict(join_parts([PartResult({"a": [1]}), PartResult({"a": [2]})]).numbers)
    {'a': [1, 2]}
    """
    numbers: dict[str, list[Any]] = {}
    timing: dict[str, list[Any]] = {}
    for part in parts:
        for into, columns in ((numbers, part.numbers), (timing, part.timing)):
            for name, column in columns.items():
                into.setdefault(name, []).extend(column)
    return PartResult(numbers, timing)


def make_entry(
    measurement: Measurement, facts: Mapping[str, Any], result: PartResult, skipped: list[dict[str, str]]
) -> ResultEntry:
    """Return the entry of a measurement in results.json, with the code that made it."""
    found: ResultEntry = {"asked": spec_of(measurement), "facts": dict(facts), "numbers": dict(result.numbers)}
    found["made"] = code_version()
    return {**found, "skipped": skipped} if skipped else found


def write_json(path: Path, content: Any) -> None:
    """Write JSON atomically, with lists of plain numbers on one line.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_json(Path(folder) / "a.json", {"b": [1, 2]})
    ...     print((Path(folder) / "a.json").read_text(), end="")
    {
     "b": [1, 2]
    }
    """
    with atomic_write(path) as unfinished:
        unfinished.write_text(_lines(content, 0) + "\n", encoding="utf-8")


def _lines(content: Any, depth: int) -> str:
    if not isinstance(content, dict) or not content:
        return json.dumps(content, ensure_ascii=False, sort_keys=True, allow_nan=False)
    pad = " " * (depth + 1)
    rows = [f"{pad}{json.dumps(str(key), ensure_ascii=False)}: {_lines(content[key], depth + 1)}" for key in content]
    return "{\n" + ",\n".join(rows) + "\n" + " " * depth + "}"


def _is_entry(entry: Any) -> bool:
    """Return whether this is an entry as `make_entry` makes it."""
    if not isinstance(entry, dict):
        return False
    spec = entry.get("asked")
    return isinstance(spec, dict) and isinstance(spec.get("bed"), str) and isinstance(entry.get("numbers"), dict)


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is damaged ({error}): remove it and run the same command again.") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path} holds no results: remove it, or give another folder as `out`.")
    return content
