"""The bar: on stderr, only if asked for, and right after a batch was done again."""

from __future__ import annotations

import re

import pytest
import torch
from torch import Tensor

import samp
from laws import assert_same, images, net
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
    meter.hear(gradients=4, arrived=1)
    meter.hear(gradients=3, arrived=2)
    assert (meter.images, meter.gradients) == (1.5, 7)
    meter.go_back_to(2)
    assert (meter.images, meter.gradients) == (1.0, 7)
    meter.close()
