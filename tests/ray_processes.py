"""The processes of a local Ray, as Linux shows them in /proc."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest


def descendants(pid: int) -> list[int]:
    """The children of a process, theirs, and so on."""
    tasks = [place / "children" for place in _list(Path(f"/proc/{pid}/task"))]
    children = [int(word) for task in tasks for word in _read(task).split()]
    return children + [below for child in children for below in descendants(child)]


def worker_pids(driver: int) -> list[int]:
    """The processes below a driver that hold a model."""
    return [pid for pid in descendants(driver) if "MapBatches(_Actor)" in _read(Path(f"/proc/{pid}/cmdline"))]


def is_alive(pid: int) -> bool:
    """Whether the process exists and is not a zombie."""
    state = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return bool(state) and state[0] != "Z"


def listening_addresses(pids: list[int]) -> set[str]:
    """The addresses on which these processes listen for TCP connections, in hexadecimal as the kernel writes them."""
    sockets = {_target(place) for pid in pids for place in _list(Path(f"/proc/{pid}/fd"))}
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in _read(Path(table)).splitlines()[1:]:
            _, local, _, state, *_rest = line.split()
            if state == "0A" and f"socket:[{line.split()[9]}]" in sockets:
                found.add(local.partition(":")[0])
    return found


def _list(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:  # the process has ended
        return []


def _target(link: Path) -> str:
    try:
        return os.readlink(link)
    except OSError:  # it was closed
        return ""


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:  # it is gone already
        return ""


def wait_for(happened: Callable[[], object], process: subprocess.Popen[str] | None = None) -> None:
    """Wait until `happened()` is true; fail after ten minutes, or at once if `process` has ended."""
    for _ in range(6000):
        if happened():
            return
        if process is not None and process.poll() is not None:
            pytest.fail(f"the command ended early: {process.communicate()}")
        time.sleep(0.1)
    pytest.fail("it did not happen in ten minutes")
