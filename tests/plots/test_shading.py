"""How credit becomes brightness or colour."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from samp.plots.palette import SIGNED, rgb
from samp.plots.shading import brightness, signed_colours


def test_brightness_is_credit_over_its_99th_percentile() -> None:
    credit = torch.arange(10_000.0).view(100, 100)
    shade = brightness(credit)
    assert shade[50, 0] == pytest.approx(5000 / np.quantile(credit.numpy(), 0.99))
    assert shade.max() == 1


@pytest.mark.parametrize("credit", [torch.zeros(4, 4), -torch.ones(4, 4)])
def test_maps_without_positive_credit_are_black(credit: torch.Tensor) -> None:
    assert (brightness(credit) == 0).all()


def test_one_bright_pixel_among_many_is_still_shown() -> None:
    credit = torch.zeros(100, 100)
    credit[3, 4] = 2.0
    assert brightness(credit)[3, 4] == 1
    assert signed_colours(credit)[3, 4].tolist() == list(rgb(SIGNED[-1]))


def test_signed_colours_are_the_same_distance_from_white_for_and_against() -> None:
    colours = signed_colours(torch.tensor([[-2.0, -1.0, 0.0, 1.0, 2.0]]))[0]
    assert colours.tolist() == [list(map(float, rgb(colour))) for colour in SIGNED]
