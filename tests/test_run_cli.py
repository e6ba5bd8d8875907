"""`samp run` on the command line: exit codes, what is told, and where."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest
from click.testing import Result

import small_runs
from cli_runs import refused, run
from samp.cli.run import Progress, progress_words
from samp.runs import load
from samp.runs.summary import Count

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


def test_if_nothing_can_be_explained_the_exit_code_is_2() -> None:
    Path("bad").mkdir()
    Path("bad/a.jpg").write_text("no photo")
    assert run("run", "bad", "--out", "why", *SMALL).exit_code == 2


def test_a_run_goes_on_and_says_so() -> None:
    over()
    next(Path("why/done").glob("000001*")).unlink()
    result = over()
    assert result.exit_code == 0
    assert "explained 5 of 5 inputs, 3 of them before, in" in result.stdout
    refused(over("--method", "ig"), "holds a run with other settings (method: ")


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
        (("--gpus-per-worker", "1", "--workers", "1"), "add --device cuda"),
        (("--model", "nowhere:net"), "there is no module 'nowhere'"),
        (("--target", "be"), "did you mean 'bee'?"),
        (("--out", "data/000.png"), "cannot be made (File exists): choose another --out"),
        (("--eta", "0.1", "--method", "ig2"), "takes no --eta"),
    ],
)
def test_wrong_options_get_one_line(words: tuple[str, ...], said: str) -> None:
    refused(over(*words), said)


def test_workers_without_ray_get_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)  # as where it is not installed
    refused(over("--workers", "1"), "pip install 'samp[scale]', or leave out --workers")


def test_a_missing_data_set_leaves_nothing_behind() -> None:
    refused(run("run", "nowhere", "--out", "why"), "nowhere is not there")
    assert not Path("why").exists()


def test_progress_is_quiet_at_first_and_then_says_how_far(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [100.0]
    monkeypatch.setattr("samp.cli.run.time.monotonic", lambda: now[0])
    progress, count = Progress(), Count(inputs=400, found=100, explained=100)
    for _ in range(40):
        now[0] += 1.0
        count.explained += 5
        progress.hear(count)
        progress.show()
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "samp: 110 of 400 inputs after 2 s, 5.0/s, about 58 s left"
    assert len(lines) == 2  # the next half a minute later


def test_progress_without_a_pace_does_not_guess() -> None:
    assert progress_words(Count(inputs=3), 0.5, 9.0) == "0 of 3 inputs after 9 s"


def test_progress_looks_alive_while_a_shard_takes_its_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("samp.cli.run.QUIET", 0.0)
    with Progress() as progress:
        progress.hear(Count(inputs=3))
        while not progress.drawn:
            time.sleep(0.01)
    assert capsys.readouterr().err == "samp: 0 of 3 inputs after 0 s\n"


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
