"""Shards that take long: their progress is reported batch by batch, and what is finished of them is kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest
from PIL import Image
from torch import Tensor

import small_runs
from samp.batch import BrokenRunError, load, run
from samp.batch.progress import RunProgress, ShardProgress
from samp.batch.progress_files import ProgressFiles
from samp.models import Classifier
from small_runs import CLASSES, classifier, rows, same

BATCH = 2  # of 7 photos in one shard: batches of 2, 2, 2 and 1


class Stopped(small_runs.Net):
    """A net that raises an error on the gradient of a later batch, or on none."""

    def __init__(self, after: int, error: BaseException) -> None:
        super().__init__()
        self.after, self.error, self.explained = after, error, set[bytes]()

    def forward(self, x: Tensor) -> Tensor:
        if not x.requires_grad:  # what a batch is begun with: its own inputs
            self.explained |= {one.numpy().tobytes() for one in x}
            if len(self.explained) > self.after:
                raise self.error
        return super().forward(x)


def run_over(data: Any, out: Path, **words: Any) -> Any:
    return run(data, out=out, **{"model": classifier(), "method": "ig", "batch_size": BATCH, **words})


def stopping(after: int, error: BaseException) -> Classifier:
    """After so many inputs, and the blank that a net is tried on."""
    return Classifier(Stopped(after + 1, error).eval(), "small", small_runs.SIDE, 0.5, 0.5, CLASSES)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(143)])
@pytest.mark.parametrize("after", [0, 2, 4, 6])
def test_what_was_finished_of_a_shard_is_kept_when_the_run_is_interrupted(
    data: Path, tmp_path: Path, error: BaseException, after: int
) -> None:
    run_over(data, tmp_path / "undisturbed")
    with pytest.raises(type(error)):
        run_over(data, tmp_path / "out", model=stopping(after, error))
    assert rows(tmp_path / "out") == rows(tmp_path / "undisturbed")[:after]
    assert len(dict(load(tmp_path / "out").maps())) == after
    again = run_over(data, tmp_path / "out")
    assert (again.found, again.explained, again.code) == (after, 7, 0)
    same(tmp_path / "out", tmp_path / "undisturbed")


def test_what_is_there_of_a_shard_is_neither_read_nor_explained_again(tmp_path: Path) -> None:
    class Noting(list[Image.Image]):
        read: ClassVar[list[int]] = []

        def __getitem__(self, place: Any) -> Any:
            self.read.append(place)
            return super().__getitem__(place)

    photos = Noting([Image.new("RGB", (20, 20), (30 * i, 9, 9)) for i in range(7)])
    run_over(photos, tmp_path / "undisturbed")
    with pytest.raises(KeyboardInterrupt):
        run_over(photos, tmp_path / "out", model=stopping(3, KeyboardInterrupt()))  # no blank: these may be tensors
    photos.read.clear()
    net = Stopped(99, ValueError())
    run_over(photos, tmp_path / "out", model=Classifier(net.eval(), "small", small_runs.SIDE, 0.5, 0.5, CLASSES))
    assert photos.read == [4, 5, 6]
    assert len(net.explained) == 3
    same(tmp_path / "out", tmp_path / "undisturbed")


def test_a_device_that_is_lost_costs_no_more_than_the_batch_under_way(data: Path, out: Path) -> None:
    lost = RuntimeError("CUDA error: unspecified launch failure")
    with pytest.raises(BrokenRunError, match="the device is lost") as broken:
        run_over(data, out, model=stopping(4, lost))
    assert (broken.value.summary.explained, broken.value.summary.code) == (4, 3)
    assert run_over(data, out).found == 4


def test_a_killed_process_loses_the_work_of_some_seconds_at_most(data: Path, tmp_path: Path) -> None:
    """What is finished is written every so often: here, where that is always, before each batch."""
    code = """
import os, sys, small_runs, test_unfinished as test
from samp.batch import worker
worker.SAVED_EVERY = 0.0
class Deadly(BaseException):
    pass
net = test.stopping(6, Deadly())
plain = net.net.forward
def forward(x):
    try:
        return plain(x)
    except Deadly:
        os.kill(os.getpid(), 9)
