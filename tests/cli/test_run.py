"""`samp run` on the command line: exit codes, what is told, and where."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import Result

import small_runs
from cli_runs import PATIENCE, assert_refused, run, start_command, wait_until
from samp.batch import load
from samp.batch.progress import RunProgress
from samp.batch.sources import Folder
from samp.cli.progress import RunBar, describe_pace
from samp.extras import install_command

SMALL = ("--model", "small_runs:classifier", "--shard-size", "3")


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    small_runs.photos(Path("data"), 5)


def over(*words: str) -> Result:
    return run("run", "data", "--out", "why", *SMALL, *words)


def test_a_data_set_is_explained_and_the_exit_code_is_0() -> None:
    result = over()
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("explained 5 of 5 inputs in ")
    assert len(load("why").rows()) == 5


def test_black_is_that_of_the_photos() -> None:
    assert over("--baseline", "black,zero", "--quality", "draft").exit_code == 0
    settings = json.loads(Path("why/manifest.json").read_text(encoding="utf-8"))["settings"]
    black = small_runs.classifier().colour("black")
    assert f"baseline=({black!r}, Constant(value=0.0))" in settings["method"]
    assert_refused(over("--baseline", "blakc"), "unknown baseline 'blakc': did you mean 'black'? The known ones are")


def test_a_bad_photo_is_told_and_the_exit_code_is_1() -> None:
    Path("data/bad.jpg").write_text("no photo")
    result = over("--json")
    assert result.exit_code == 1
    assert "samp: bad.jpg: " in result.stderr
    told = json.loads(result.stdout)
    assert (told["inputs"], told["explained"], list(told["failures"])) == (6, 5, ["bad.jpg"])


def test_many_failures_are_counted() -> None:
    for number in range(12):
        Path(f"data/bad{number}.jpg").write_text("no photo")
    assert "and 2 more; each has its reason in its row" in over().stderr


def test_if_every_input_was_tried_and_failed_the_exit_code_is_1() -> None:
    Path("bad").mkdir()
    Path("bad/a.jpg").write_text("no photo")
    assert run("run", "bad", "--out", "why", *SMALL).exit_code == 1


def test_a_run_that_breaks_says_how_far_it_came_and_the_exit_code_is_3(monkeypatch: pytest.MonkeyPatch) -> None:
    """The device is lost in the second shard of two; coupled makes no forward passes that would count as inputs."""
    monkeypatch.setattr(small_runs, "MARKER", Path("marker").resolve())
    monkeypatch.setattr(small_runs, "LOST_AFTER", 3)
    words = ["--model", "small_runs:losing", "--method", "coupled", "--shard-size", "3", "--json"]
    result = run("run", "data", "--out", "why", *words)
    assert result.exit_code == 3
    assert json.loads(result.stdout)["explained"] == 3
    said = "the device is lost (CUDA error: unspecified launch failure): run the same again to go on."
    assert result.stderr == f"samp: the run broke: {said}\n"
    again = run("run", "data", "--out", "why", *words[:-1])
    assert (again.exit_code, again.stdout.startswith("explained 5 of 5 inputs, 3 of them before, in")) == (0, True)


def test_what_nobody_expected_under_way_is_code_3_too_and_can_be_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr(RunBar, "update", lambda self, count: fail() if count.done_count else None)
    result = over("--debug")
    assert result.exit_code == 3
    assert "Traceback" in result.stderr
    assert "samp: the run broke: unexpected ZeroDivisionError (by nothing)" in result.stderr


def test_sigterm_ends_a_run_in_order_and_another_goes_on() -> None:
    """As schedulers end a job, in the middle of a shard; coupled makes no forward passes, which the net would count."""
    words = ("data", "--out", "why", "--model", "small_runs:stuck", "--method", "coupled", "--shard-size", "1")
    Path("stuck").touch()
    process = start_command(*words, command="run")
    wait_until(lambda: list(Path("why").glob("done/*.json")), process)
    process.terminate()
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 143
    assert said == "samp: ended by SIGTERM; what was written before is whole.\n"
    assert not list(Path("why").rglob("*.part"))
    before = len(load("why").numbers)
    assert 0 < before < 5
    Path("stuck").unlink()
    again = run("run", *words, "--json")
    assert (again.exit_code, json.loads(again.stdout)["found"]) == (0, before)


def test_of_two_runs_started_at_once_into_one_folder_one_is_refused_or_finds_all_done() -> None:
    words = ("data", "--out", "why", "--model", "small_runs:slow", "--shard-size", "1")
    both = [start_command(*words, command="run") for _ in range(2)]
    said = [process.communicate(timeout=PATIENCE)[1] for process in both]
    codes = sorted(process.returncode for process in both)
    assert codes in ([0, 2], [0, 0]), said  # the latter where one was done before the other began
    assert any("another run is writing into" in words for words in said) == (2 in codes)
    assert [row["id"] for row in load("why").rows()] == [entry.id for entry in Folder(Path("data").resolve()).entries()]


def test_a_run_goes_on_and_says_so() -> None:
    over()
    next(Path("why/done").glob("000001*")).unlink()
    result = over()
    assert result.exit_code == 0
    assert "explained 5 of 5 inputs, 3 of them before, in" in result.stdout
    assert_refused(over("--method", "ig"), "holds a run with other settings (method: ")


def test_what_failed_is_let_be_if_asked_for() -> None:
    Path("data/bad.jpg").write_text("no photo")
    assert over().exit_code == 1
    shutil.copy("data/000.png", "data/bad.jpg")  # now it is one
    kept = over("--keep-failed", "--json")
    assert (kept.exit_code, json.loads(kept.stdout)["explained"]) == (1, 5)
    assert (over("--json").exit_code, len(load("why").rows())) == (0, 6)


def test_options_reach_the_run() -> None:
    words = ["--target", "bee", "--method", "ig", "--map-dtype", "float32", "--batch-size", "2", "--seed", "3"]
    assert over(*words, "--dtype", "float64").exit_code == 0
    settings = load("why").settings
    assert settings["method"].startswith("IG(")
    wanted = {"target": "bee", "map_dtype": "float32", "batch_size": 2, "seed": 3, "dtype": "float64", "shard_size": 3}
    assert {name: settings[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--gpus-per-worker", "1", "--workers", "1"), "but --device is cpu: add --device cuda"),
        (
            ("--gpus-per-worker", "1", "--workers", "1", "--device", "cuda:1"),
            "say --device cuda, which is each worker's",
        ),
        (("--gpus-per-worker", "1", "--device", "cuda"), "is for workers, of which there are none"),
        (("--gpus-per-worker", "2", "--workers", "1", "--device", "cuda"), "a net runs on one"),
        (("--workers", "2", "--device", "cuda"), "workers are given no GPU"),
        (("--device", "cuda:77"), "device 'cuda:77' cannot be used"),
        (("--model", "nowhere:net"), "there is no module 'nowhere'"),
        (("--target", "be"), "did you mean 'bee' ("),
        (("--out", "data/000.png"), "cannot be made (File exists): choose another --out"),
        (("--eta", "0.1", "--method", "ig2"), "takes no --eta"),
    ],
)
def test_wrong_options_get_one_line(words: tuple[str, ...], said: str) -> None:
    assert_refused(over(*words), said)


def test_workers_without_ray_get_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)  # as where it is not installed
    assert_refused(over("--workers", "1"), f"{install_command('scale')}, or leave out --workers")


def test_a_missing_data_set_leaves_nothing_behind() -> None:
    assert_refused(run("run", "nowhere", "--out", "why"), "nowhere is not there")
    assert not Path("why").exists()


@pytest.mark.parametrize("workers", [1, 2, 8])
@pytest.mark.parametrize("start", [0.0, 60.0])
def test_the_time_left_is_right_from_the_first_shard_on_however_long_workers_take_to_start(
    monkeypatch: pytest.MonkeyPatch, workers: int, start: float
) -> None:
    """Workers that start together and take 10 s for each of 80 shards; the truth is 10 s for each round of them."""
    now = [0.0]
    monkeypatch.setattr("samp.cli.progress.time.monotonic", lambda: now[0])
    bar, count = RunBar(), RunProgress(inputs=800, concurrency=workers, inputs_per_batch=10)
    bar.update(count)
    for shard in range(80):
        now[0] = start + 10.0 * (shard // workers + 1)
        count.explained, count.first_seconds = count.explained + 10, 10.0
        bar.update(count)
        words = describe_pace(count, now[0] - (bar.began or 0.0), 0.0)
        truth = 10.0 * (80 / workers - shard // workers - 1)
        if truth and shard % workers in (0, workers - 1):
            told = seconds(words)
            bound = 0.05 if workers == 1 else 1.0 if shard < workers else 0.5  # of all under way, half was guessed
            assert truth / (1 + bound) - 5 <= told <= truth * (1 + bound) + 5, (shard, words, truth)


def seconds(words: str) -> float:
    """The time left that is told."""
    found = re.search(r"about (?:(\d+) min )?(?:(\d+) s )?left", words)
    assert found, words
    return 60.0 * int(found[1] or 0) + int(found[2] or 0)


def test_inputs_that_failed_before_and_are_let_be_are_no_work_of_this_run() -> None:
    count = RunProgress(inputs=10, found=4, explained=4, failures={"a": "no photo"}, kept=1)
    assert (count.done_count, count.left_count) == (0, 5)
    assert describe_pace(count, 0.0, 0.0) == "1 failed"


def test_inputs_that_fail_make_no_pace() -> None:
    """The first photo of seven could not be read, in no time; each of the others takes 10 s."""
    count = RunProgress(inputs=7, failures={"a": "no photo"})
    assert describe_pace(count, 0.3, 1.7) == "1 failed"
    count.explained = 1
    assert describe_pace(count, 10.0, 0.0) == "0.1/s, about 50 s left, 1 failed"


def test_inputs_explained_before_make_no_pace_either() -> None:
    count = RunProgress(inputs=8, found=3, explained=3, failures={"a": "no photo"})
    assert describe_pace(count, 0.3, 1.7) == "1 failed"
    many = RunProgress(inputs=80, failures={"a": "no photo"}, concurrency=4, inputs_per_batch=10)
    assert describe_pace(many, 0.3, 1.7) == "1 failed"


def test_progress_without_a_pace_does_not_guess() -> None:
    assert describe_pace(RunProgress(inputs=3), 0.0, 0.0) == ""


def test_what_a_net_prints_is_not_on_stdout() -> None:
    result = run("run", "data", "--out", "why", "--model", "small_runs:talking", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["explained"] == 5
    assert "Hello from the net" in result.stderr


def test_a_name_that_is_no_text_costs_nothing() -> None:
    """A photo whose name has a byte that is no letter, as old disks have them."""
    try:
        Path("data/000.png").rename(os.fsdecode(b"data/caf\xe9.png"))
    except OSError:
        pytest.skip("needs a file system that takes any name")
    result = over()
    assert result.exit_code == 0, result.output
    assert "caf\\xe9.png" in [row["id"] for row in load("why").rows()]
    assert run("report", "why", "--pictures").exit_code == 0
