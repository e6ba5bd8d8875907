"""How threads wait: `samp explain` by itself, and two of them at once on the same cores.

OpenMP's threads spin by default while they wait for each other. Alone that costs nothing; beside another process they
hold the core that the others need. Commands of samp have them sleep soon (`samp.threads`). Every run is a process of
its own, and the ways take turns.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from samp.threads import SHORT_WAIT
from samp_lab.bench.machine import describe_machine

EXPLAIN = "from samp.cli import main; main()"
WAYS: dict[str, dict[str, str]] = {
    "spin for a moment, then sleep (samp's commands)": {},
    "sleep at once": {"OMP_WAIT_POLICY": "passive"},
    "spin for long (GNU's default)": {"GOMP_SPINCOUNT": "300000"},  # said aloud, so that the command leaves it
}


@dataclass(frozen=True)
class Waiting:
    """Median seconds of one process, and of two at once until both are done."""

    way: str
    alone: float
    together: float


def measure(repeats: int, quality: str = "draft") -> list[Waiting]:
    """Return a row for each way to wait, from this many runs of each after one that is not counted."""
    with tempfile.TemporaryDirectory() as folder:
        command = [EXPLAIN, "explain", "--quality", quality, "--out", str(Path(folder) / "explanation.png")]
        return measure_ways(command, repeats)


def measure_ways(command: Sequence[str], repeats: int) -> list[Waiting]:
    """Return a row for each way to wait; `command` is Python code with its arguments."""
    plain = {name: value for name, value in os.environ.items() if name not in (*SHORT_WAIT, "OMP_WAIT_POLICY")}
    seconds: dict[tuple[str, int], list[float]] = {(way, count): [] for way in WAYS for count in (1, 2)}
    _seconds(command, plain, 1)
    for _ in range(repeats):
        for (way, count), found in seconds.items():
            found.append(_seconds(command, plain | WAYS[way], count))
    return [Waiting(way, *(statistics.median(seconds[way, count]) for count in (1, 2))) for way in WAYS]


def table(rows: Sequence[Waiting]) -> str:
    """Return the rows as Markdown, with the machine below them.

    >>> print(table([Waiting("sleep", 3.0, 4.5)]).splitlines()[2])
    | sleep | 3.00 | 4.50 | **1.50** |
    """
    lines = ["| threads that wait | one, s | two at once, s | two over one |", "|---|---|---|---|"]
    lines += [f"| {r.way} | {r.alone:.2f} | {r.together:.2f} | **{r.together / r.alone:.2f}** |" for r in rows]
    return "\n".join([*lines, "", describe_machine("cpu")])


def _seconds(command: Sequence[str], environment: Mapping[str, str], count: int) -> float:
    """Return the seconds until this many processes, started together, are done."""
    words, started = [sys.executable, "-c", *command], time.perf_counter()
    runs = [subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL) for _ in range(count)]
    codes = [run.wait() for run in runs]
    if any(codes):
        raise RuntimeError(f"a run of the benchmark failed with exit codes {codes}.")
    return time.perf_counter() - started
