"""Progress: quiet for two seconds, then how far and how long."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

import samp
from samp.cli import progress
from samp.cli.progress import QUIET, PhotoProgress, expected_rows
from samp.methods import resolve_method
from samp.methods.coupled import QUALITIES


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that a test may let pass; none else do."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(progress, "QUIET", QUIET)
    return now


def test_nothing_is_shown_within_two_seconds(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    shown = PhotoProgress(1, 10)
    for _ in range(10):
        clock[0] += 0.19
        shown.add_rows(1)
    assert capsys.readouterr().err == ""


def test_a_log_gets_a_line_now_and_then(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    shown = PhotoProgress(2, 100)
    for _ in range(80):
        clock[0] += 1.0
        shown.add_rows(1)
    first, *others = capsys.readouterr().err.splitlines()
    assert first == "samp: photo 1 of 2, : 3 model evaluations in 3 s, about 3 min 17 s left"
    assert len(others) == 2  # every thirty seconds


def test_a_terminal_gets_one_line_that_is_redrawn_and_taken_away(
    clock: list[float], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    shown = PhotoProgress(1, 10)
    with shown.watch(torch.nn.Identity(), "cat.jpg"):
        for _ in range(5):
            clock[0] += 1.0
            shown.add_rows(1)
    written = capsys.readouterr().err
    assert "\n" not in written
    assert written.split("\r")[-2].endswith("cat.jpg: 5 model evaluations in 5 s, about 5 s left")
    assert written.endswith("\r\x1b[K")


def test_calls_of_the_net_are_counted_and_the_next_photo_is_expected_to_cost_as_much() -> None:
    net, shown = torch.nn.Linear(2, 2), PhotoProgress(3, None)
    with shown.watch(net, "a"):
        net(torch.zeros(4, 2))
        assert shown.seconds_left(1.0) is None  # nothing is known of how many there will be
    assert shown.seconds_left(1.0) == 2.0
    net(torch.zeros(4, 2))  # nobody is watching
    assert shown.finished_rows == 4


def spent(method: Any, height: int, width: int) -> int:
    """The gradients that a random image of this size takes on a linear net."""
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * height * width, 2)).eval()
    x = torch.rand(1, 3, height, width, generator=torch.Generator().manual_seed(0))
    return int(samp.explain(net, x, target=0, method=method).gradients)


@pytest.mark.parametrize("name", ["coupled", "samp++", "samp", "ig", "ig-both", "blurig", "guidedig"])
def test_methods_make_about_as_many_evaluations_as_expected(name: str) -> None:
    expected = expected_rows(resolve_method(name), 40, 40)
    assert expected is not None
    assert 0.6 * expected <= spent(name, 40, 40) <= expected


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
