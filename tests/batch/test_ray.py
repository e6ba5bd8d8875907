"""Chaos: whatever dies, fills up or rots, the rows after a re-run are those of an undisturbed run in one process.

One local Ray of two workers serves all tests but the one that kills the driver; that one is started by the command.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import small_runs
from cli_runs import start_command
from ray_processes import descendants, is_alive, listening_addresses, wait_for, worker_pids
from samp.batch import BrokenRunError, Workers, load, run
from samp.batch.progress import RunProgress
from samp.batch.summary import Summary
from samp.models import Classifier
from small_runs import same

if not find_spec("ray"):
    pytest.skip("needs Ray: pip install 'samp[scale]'", allow_module_level=True)
if not Path("/proc/self/task").is_dir():
    pytest.skip("finds the processes of Ray by /proc, which Linux has", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("one_thread")
PHOTOS, SHARD = 24, 2
MODEL, SLOWER = "small_runs:slow", "small_runs:slower"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_runs.photos(tmp_path_factory.mktemp("data"), PHOTOS)


@pytest.fixture(scope="module")
def undisturbed(one_thread: None, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that all others must equal, in this process."""
    out = tmp_path_factory.mktemp("undisturbed")
    assert run_over(data, out, workers=0).code == 0
    return out


def run_over(data: Path, out: Path, workers: int = 2, **words: Any) -> Summary:
    return run(data, out=out, **{"model": MODEL, "method": "ig", "shard_size": SHARD, "workers": workers, **words})


def once(action: Callable[[], object], after: int = 1) -> Callable[[RunProgress], None]:
    """Something to do when this many inputs are done."""
    left = [action]

    def on_progress(count: RunProgress) -> None:
        if left and count.done_count >= after:
            left.pop()()

    return on_progress


# What dies.


def test_a_worker_that_is_killed_costs_nothing(ray: Any, data: Path, undisturbed: Path, tmp_path: Path) -> None:
    killed: list[int] = []

    def kill() -> None:
        killed.extend(worker_pids(os.getpid())[:1])
        os.kill(killed[0], signal.SIGKILL)

    summary = run_over(data, tmp_path, on_progress=once(kill))
    assert len(killed) == 1
    assert (summary.code, summary.explained, summary.lost) == (0, PHOTOS, {})
    assert not list(tmp_path.rglob("*.part"))
    assert not list(tmp_path.rglob("*.attempts"))
    same(tmp_path, undisturbed)


def test_a_driver_that_is_killed_leaves_whole_shards_and_no_workers(
    ray: Any, data: Path, undisturbed: Path, tmp_path: Path
) -> None:
    words = ["--out", tmp_path, "--model", SLOWER, "--method", "ig", "--shard-size", str(SHARD), "--workers", "2"]
    driver = start_command(data, *words, command="run")
    wait_for(lambda: list((tmp_path / "done").glob("*.json")), driver)
    family = worker_pids(driver.pid)  # Ray's own agents look around once a minute only
    assert family
    os.kill(driver.pid, signal.SIGKILL)
    driver.communicate()
    assert driver.returncode == -signal.SIGKILL
    wait_for(lambda: not [pid for pid in family if is_alive(pid)])
    before = len(load(tmp_path).numbers)
    assert 0 < before < PHOTOS // SHARD
    summary = run_over(data, tmp_path, model=SLOWER)
    assert (summary.code, summary.found) == (0, before * SHARD)
    same(tmp_path, undisturbed)


def test_a_shard_that_kills_its_worker_each_time_is_given_up_and_the_others_are_done(ray: Any, tmp_path: Path) -> None:
    data = small_runs.photos(tmp_path / "data", 6)
    Image.new("RGB", (16, 20), "white").save(data / "004.png")
    summary = run_over(data, tmp_path / "out", model="small_runs:deadly")
    # in the order of ids: 000 001, 003 004, deeper/002 deeper/005
    assert (summary.code, summary.explained, list(summary.lost)) == (3, 4, [1])
    assert "its worker died 3 times over it" in summary.lost[1]
    assert load(tmp_path / "out").numbers == (0, 2)


def test_a_worker_whose_device_is_lost_ends_so_that_another_takes_its_place(
    ray: Any, data: Path, undisturbed: Path, tmp_path: Path
) -> None:
    """After such an error of CUDA's every call fails: a worker that went on would fail all shards there are."""
    net = small_runs.Lost(tmp_path / "marker").eval()
    lost = Classifier(net, "small", small_runs.SIDE, 0.5, 0.5, small_runs.CLASSES)
    summary = run_over(data, tmp_path / "out", model=lost)
    assert net.marker.exists()
    assert (summary.code, summary.lost) == (0, {})
    same(tmp_path / "out", undisturbed)


