"""The benchmark of the command line's start runs and counts right; how fast it is is not tested."""

from __future__ import annotations

import pytest

from cli_runs import demo
from samp.bench import startup


@demo
def test_the_bare_calls_are_those_of_the_walk() -> None:
    calls = startup.gradient_calls()
    assert abs(sum(calls) - 33) <= 2  # gradients of `samp explain`; a greedy path may differ on another CPU
    assert set(calls) <= {1, 2}  # both directions at once, until one arrives


def test_pairs_of_processes_are_timed() -> None:
    row = startup._pairs("slow", "fast", ["import time; time.sleep(0.3)"], ["pass"], repeats=2)
    assert row.ours > row.bare + 0.2
    assert row.spread[0] <= row.ratio <= row.spread[1]


def test_a_run_that_fails_is_said_to_have_failed() -> None:
    with pytest.raises(RuntimeError, match=r"a run of the benchmark failed: .*ValueError: no"):
        startup._pairs("bad", "fast", ["raise ValueError('no')"], ["pass"], repeats=1)
