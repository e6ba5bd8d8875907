"""A Ctrl-C that comes in a callback whose errors Python ignores is heard all the same."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cli_runs import PATIENCE, a_photo, explain
from samp.cli.interrupts import SOON, keep_interrupts


class Raiser:
    """Raises when it is dropped, which Python ignores."""

    def __init__(self, error: type[BaseException]) -> None:
        self.error = error

    def __del__(self) -> None:
        raise self.error


@pytest.fixture(autouse=True)
def hears_ctrl_c() -> Iterator[None]:
    """As a suite does not that runs in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def unraisable(monkeypatch: pytest.MonkeyPatch) -> list[type[BaseException]]:
    """What was ignored and told to whoever was asked before us."""
    told: list[type[BaseException]] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda ignored: told.append(ignored.exc_type))
    return told


def drop(error: type[BaseException]) -> None:
    Raiser(error)  # kept nowhere


def drop_and_wait() -> None:
    with keep_interrupts():
        drop(KeyboardInterrupt)
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            time.sleep(0.01)


def test_it_is_raised_again(unraisable: list[type[BaseException]]) -> None:
    with pytest.raises(KeyboardInterrupt):
        drop_and_wait()
    assert unraisable == []


def test_other_errors_are_told_as_before(unraisable: list[type[BaseException]]) -> None:
    with keep_interrupts():
        drop(ValueError)
    assert unraisable == [ValueError]


def test_afterwards_nothing_is_raised_and_all_is_as_before(unraisable: list[type[BaseException]]) -> None:
    hook: Callable[..., object] = sys.unraisablehook
    with keep_interrupts():
        drop(KeyboardInterrupt)
    time.sleep(2 * SOON)
    assert sys.unraisablehook is hook


def test_a_command_ends_at_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    slow = ("--method", "samp++", "--eta", "0.0005")  # forty seconds and more
    result = explain(a_photo(), "--model", "tiny_nets:interrupted", *slow)
    assert result.exit_code == 130
    assert result.output == "samp: interrupted; what was written before is whole.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["photo.png"]
