"""Measure the nets one after the other into completeness.json, and make the page of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from samp.atomic import atomic_write
from samp_lab.bench.machine import describe_machine
from samp_lab.completeness.measure import contenders, library_versions, measure
from samp_lab.completeness.nets import load_bed
from samp_lab.completeness.page import make_page
from samp_lab.workspace import ExperimentOptions

FILE = "completeness.json"


def measure_nets(
    names: Sequence[str], options: ExperimentOptions, inputs: int, command: str, say: Callable[[str], None]
) -> Iterator[dict[str, Any]]:
    """Yield the contents of completeness.json after each of these nets."""
    found: dict[str, Any] = {
        "command": command,
        "date": datetime.now(UTC).date().isoformat(),
        "machine": describe_machine(options.device),
        "versions": library_versions(),
        "nets": {},
        "rows": [],
    }
    for name in names:
        bed = load_bed(name, options, inputs)
        found["nets"][bed.name] = {"about": bed.about, "inputs": len(bed.inputs)}
        for row in measure(bed, contenders()):
            say(f"{row.net}, {row.library} {row.method}: {row.refusal or row.median}")
            found["rows"].append(asdict(row))
        yield found


def write(found: dict[str, Any], results: Path, page: Path) -> None:
    """Write the file of numbers and the page."""
    with atomic_write(results / FILE) as unfinished:
        unfinished.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    render(results, page)


def render(results: Path, page: Path) -> None:
    """Write the page from completeness.json; raise FileNotFoundError if there is none."""
    with atomic_write(page) as unfinished:
        unfinished.write_text(make_page(json.loads((results / FILE).read_text(encoding="utf-8"))), encoding="utf-8")
