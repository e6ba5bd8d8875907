"""A run in a process for each device: the rows are those of one process, whatever dies, and nobody is left behind.

CPUs stand in for GPUs: which device a process has is a word that it hands to `Model.load`.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

import small_runs
from cli_runs import start_command, wait_until
from ray_processes import descendants, is_alive, wait_for
from samp.batch import BrokenRunError, Workers, load, processes, run
from samp.batch.parcel import Parcel
from samp.batch.processes import Post, Team, hold_ctrl_c, thread_settings
from samp.batch.progress import RunProgress
from samp.batch.shard_plan import Job
from samp.batch.summary import Summary
from samp.models import Classifier
from samp.threads import SHORT_WAIT
from small_runs import same

linux = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="finds processes by /proc, which Linux has")
pytestmark = pytest.mark.usefixtures("one_thread")
PHOTOS, SHARD = 12, 2
MODEL, SLOWER = "small_runs:slow", "small_runs:slower"
BOTH = ["cpu", "cpu"]


@pytest.fixture(autouse=True)
def one_thread_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounding depends on the number of threads."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_runs.photos(tmp_path_factory.mktemp("data"), PHOTOS)


@pytest.fixture(scope="module")
def undisturbed(one_thread: None, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that all others must equal, in this process."""
    out = tmp_path_factory.mktemp("undisturbed")
    assert run_over(data, out, workers=0).code == 0
    return out


def run_over(data: Path, out: Path, workers: Any = BOTH, **words: Any) -> Summary:
    return run(data, out=out, **{"model": MODEL, "method": "ig", "shard_size": SHARD, "workers": workers, **words})


def test_each_device_has_a_process_and_the_rows_are_those_of_one(data: Path, undisturbed: Path, tmp_path: Path) -> None:
    noting = small_runs.Noting(small_runs.slow(), given={"notes": tmp_path / "notes", "together": 2})
    most = []

    def on_progress(progress: RunProgress) -> None:
        most.append((progress.concurrency, len(multiprocessing.active_children())))

    summary = run_over(data, tmp_path / "out", ["cpu:0", "cpu:1"], model=noting, on_progress=on_progress)
    assert (summary.code, summary.explained) == (0, PHOTOS)
    notes = [path.read_text().split()[0] for path in (tmp_path / "notes").iterdir()]
    assert sorted(notes) == ["cpu:0", "cpu:1"]
    assert max(most) == (2, 2)
    assert not multiprocessing.active_children()
    same(tmp_path / "out", undisturbed)


def test_a_process_that_is_killed_is_replaced_and_costs_nothing(data: Path, undisturbed: Path, tmp_path: Path) -> None:
    killed: list[int] = []

    def kill(progress: RunProgress) -> None:
        if not killed and progress.done_count:
            victim = multiprocessing.active_children()[0]
            killed.append(victim.pid or 0)
            os.kill(killed[0], signal.SIGKILL)

    summary = run_over(data, tmp_path, on_progress=kill)
    assert len(killed) == 1
    assert (summary.code, summary.explained, summary.lost) == (0, PHOTOS, {})
    same(tmp_path, undisturbed)


def test_a_shard_that_kills_its_process_each_time_is_given_up_and_its_neighbours_are_done(tmp_path: Path) -> None:
    data = small_runs.photos(tmp_path / "data", 6)
    Image.new("RGB", (16, 20), "white").save(data / "004.png")
    summary = run_over(data, tmp_path / "out", ["cpu"], model="small_runs:deadly")
    assert (summary.code, summary.explained, list(summary.lost)) == (3, 4, [1])
    assert "its worker died 3 times over it" in summary.lost[1]
    assert load(tmp_path / "out").numbers == (0, 2)