# What fills up or rots.


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own that holds some of the shards; `mount` wants to be root."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = mount("-t", "tmpfs", "-o", "size=120k,nr_inodes=1000", "tmpfs", place)
    if mounted.returncode:
        pytest.skip(f"needs a small disk: {mounted.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=False)


def mount(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["mount", *words], capture_output=True, text=True, check=False)


def test_a_full_disk_ends_the_run_and_room_lets_it_go_on(
    ray: Any, data: Path, undisturbed: Path, small_disk: Path
) -> None:
    summary = run_over(data, small_disk)
    assert summary.code == 3
    assert 0 < summary.explained < PHOTOS
    assert any("No space left on device" in why for why in summary.lost.values())
    assert summary.explained + SHARD * len(summary.lost) == PHOTOS
    assert mount("-o", "remount,size=10m", small_disk).returncode == 0
    again = run_over(data, small_disk, workers=0)
    assert again.code == 0
    assert again.found >= summary.explained  # a shard that was under way may have fitted after all
    same(small_disk, undisturbed)


def test_rotten_shards_and_photos_are_found_and_repaired(
    ray: Any, data: Path, undisturbed: Path, tmp_path: Path
) -> None:
    victim = data / "004.png"
    good = victim.read_bytes()
    victim.write_bytes(b"no photo")
    try:
        bad = run_over(data, tmp_path)
    finally:
        victim.write_bytes(good)
    assert (bad.code, bad.explained, list(bad.failures)) == (1, PHOTOS - 1, ["004.png"])
    for path in (tmp_path / "maps" / "000000.safetensors", tmp_path / "numbers" / "000005.parquet"):
        content = bytearray(path.read_bytes())
        content[-20] ^= 255
        path.write_bytes(content)
    again = run_over(data, tmp_path, workers=0)
    assert (again.code, again.found) == (0, PHOTOS - 3 * SHARD)
    same(tmp_path, undisturbed)


# What there is no room for.


def test_more_workers_than_there_is_room_for_are_told_of_and_leave_a_cpu_to_read_with(
    ray: Any, data: Path, undisturbed: Path, tmp_path: Path
) -> None:
    """As many workers as CPUs would take them all, and wait for ever for somebody to read."""
    cpus = int(ray.cluster_resources()["CPU"])
    expected = f"Ray has {cpus} CPUs free, which is room for {cpus - 1} of the run's {cpus} workers"
    with pytest.warns(UserWarning, match=f"^{expected} beside a CPU to read with: it goes on with these"):
        assert run_over(data, tmp_path, workers=cpus).code == 0
    same(tmp_path, undisturbed)


def test_a_run_without_room_for_any_worker_waits_and_says_so(ray: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from samp.batch import ray_session

    monkeypatch.setattr(ray_session, "PATIENCE", 0.0)
    with pytest.warns(
        UserWarning, match=r"^Ray has \d+ CPUs and 0 GPUs free, .* 0 of the run's 2 workers .*: it waits"
    ):
        assert ray_session.startable_workers(ray, Workers(2, gpus_per_worker=1)) == 0


# What leaves the machine.


def test_ray_hears_this_machine_alone_and_tells_nobody(ray: Any) -> None:
    from ray._common.usage.usage_lib import usage_stats_enabled

    assert not usage_stats_enabled()
    beside = ray.get(ray.remote(lambda: os.getpid()).remote())
    assert beside in descendants(os.getpid())
    heard = listening_addresses([os.getpid(), *descendants(os.getpid())])
    assert heard
    assert heard <= {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}


def test_a_worker_that_cannot_work_says_why(ray: Any, data: Path, tmp_path: Path) -> None:
    with pytest.raises(BrokenRunError, match="has other weights each time it is made"):
        run_over(data, tmp_path, model="small_runs:random_weights", shard_size=PHOTOS)


def test_a_data_set_that_cannot_travel_gets_a_sentence(ray: Any, tmp_path: Path) -> None:
    with (tmp_path / "open").open("w") as file, pytest.raises(TypeError, match="cannot be sent to workers"):
        run_over([file], tmp_path / "out")  # type: ignore[arg-type]  # a data set in memory