net.net.forward = forward
test.run_over(sys.argv[1], sys.argv[2], model=net)
"""
    here = Path(__file__)
    path = os.pathsep.join([str(here.parent), str(here.parents[1]), os.environ.get("PYTHONPATH", "")])
    words = [sys.executable, "-c", code, data, tmp_path / "out"]
    killed = subprocess.run(words, env={**os.environ, "PYTHONPATH": path}, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(load(tmp_path / "out").rows()) == 6
    run_over(data, tmp_path / "undisturbed")
    assert run_over(data, tmp_path / "out").found == 6
    same(tmp_path / "out", tmp_path / "undisturbed")


def test_of_a_shard_with_a_failure_only_the_batch_around_it_is_done_again(data: Path, tmp_path: Path) -> None:
    run_over(data, tmp_path / "undisturbed")
    victim = data / "003.png"  # the third: in the second batch
    good = victim.read_bytes()
    victim.write_bytes(b"no photo")
    assert run_over(data, tmp_path / "out").explained == 6
    victim.write_bytes(good)
    again = run_over(data, tmp_path / "out")
    assert (again.found, again.code) == (5, 0)
    same(tmp_path / "out", tmp_path / "undisturbed")


def test_rows_of_before_stay_while_failures_are_tried_again(data: Path, out: Path) -> None:
    """An interruption after the first of two batches that are done again leaves the rows of the second as they were."""
    for name in ("000.png", "003.png"):
        (data / name).write_bytes(b"no photo")
    run_over(data, out)
    before = rows(out)
    with pytest.raises(KeyboardInterrupt):
        run_over(data, out, model=stopping(1, KeyboardInterrupt()))
    assert rows(out) == before
    assert "004.png" in dict(load(out).maps())


def test_failures_that_are_let_be_stand_in_an_unfinished_shard_too(data: Path, out: Path) -> None:
    (data / "000.png").write_bytes(b"no photo")
    with pytest.raises(KeyboardInterrupt):
        run_over(data, out, model=stopping(3, KeyboardInterrupt()))
    kept = run_over(data, out, keep_failed=True)
    assert (kept.found, kept.explained, list(kept.failures)) == (3, 6, ["000.png"])
    assert run_over(data, out).found == 5  # tried again with the other of its batch


@pytest.mark.parametrize("shard_size", [1, 2, 4])
@pytest.mark.parametrize("method", ["ig", "random", "rise"])
def test_rows_do_not_depend_on_the_shards_they_are_in(data: Path, tmp_path: Path, method: str, shard_size: int) -> None:
    """Nor on their place there, where a method draws; batches of one, since rounding depends on the batch."""
    run_over(data, tmp_path / "one", batch_size=1, method=method)
    run_over(data, tmp_path / "other", batch_size=1, method=method, shard_size=shard_size)
    same(tmp_path / "one", tmp_path / "other")


# How far it is.


def test_progress_is_told_after_every_batch(data: Path, out: Path) -> None:
    Image.new("RGB", (16, 20)).save(data / "008.png")
    (data / "000.png").write_bytes(b"no photo")
    reports: list[tuple[int, int, int]] = []

    def note(count: RunProgress) -> None:
        reports.append((count.new_count, count.failed_count, count.left_count))

    run_over(data, out, on_progress=note)
    assert reports == [(0, 0, 8), (1, 1, 6), (3, 1, 4), (5, 1, 2), (7, 1, 0), (7, 1, 0)]


def test_progress_of_a_run_that_goes_on_begins_where_it_was(data: Path, out: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_over(data, out, model=stopping(4, KeyboardInterrupt()))
    reports: list[tuple[int, int]] = []
    run_over(data, out, on_progress=lambda count: reports.append((count.new_count, count.left_count)))
    assert reports == [(0, 3), (2, 1), (3, 0), (3, 0)]


@pytest.mark.parametrize(("batch_size", "together"), [(1, 1), (3, 3), (500, 128), ("auto", 128)])
def test_batches_are_as_large_as_the_net_is_given_inputs(data: Path, out: Path, batch_size: Any, together: int) -> None:
    sizes: list[int] = []
    run_over(data, out, batch_size=batch_size, on_progress=lambda count: sizes.append(count.inputs_per_batch))
    assert set(sizes) == {together}


def test_progress_files_of_other_processes_are_counted_and_removed(tmp_path: Path) -> None:
    files = ProgressFiles(tmp_path)
    files.write(4, ShardProgress(3, 1, 2.5))
    (tmp_path / ".begun" / "000005.json").write_text("[1]")  # none of ours
    count = RunProgress(inputs=10, poll=files.read)
    count.refresh()
    assert (count.new_count, count.failed_count, count.left_count, count.first_seconds) == (3, 1, 6, 2.5)
    files.forget(4)
    count.refresh()
    assert (count.left_count, count.first_seconds) == (10, 2.5)
    files.clear()
    assert not list(tmp_path.iterdir())


def test_a_count_takes_a_shard_for_begun_until_it_is_finished() -> None:
    count = RunProgress(inputs=10, found=2, explained=2)
    count.update_shard(0, ShardProgress(3, 1, 1.0))
    count.update_shard(1, ShardProgress(1, 0, 9.0))
    assert (count.new_count, count.done_count, count.left_count, count.first_seconds) == (4, 5, 3, 1.0)
    count.finish_shard(0)
    assert (count.new_count, count.left_count) == (1, 7)
    assert count.under_way == 0
