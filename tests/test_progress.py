"""The bar: on stderr, only if asked for, and right after a batch was done again."""

from __future__ import annotations

import re
from functools import partialmethod

import pytest
import torch
from torch import Tensor, nn
from tqdm import tqdm

import samp
from laws import assert_same, images, net
from samp.metrics import deletion_insertion, sensitivity_n
from samp.progress import Meter


def test_the_bar_shows_images_and_gradients_per_second_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    samp.explain(net(0), images(0, 5, 12), progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    last = err.strip().split("\r")[-1]
    assert "5/5 images" in last
    assert re.search(r"\d+\.\d gradients/s", last)


def test_nothing_is_printed_unless_asked_for_and_the_result_is_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    quiet = samp.explain(net(0), images(0, 5, 12))
    assert capsys.readouterr() == ("", "")
    assert_same(quiet, samp.explain(net(0), images(0, 5, 12), progress=True))


def test_the_bar_is_closed_when_a_walk_fails(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(samp.NonFiniteError):
        samp.explain(lambda x: x.sum(1) / (x[:, 0] - x[:, 0]), images(0, 5, 12), progress=True)
    assert "5/5 images" in capsys.readouterr().err.split("\r")[-1]


def test_images_done_again_are_counted_once(capsys: pytest.CaptureFixture[str]) -> None:
    def cramped(x: Tensor) -> Tensor:
        if len(x) > 3 and torch.is_grad_enabled():
            raise MemoryError
        return x.sum(1)

    samp.explain(cramped, images(0, 5, 12), progress=True)
    assert "5/5 images" in capsys.readouterr().err.split("\r")[-1]


def test_half_an_image_is_one_of_its_two_walks() -> None:
    meter = Meter(total=2, walks_per_image=2, show=False)
    meter.record_step(gradients=4, arrived=1)
    meter.record_step(gradients=3, arrived=2)
    assert (meter.images, meter.gradients) == (1.5, 7)
    meter.rewind_to(2)
    assert (meter.images, meter.gradients) == (1.0, 7)
    meter.close()


def percentages(written: str) -> list[int]:
    return [int(found) for found in re.findall(r"(\d+)%\|", written)]


@pytest.fixture
def chatty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let bars be written at every update, not ten times a second."""
    monkeypatch.setattr("tqdm.std.tqdm.__init__", partialmethod(tqdm.__init__, mininterval=0, miniters=0))


@pytest.mark.usefixtures("chatty")
def test_compare_has_one_bar_that_names_the_methods_and_only_goes_up(capsys: pytest.CaptureFixture[str]) -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(48, 5)).eval()
    methods = ["samp++", "rise", samp.SAMP(credit="shared_trapezoid"), "smoothgrad", "random"]
    compared = samp.compare(model, torch.rand(2, 3, 4, 4), methods, progress=True, batch_size=2)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1  # one bar
    shown = percentages(err)
    assert shown == sorted(shown)
    assert len(set(shown)) > 10  # moved by what happens inside the methods
    assert shown[-1] == 100
    assert "5/5 methods" in err.split("\r")[-1]
    for name in compared.names:
        assert f"{name[:39]}" in err
    named = [line.partition(":")[0].partition(",")[0] for line in err.split("\r") if "%" in line]
    assert [name for name in dict.fromkeys(named) if name in methods] == ["samp++", "rise", "smoothgrad", "random"]


@pytest.mark.usefixtures("chatty")
def test_a_metric_s_bar_only_goes_up(capsys: pytest.CaptureFixture[str]) -> None:
    model, x = net(0), images(0, 2, 12)
    for ask in (
        lambda: deletion_insertion(model, x, x, 0, samp.metrics.Protocol(step=2), progress=True, batch_size=2),
        lambda: sensitivity_n(model, x, x, 0, subsets=5, progress=True, batch_size=2),
    ):
        ask()
        shown = percentages(capsys.readouterr().err)
        assert shown == sorted(shown)
        assert shown[-1] == 100


def test_compare_is_silent_unless_asked_and_the_result_is_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    model, x = net(0, 48), images(0, 2, 3, 4, 4)
    quiet = samp.compare(model, x, ["ig", "rise"])
    assert capsys.readouterr() == ("", "")
    shown = samp.compare(model, x, ["ig", "rise"], progress=True)
    for a, b in zip(quiet.rows, shown.rows, strict=True):
        assert torch.equal(a.attribution.values, b.attribution.values)
        assert torch.equal(a.curves.insertion.nan_to_num(9), b.curves.insertion.nan_to_num(9))


def test_bars_after_a_comparison_that_failed_are_their_own_again(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="CAM"):
        samp.compare(net(0, 48), torch.rand(2, 3, 4, 4).double(), ["cam"], progress=True)
    capsys.readouterr()
    samp.explain(net(0), images(0, 5, 12), progress=True)
    assert "5/5 images" in capsys.readouterr().err
