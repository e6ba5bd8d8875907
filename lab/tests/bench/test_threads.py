"""The benchmark of waiting threads starts the right processes in the right environment; their times are not tested."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from samp_lab.bench import threads
from samp_lab.bench.threads import WAYS, measure_ways

NOTE = "import os, sys; open(sys.argv[1], 'a').write(os.environ.get('GOMP_SPINCOUNT', 'unset') + ' ')"


def test_each_way_runs_one_process_and_two_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOMP_SPINCOUNT", "5")  # of whoever runs the benchmark: not passed on
    rows = measure_ways([NOTE, str(tmp_path / "notes")], repeats=2)
    assert [row.way for row in rows] == list(WAYS)
    assert (tmp_path / "notes").read_text().split() == ["unset"] + 2 * (6 * ["unset"] + 3 * ["300000"])


def test_a_run_that_fails_is_said_to_have_failed() -> None:
    with pytest.raises(RuntimeError, match=r"exit codes \[3\]"):
        measure_ways(["import sys; sys.exit(3)"], repeats=1)


def test_the_time_is_that_until_all_processes_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([1.0, 3.5])
    monkeypatch.setattr(threads.time, "perf_counter", lambda: next(ticks))
    assert threads._seconds(["pass"], {"PATH": sys.prefix}, 2) == 2.5
