"""The suite itself: it can be run by several processes, on a busy machine, in the background of a shell."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def test_no_test_is_named_by_an_address_in_memory(request: pytest.FixtureRequest) -> None:
    assert [item.nodeid for item in request.session.items if " at 0x" in item.nodeid] == []


def test_another_process_finds_the_same_tests_in_the_same_order(request: pytest.FixtureRequest) -> None:
    """As processes that share a suite must: each collects it anew, with another order in its sets."""
    root, items = request.config.rootpath, request.session.items
    mine = [item.nodeid for item in items]
    files = list(dict.fromkeys(str(item.path) for item in items))
    env = {**os.environ, "PYTHONHASHSEED": "1", "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider", *files]
    found = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
    chosen = set(mine)
    assert [line for line in found.stdout.splitlines() if line in chosen] == mine


def test_threads_that_wait_sleep_here_and_in_processes_started_here(openmp_was_told_in_time: bool) -> None:
    """What the runtime says of itself when it is loaded; macOS and Windows have another one."""
    assert openmp_was_told_in_time, "torch was imported before conftest.py: which plugin does that?"
    env = {**os.environ, "OMP_DISPLAY_ENV": "TRUE"}
    said = subprocess.run([sys.executable, "-c", "import torch"], env=env, capture_output=True, text=True, check=True)
    if "OMP_WAIT_POLICY" not in said.stderr:
        pytest.skip("needs an OpenMP runtime that says how it is set")
    assert "OMP_WAIT_POLICY = 'PASSIVE'" in said.stderr


def test_every_test_on_the_list_of_slow_ones_is_there(request: pytest.FixtureRequest) -> None:
    root = request.config.rootpath
    for line in (root / "tests" / "slow.txt").read_text(encoding="utf-8").splitlines()[1:]:
        file, _, name = line.partition("::")
        source = (root / file).read_text(encoding="utf-8")
        assert not name or name.rpartition(".")[2].rpartition("::")[2] in source, line
