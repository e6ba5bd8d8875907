"""The picture: what it shows of a map, and that odd maps do not break it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image

import samp
from samp.plots import palette, sheet


def blob() -> torch.Tensor:
    credit = torch.zeros(20, 20)
    credit[5:10, 5:10] = 1.0
    return credit


def test_brightness_is_credit_over_its_99th_percentile() -> None:
    credit = torch.arange(10_000.0).view(100, 100)
    shade = sheet.brightness(credit)
    assert shade[50, 0] == pytest.approx(5000 / np.quantile(credit.numpy(), 0.99))
    assert shade.max() == 1


@pytest.mark.parametrize("credit", [torch.zeros(4, 4), -torch.ones(4, 4)])
def test_maps_without_positive_credit_are_black(credit: torch.Tensor) -> None:
    assert (sheet.brightness(credit) == 0).all()


def test_one_bright_pixel_among_many_is_still_shown() -> None:
    credit = torch.zeros(100, 100)
    credit[3, 4] = 2.0
    assert sheet.brightness(credit)[3, 4] == 1


def test_overlay_glows_where_the_credit_is() -> None:
    grey = Image.new("RGB", (20, 20), (80, 80, 80))
    picture = np.asarray(sheet.overlay(grey, sheet.brightness(blob())), dtype=float).mean(2)
    scale = sheet.PANEL // 20
    inside = picture[6 * scale : 9 * scale, 6 * scale : 9 * scale].mean()
    outside = picture[12 * scale :, 12 * scale :].mean()
    assert inside > 2 * outside


def test_curves_draw_each_direction_in_its_colour() -> None:
    picture = np.asarray(
        sheet.curves({"to_image": torch.tensor([0.0, 1.0, 3.0]), "to_baseline": torch.tensor([3.0, 1.0, -1.0])})
    ).reshape(-1, 3)
    for colour in palette.WALKS.values():
        assert (np.abs(picture.astype(int) - palette.rgb(colour)).sum(1) < 20).sum() > 100


@pytest.mark.parametrize("line", [[1.0], [2.0, 2.0], [0.0, float("nan")]])
def test_curves_of_one_point_constant_or_padded_scores_are_drawn(line: list[float]) -> None:
    assert sheet.curves({"to_image": torch.tensor(line)}).size == (sheet.PANEL, sheet.PANEL)


def test_sheet_wraps_long_notes_and_takes_any_shape_of_photo() -> None:
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 4 * 9, 2)).eval()
    result = samp.explain(net, torch.rand(1, 3, 4, 9))
    short = sheet.sheet(Image.new("RGB", (9, 4)), result, "title", ["note"])
    long = sheet.sheet(Image.new("RGB", (9, 4)), result, "title", ["word " * 100])
    assert long.height > short.height
    assert long.width == short.width