def test_a_job_whose_process_died_is_done_alone() -> None:
    """Otherwise a job would be blamed for what its neighbour does."""
    suspect, new, newer = (Job(shard, ()) for shard in range(3))
    team, parcel = Team([suspect, new, newer], []), Parcel((), b"")
    team.deaths[suspect.shard] = 1
    busy, idle = Post("cpu", parcel, held={7: Job(7, ())}), Post("cpu", parcel)
    assert team._choose(busy) is new
    assert team._choose(idle) is suspect
    idle.held[suspect.shard] = suspect
    assert team._choose(idle) is None  # although one waits
    assert list(team.waiting) == [newer]


def test_a_process_whose_device_is_lost_ends_so_that_another_takes_its_place(
    data: Path, undisturbed: Path, tmp_path: Path
) -> None:
    net = small_runs.Lost(tmp_path / "marker").eval()
    lost = Classifier(net, "small", small_runs.SIDE, 0.5, 0.5, small_runs.CLASSES)
    summary = run_over(data, tmp_path / "out", ["cpu"], model=lost)
    assert net.marker.exists()
    assert (summary.code, summary.lost) == (0, {})
    same(tmp_path / "out", undisturbed)


def test_a_model_that_cannot_be_made_elsewhere_is_one_error_and_not_a_death(data: Path, tmp_path: Path) -> None:
    other = Classifier(OtherEachTime().eval(), "other", small_runs.SIDE, 0.5, 0.5, small_runs.CLASSES)
    with pytest.raises(BrokenRunError, match="other has other weights each time"):
        run_over(data, tmp_path, ["cpu"], model=other)
    assert not multiprocessing.active_children()


class OtherEachTime(small_runs.Net):
    """A net that is unpickled with weights other than those that were pickled."""

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state)
        with torch.no_grad():
            next(self.parameters()).add_(1)


