"""The benchmark of the command line's start runs and counts right; how fast it is is not tested."""

from __future__ import annotations

import pytest

from cli_runs import demo
from samp_lab.bench import startup


@demo
def test_the_bare_calls_are_those_of_the_walk() -> None:
    calls = startup.gradient_calls()
    assert sum(calls) == 112  # gradients of `samp explain`
    assert set(calls) <= {1, 2}  # both directions at once, until one arrives


def test_pairs_of_processes_are_timed_after_one_that_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each process is timed by the clock before it and after it: here as if the pairs took 9 : 9, 4 : 2 and 6 : 2 s."""
    took = [9.0, 9.0, 4.0, 2.0, 6.0, 2.0]
    ticks = iter([tick for seconds in took for tick in (100.0, 100.0 + seconds)])
    monkeypatch.setattr(startup.time, "perf_counter", lambda: next(ticks))
    row = startup._measure_pairs("slow", "fast", ["pass"], ["pass"], repeats=2)
    assert (row.ours, row.bare, row.ratio, row.spread) == (5.0, 2.0, 2.5, (2.0, 3.0))


def test_a_run_that_fails_is_said_to_have_failed() -> None:
    with pytest.raises(RuntimeError, match=r"a run of the benchmark failed: .*ValueError: no"):
        startup._measure_pairs("bad", "fast", ["raise ValueError('no')"], ["pass"], repeats=1)
