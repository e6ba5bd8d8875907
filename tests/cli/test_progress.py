"""The bars of commands: on a terminal only, after two seconds, with how far and how long, and gone in the end."""

from __future__ import annotations

import io
import json
import re
import signal
import sys
import time
from contextlib import redirect_stderr
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import samp
import small_runs
from cli_runs import PATIENCE, TINY, OnTerminal, a_photo, run, screen
from samp.batch.progress import RunProgress
from samp.cli.progress import EvaluationBar, RunBar
from samp.methods import resolve_method
from samp.methods.cost import expected_rows
from samp.methods.coupled import QUALITIES

terminal = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
SLOW = ["--model", "tiny_nets:slow"]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


class Terminal(io.StringIO):
    """A stream that is a terminal, and keeps what is written to it."""

    @property
    def written(self) -> str:
        return self.getvalue()

    def isatty(self) -> bool:
        return True


@pytest.fixture
def stderr(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal to redirect stderr to, on which bars are drawn at once and at every update."""
    monkeypatch.setattr("samp.progress.QUIET", 0.0)
    monkeypatch.setattr("samp.progress.REDRAWN", 0.0)
    return Terminal()


def percentages(written: str) -> list[int]:
    return [int(one) for one in re.findall(r"(\d+)%\|", written)]


@pytest.mark.parametrize(
    "words",
    [
        ["explain", "photo.png", *TINY],
        ["compare", "photo.png", "--methods", "ig,random", *TINY],
        ["play", "photo.png", *TINY],
        ["run", "photos", "--out", "why", "--model", "small_runs:classifier"],
    ],
    ids=lambda words: words[0],
)
def test_a_pipe_gets_no_bar(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("samp.progress.QUIET", 0.0)
    a_photo("photo.png")
    small_runs.photos(Path("photos"), 2)
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert "%|" not in result.output
    assert "\r" not in result.output


@terminal
def test_within_two_seconds_a_terminal_gets_nothing() -> None:
    command = OnTerminal("explain", a_photo(), *TINY, quiet=PATIENCE)
    assert command.finish() == 0
    assert command.written == ""
    assert "explanation.png" in command.stdout


@terminal
def test_explain_names_the_photo_and_shows_the_time_left() -> None:
    for name in ("a.png", "b.png"):
        a_photo(name)
    command = OnTerminal("explain", "a.png", "missing.png", "b.png", "--out", "why", "--method", "samp++", *SLOW)
    assert command.finish() == 1
    assert re.search(r"photo 1 of 3, a\.png: +\d+%\|.*\| \d\d:\d\d<\d\d:\d\d", command.written), command.written
    assert "photo 3 of 3, b.png" in command.written
    shown = percentages(command.written)
    assert shown == sorted(shown)
    assert len(set(shown)) > 5  # it moves within a photo
    said, summary = screen(command.written)  # and nothing else is left on the terminal
    assert said.startswith("samp: missing.png is not a file")
    assert summary == "samp: 1 of 3 photos could not be explained."


@terminal
def test_a_comparison_has_one_bar_that_names_the_methods_and_only_goes_up() -> None:
    command = OnTerminal("compare", a_photo(), "--methods", "samp++,gradcam,ig,random", "--json", *SLOW)
    assert command.finish() == 1  # gradcam finds no feature map
    shown = percentages(command.written)
    assert shown == sorted(shown)
    assert len(set(shown)) > 10
    names = re.findall(r"([\w+]+): +\d+%\|", command.written)
    assert [name for name in dict.fromkeys(names) if name != "gradcam"] == ["samp++", "ig", "random"]
    assert [line.partition(":")[0] for line in screen(command.written)] == ["samp"]  # that gradcam is left out
    assert [one["name"] for one in json.loads(command.stdout)["methods"]] == ["samp++", "ig", "random"]


@terminal
def test_a_bar_goes_on_while_a_page_is_made() -> None:
    command = OnTerminal("play", a_photo(), "--method", "samp++", "--eta", "0.1", "--frames", "5", *SLOW)
    assert command.finish() == 0
    assert "photo.png:" in command.written
    assert "photo.png, classes along the path:" in command.written
    assert percentages(command.written)[-1] >= 75
    assert screen(command.written) == []


@terminal
def test_ctrl_c_leaves_the_terminal_clean() -> None:
    command = OnTerminal("explain", a_photo(), "--method", "samp++", "--eta", "0.0005", *SLOW)
    command.read_until("  1%|")  # of forty seconds
    command.process.send_signal(signal.SIGINT)
    assert command.finish() == 130
    assert screen(command.written) == ["samp: interrupted; what was written before is whole."]


@terminal
def test_a_run_shows_inputs_and_failures_and_takes_the_bar_away() -> None:
    small_runs.photos(Path("photos"), 9)
    Path("photos/bad.jpg").write_text("no photo")
    words = ("--out", "why", "--model", "small_runs:slow", "--shard-size", "1", "--batch-size", "1")
    command = OnTerminal("run", "photos", *words, "--quality", "draft")
    assert command.finish() == 1
    shown = [int(one) for one in re.findall(r"(\d+)/10 inputs", command.written)]
    assert shown == sorted(shown)
    assert len(set(shown)) > 1
    assert re.search(r"\d/10 inputs \[\d\d:\d\d, [\d.]+/(s|min), about .* left", command.written), command.written
    (failure,) = screen(command.written)
    assert failure.startswith("samp: bad.jpg: ")
    assert "explained 9 of 10 inputs" in command.stdout


def test_a_line_of_ours_is_not_mixed_with_a_bar(stderr: Terminal) -> None:
    from samp.cli.terminal import say

    with redirect_stderr(stderr), EvaluationBar(total=2) as bar:
        with bar.watch(None, "a photo", expected=None):
            say("samp: a warning.", err=True)
        assert screen(stderr.written)[0] == "samp: a warning."
        assert screen(stderr.written)[1].startswith("a photo:  50%|")
    assert screen(stderr.written) == ["samp: a warning."]


def test_control_characters_of_a_name_stay_off_the_bar(stderr: Terminal) -> None:
    with redirect_stderr(stderr), EvaluationBar(total=1) as bar, bar.watch(None, "a\x1b[31m\n\u202eb", expected=None):
        pass
    assert "\x1b" not in stderr.written.replace("\x1b[A", "")
    assert "\\x1b[31m\\n\\u202eb" in stderr.written


def test_rows_move_the_bar_up_to_what_is_expected(stderr: Terminal) -> None:
    net = torch.nn.Linear(2, 2)
    with redirect_stderr(stderr), EvaluationBar(total=2) as bar, bar.watch(net, "a", expected=8):
        net(torch.zeros(4, 2))
        assert bar.bar.n == 0.5
        net(torch.zeros(40, 2))
        assert bar.bar.n == 1.0
    net(torch.zeros(4, 2))  # nobody is watching
    assert bar.rows == 44


def test_a_piece_that_fails_is_taken_off_the_total(stderr: Terminal) -> None:
    net = torch.nn.Linear(2, 2)
    with redirect_stderr(stderr), EvaluationBar(total=3) as bar:
        with pytest.raises(ZeroDivisionError), bar.watch(net, "a", expected=None):
            raise ZeroDivisionError
        assert not net._forward_pre_hooks
        bar.drop_piece()
        with bar.watch(net, "b", expected=None):
            pass
        assert (bar.bar.n, bar.bar.total) == (1, 2)


def test_a_run_looks_alive_while_a_shard_takes_its_time(stderr: Terminal) -> None:
    with redirect_stderr(stderr), RunBar() as bar:
        bar.update(RunProgress(inputs=3))
        until = time.monotonic() + PATIENCE
        while stderr.written.count("0/3 inputs") < 3 and time.monotonic() < until:
            time.sleep(0.01)
    assert stderr.written.count("0/3 inputs") >= 3
    assert screen(stderr.written) == []


def test_a_run_that_has_not_begun_shows_nothing(stderr: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("samp.progress.QUIET", 0.001)
    with redirect_stderr(stderr), RunBar() as bar:
        bar.draw()
    assert stderr.written == ""


def spent(method: Any, height: int, width: int) -> int:
    """The gradients that a random image of this size takes on a linear net."""
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * height * width, 2)).eval()
    x = torch.rand(1, 3, height, width, generator=torch.Generator().manual_seed(0))
    return int(samp.explain(net, x, target=0, method=method).gradients)


@pytest.mark.parametrize("name", ["consensus", "coupled", "samp++", "samp", "ig", "ig-both", "blurig", "guidedig"])
def test_methods_make_about_as_many_evaluations_as_expected(name: str) -> None:
    expected = expected_rows(resolve_method(name), 40, 40)
    assert expected is not None
    assert 0.6 * expected <= spent(name, 40, 40) <= expected


@pytest.mark.parametrize("size", [(40, 40), (12, 12), (20, 40)])
@pytest.mark.parametrize(
    "method", [*map(samp.Consensus, QUALITIES), samp.Consensus(walks=3, steps=5), samp.Consensus(direction="to_image")]
)
def test_the_evaluations_of_a_mean_of_walks_are_known(method: samp.Consensus, size: tuple[int, int]) -> None:
    """Gradients, and one forward pass at each end: the image and the baselines."""
    ends = 2 if method.direction == "to_image" else 3
    assert spent(method, *size) + ends == expected_rows(method, *size)


@pytest.mark.parametrize("size", [(40, 40), (12, 12), (20, 40)])  # of 20 × 40 one side is too long for a small image
@pytest.mark.parametrize(
    "method",
    [
        samp.Coupled("draft", eta=1),
        samp.Coupled("standard", eta=1),
        samp.Coupled("fine", eta=1),
        samp.Coupled(steps=9, eta=1, direction="to_image"),
        samp.Coupled(pixels_per_step=37, eta=2),
    ],
)
def test_without_eta_the_evaluations_of_a_coupled_walk_are_known(method: samp.Coupled, size: tuple[int, int]) -> None:
    """Growth rounds every step up to whole pixels, which may save the last one, in each walk."""
    even, expected = replace(method, growth=0), expected_rows(method, *size)
    assert spent(even, *size) == expected_rows(even, *size) == expected
    assert expected is not None
    assert expected - spent(method, *size) in (0, 2)


@pytest.mark.parametrize("size", [(40, 40), (12, 12), (20, 40)])
@pytest.mark.parametrize(
    "method", [*map(samp.Coupled, QUALITIES), samp.Coupled(eta=0.03, direction="to_baseline"), samp.Coupled(eta=0.3)]
)
def test_with_eta_a_coupled_walk_keeps_within_what_is_expected(method: samp.Coupled, size: tuple[int, int]) -> None:
    """η cuts steps of the longer walk, now of the one and now of the other: at most as often as of both."""
    expected = expected_rows(method, *size)
    assert expected is not None
    assert 0.4 * expected <= spent(method, *size) <= expected
