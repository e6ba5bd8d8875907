"""Shards that take long on workers of Ray: how far they are is seen, and what is finished outlives whoever did it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import small_runs
from cli_runs import start_command
from ray_processes import is_alive, wait_for, worker_pids
from samp.batch import load, run
from samp.batch.progress import RunProgress
from small_runs import same

if not find_spec("ray"):
    pytest.skip("needs Ray: pip install 'samp[scale]'", allow_module_level=True)
if not Path("/proc/self/task").is_dir():
    pytest.skip("finds the processes of Ray by /proc, which Linux has", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("one_thread")
PHOTOS = 12
HOW: dict[str, Any] = {"model": "small_runs:saving", "method": "ig", "batch_size": 2}  # batches of 2 in one shard


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_runs.photos(tmp_path_factory.mktemp("data"), PHOTOS)


@pytest.fixture(scope="module")
def undisturbed(one_thread: None, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("undisturbed")
    assert run(data, out=out, **HOW).code == 0
    return out


def unfinished(out: Path) -> bool:
    """Whether some of the only shard is written."""
    try:
        return int(json.loads((out / "done" / "000000.json").read_text())["rows"]) < PHOTOS
    except OSError:  # not there, or just being replaced
        return False


def test_how_far_a_worker_is_with_its_shard_is_seen_and_a_killed_one_is_gone_on_from(
    ray: Any, data: Path, undisturbed: Path, tmp_path: Path
) -> None:
    counts: list[RunProgress] = []
    seen: set[int] = set()
    over = threading.Event()
    killed: list[int] = []

    def watch() -> None:
        while not over.wait(0.02):
            for count in counts[:1]:
                count.refresh()
                seen.add(count.new_count)
            if not killed and unfinished(tmp_path):
                killed.extend(worker_pids(os.getpid())[:1])
                os.kill(killed[0], signal.SIGKILL)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        summary = run(data, out=tmp_path, workers=1, on_progress=counts.append, **HOW)
    finally:
        over.set()
        thread.join()
    assert len(killed) == 1
    assert (summary.code, summary.explained) == (0, PHOTOS)
    assert seen & set(range(1, PHOTOS))
    assert (counts[-1].left_count, counts[-1].in_progress) == (0, {})
    assert not list(tmp_path.glob(".begun"))
    same(tmp_path, undisturbed)


def test_a_driver_that_is_killed_in_the_middle_of_a_shard_leaves_what_was_finished(
    data: Path, undisturbed: Path, tmp_path: Path
) -> None:
    words = ["--model", HOW["model"], "--method", "ig", "--batch-size", "2", "--workers", "1"]
    driver = start_command(data, "--out", tmp_path, *words, command="run")
    wait_for(lambda: unfinished(tmp_path), driver)
    family = worker_pids(driver.pid)
    os.kill(driver.pid, signal.SIGKILL)
    driver.communicate()
    wait_for(lambda: not [pid for pid in family if is_alive(pid)])
    finished = len(load(tmp_path).rows())
    assert finished > 0
    again = run(data, out=tmp_path, **HOW)
    assert (again.code, again.found) == (0, finished)
    same(tmp_path, undisturbed)


# Who may use the Ray of a run.


def test_a_stranger_without_the_token_cannot_use_the_ray_of_a_run(ray: Any, tmp_path: Path) -> None:
    code = """
import sys, ray
ray.init(address=sys.argv[1], log_to_driver=False)
print("came in", ray.get(ray.remote(lambda: 7).remote()))
"""
    address = ray.get_runtime_context().gcs_address
    own = {name: value for name, value in os.environ.items() if name.startswith("RAY_AUTH")}
    assert own["RAY_AUTH_MODE"] == "token"
    bare = {name: value for name, value in os.environ.items() if name not in own} | {"HOME": str(tmp_path)}
    wrong = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64}
    answers = [
        subprocess.run(
            [sys.executable, "-c", code, address], env=bare | known, capture_output=True, text=True, check=False
        )
        for known in ({}, wrong, own)
    ]
    assert [answer.stdout for answer in answers] == ["", "", "came in 7\n"]


def test_the_token_of_a_run_lies_on_no_disk(tmp_path: Path) -> None:
    imports = "from samp.batch import Workers\nfrom samp.batch.ray_session import ray_session\n"
    code = f"{imports}with ray_session(Workers(1)): print('began')"
    env = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH")}
    process = subprocess.run(
        [sys.executable, "-c", code], env=env | {"HOME": str(tmp_path)}, capture_output=True, text=True, check=True
    )
    assert process.stdout == "began\n"
    assert not list(tmp_path.rglob("*"))