def test_a_process_that_dies_before_it_begins_ends_the_run(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONHOME", str(tmp_path))  # of which no Python can start
    with pytest.raises(BrokenRunError, match="device cpu ended with exit code 1 before it began"):
        run_over(data, tmp_path / "out", ["cpu"])


def test_processes_that_are_killed_before_they_begin_are_replaced_for_a_while(
    data: Path, undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, deadly = Post.start, [2]

    def kill_at_once(post: Post, count: int) -> None:
        start(post, count)
        if deadly[0]:
            deadly[0] -= 1
            assert post.process is not None
            post.process.kill()

    monkeypatch.setattr(Post, "start", kill_at_once)
    assert run_over(data, tmp_path / "out", ["cpu"]).code == 0
    same(tmp_path / "out", undisturbed)
    deadly[0] = 99
    with pytest.raises(BrokenRunError, match="device cpu was ended by signal 9 before it began"):
        run_over(data, tmp_path / "other", ["cpu"])
    assert deadly[0] == 96


def test_what_cannot_be_sent_to_a_process_is_refused(data: Path, tmp_path: Path) -> None:
    net = small_runs.Net().eval()
    net.extra = lambda: None  # type: ignore[assignment]  # what no pickle holds
    model = Classifier(net, "small", small_runs.SIDE, 0.5, 0.5, small_runs.CLASSES)
    with pytest.raises(TypeError, match="cannot be sent to workers"):
        run_over(data, tmp_path, model=model)


@pytest.mark.parametrize(
    ("devices", "words", "message"),
    [
        (("cuda:0", "cpu"), {}, "several kinds .cpu, cuda."),
        (("gpu7",), {}, "'gpu7' in `devices` is no device"),
        (("cpu",), {"count": 2}, "without Ray: leave them out"),
        (("cpu",), {"gpus_per_worker": 1}, "without Ray: leave them out"),
        (("cpu",), {"address": "auto"}, "without Ray: leave them out"),
    ],
)
def test_contradictions_are_refused(devices: tuple[str, ...], words: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Workers(devices=devices, **words)


def test_a_model_with_a_device_of_its_own_is_refused() -> None:
    with pytest.raises(ValueError, match="`device` is cuda:1, but `devices` names those to use"):
        Workers(devices=("cuda:0",)).check_device("cuda:1")


def test_a_device_that_is_not_there_is_named(data: Path, tmp_path: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("has GPUs")
    with pytest.raises(BrokenRunError, match=r"'cuda:[01]' cannot be used"):
        run_over(data, tmp_path, ["cuda:0", "cuda:1"])


def test_processes_share_the_cores_and_their_threads_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(os, "sched_getaffinity"):
        pytest.skip("cores are counted otherwise here")
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(16)))
    assert thread_settings(4, {}) == {"OMP_NUM_THREADS": "4", **SHORT_WAIT}
    assert thread_settings(4, {"OMP_NUM_THREADS": "3"}) == SHORT_WAIT


def test_processes_get_these_settings_and_this_one_keeps_its_own(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "thread_settings", lambda count, present: {"CUDA_VISIBLE_DEVICES": f"{count} here"})
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    noting = small_runs.Noting(small_runs.slow(), given={"notes": tmp_path / "notes", "together": 2})
    assert run_over(data, tmp_path / "out", model=noting).code == 0
    assert {path.read_text() for path in (tmp_path / "notes").iterdir()} == {"cpu 2 here"}
    assert "CUDA_VISIBLE_DEVICES" not in os.environ


def test_a_process_whose_first_one_was_killed_ends_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when its question meets a pipe that nobody reads, a moment before it would have seen that it is alone."""

    class Cut(Parcel):
        def unpack(self) -> Any:
            raise ConnectionResetError("Connection reset by peer")

    ours, theirs = multiprocessing.Pipe()
    ours.close()
    ended: list[int] = []
    monkeypatch.setattr(processes, "_end_with_parent", lambda: None)
    monkeypatch.setattr(processes.signal, "signal", lambda *_: None)
    monkeypatch.setattr(processes.os, "_exit", ended.append)
    processes._work(object.__new__(Cut), theirs)
    assert ended == [1]


@linux
def test_a_process_is_started_with_ctrl_c_held_back_until_it_ignores_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asking = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    with hold_ctrl_c():
        found = subprocess.run([sys.executable, "-c", asking], capture_output=True, text=True, check=True)
    assert found.stdout == "True\n"
    assert not is_held()
    monkeypatch.setattr(processes.signal, "signal", lambda *_: None)
    monkeypatch.setattr(processes, "_end_with_parent", lambda: None)
    ours, theirs = multiprocessing.Pipe()
    with hold_ctrl_c():
        processes._work(object.__new__(Parcel), theirs)  # it ends at once: nothing is packed in this
        assert not is_held()
    assert ours.recv().hopeless


def is_held() -> bool:
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])


# The command.


@linux
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_command_that_is_ended_leaves_no_process_and_its_run_goes_on(
    end: signal.Signals, data: Path, undisturbed: Path, tmp_path: Path
) -> None:
    words = ["--out", tmp_path, "--model", SLOWER, "--method", "ig", "--shard-size", str(SHARD)]
    command = start_command(data, *words, "--devices", "cpu,cpu", command="run", start_new_session=True)
    wait_until(lambda: list((tmp_path / "done").glob("*.json")), command)
    family = descendants(command.pid)
    assert len(family) >= 2
    if end == signal.SIGINT:
        os.killpg(command.pid, end)  # as a terminal does
    else:
        os.kill(command.pid, end)
    output = command.communicate()
    assert command.returncode in {signal.SIGINT: (130,), signal.SIGTERM: (143,), signal.SIGKILL: (-9,)}[end], output
    assert "Traceback" not in output[1]
    wait_for(lambda: not [pid for pid in family if is_alive(pid)])
    assert len(load(tmp_path).numbers) < PHOTOS // SHARD
    summary = run_over(data, tmp_path, model=SLOWER)
    assert (summary.code, summary.explained) == (0, PHOTOS)
    same(tmp_path, undisturbed)
