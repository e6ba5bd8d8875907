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
from samp_lab.experiment_commands import command_line
from samp_lab.workspace import ExperimentOptions

FILE = "completeness.json"


def measure_nets(
    names: Sequence[str], options: ExperimentOptions, inputs: int, chosen: Sequence[str], say: Callable[[str], None]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each net's title, and what completeness.json keeps of it; `chosen` are methods, none for all."""
    for name in names:
        bed = load_bed(name, options, inputs)
        rows = []
        for row in measure(bed, [one for one in contenders() if not chosen or one.method in chosen]):
            say(f"{row.net}, {row.library} {row.method}: {row.refusal or row.median}")
            rows.append(asdict(row))
        yield (
            bed.name,
            {
                "about": bed.about,
                "commands": [command_line()],
                "date": datetime.now(UTC).date().isoformat(),
                "machine": describe_machine(options.device),
                "versions": library_versions(),
                "rows": rows,
            },
        )


def add_net(title: str, net: dict[str, Any], results: Path) -> None:
    """Write a net's numbers to completeness.json in place of those that it has for the same rows; others stay."""
    file = results / FILE
    found = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {"nets": {}}
    before = found["nets"].get(title, {"commands": [], "rows": []})
    kept = [row for row in before["rows"] if _row_key(row) not in set(map(_row_key, net["rows"]))]
    commands = dict.fromkeys([*(before["commands"] if kept else []), *net["commands"]])
    order: list[tuple[str, str, str]] = [(one.library, one.method, one.sums_to) for one in contenders()]
    rows = sorted([*kept, *net["rows"]], key=lambda row: order.index(_row_key(row)))
    found["nets"][title] = {**net, "commands": list(commands), "rows": rows}
    with atomic_write(file) as unfinished:
        unfinished.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _row_key(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["library"], row["method"], row["sums_to"]


def render(results: Path, page: Path) -> None:
    """Write the page from completeness.json; raise FileNotFoundError if there is none."""
    with atomic_write(page) as unfinished:
        unfinished.write_text(make_page(json.loads((results / FILE).read_text(encoding="utf-8"))), encoding="utf-8")
