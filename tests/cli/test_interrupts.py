"""A Ctrl-C or SIGTERM that comes in a callback whose errors Python ignores is heard all the same."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli_runs import PATIENCE, a_photo, explain
from samp.cli.interrupts import keep_interrupts
from samp.cli.run import TERMINATED, exit_on_sigterm


class Raiser:
    """Raises when it is dropped, which Python ignores."""

    def __init__(self, error: type[BaseException]) -> None:
        self.error = error

    def __del__(self) -> None:
        raise self.error


@pytest.fixture(autouse=True)
def hears_ctrl_c() -> Iterator[None]:
    """Ctrl-C is heard; a suite that runs in the background of a shell hears none."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@contextmanager
def noting_ignored() -> Iterator[list[type[BaseException]]]:
    """Note what is ignored and told to whoever was asked before us."""
    told: list[type[BaseException]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "unraisablehook", lambda ignored: told.append(ignored.exc_type))
        yield told


def drop(error: type[BaseException]) -> None:
    Raiser(error)  # kept nowhere


def drop_and_wait(error: type[BaseException], told: list[type[BaseException]]) -> None:
    with keep_interrupts():
        drop(error)
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and not told:
            time.sleep(0.01)


def timers() -> list[threading.Timer]:
    return [one for one in threading.enumerate() if isinstance(one, threading.Timer)]


def test_it_is_raised_again() -> None:
    with noting_ignored() as told, pytest.raises(KeyboardInterrupt):
        drop_and_wait(KeyboardInterrupt, told)
    assert told == []


def test_the_end_that_sigterm_asks_for_is_raised_again() -> None:
    with noting_ignored() as told, exit_on_sigterm(), pytest.raises(SystemExit) as ended:
        drop_and_wait(SystemExit, told)
    assert ended.value.code == TERMINATED
    assert told == []


@pytest.mark.parametrize("error", [ValueError, SystemExit], ids=lambda error: error.__name__)
def test_other_errors_are_told_as_before(error: type[BaseException]) -> None:
    with noting_ignored() as told, keep_interrupts():
        drop(error)  # without a handler of SIGTERM, somebody else's SystemExit
    assert told == [error]


def test_afterwards_nothing_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("samp.cli.interrupts.SOON", PATIENCE)
    monkeypatch.setattr(threading.Timer, "join", lambda timer: None)  # it would wait where nothing was cancelled
    with noting_ignored():
        hook = sys.unraisablehook
        with keep_interrupts():
            drop(KeyboardInterrupt)
            (timer,) = timers()
        assert sys.unraisablehook is hook
    assert timer.finished.is_set()


def test_a_command_ends_at_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    slow = ("--method", "samp++", "--eta", "0.0005")  # forty seconds and more
    result = explain(a_photo(), "--model", "tiny_nets:interrupted", *slow)
    assert result.exit_code == 130
    assert result.output == "samp: interrupted; what was written before is whole.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["photo.png"]
