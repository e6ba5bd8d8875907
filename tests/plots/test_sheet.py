"""The sheet: what it shows of a result, and that odd maps and photos do not break it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

import samp
from samp.models.answers import Answers, Guess, Reply
from samp.plots import palette
from samp.plots.curves import draw_curves
from samp.plots.sheet import PANEL, WIDTH, make_pictures, sheet

CAT, DOG = Guess("cat", 0, 3.0, 0.7), Guess("dog", 1, 2.0, 0.3)
FAINT = replace(CAT, probability=0.1)
ANSWERS = Answers((CAT, DOG), CAT, Reply(CAT, CAT), Reply(DOG, FAINT), Reply(DOG, FAINT))


def explained(height: int = 8, width: int = 8, method: str = "ig", channels: int = 3) -> samp.Attribution:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(channels * height * width, 2)).eval()
    return samp.explain(net, torch.rand(1, channels, height, width), method=method, target=0)


def with_map(credit: torch.Tensor, result: samp.Attribution | None = None) -> samp.Attribution:
    return replace(result or explained(*credit.shape), values=credit[None, None].float())


def count(picture: Image.Image, colour: str) -> int:
    pixels = np.asarray(picture.convert("RGB")).reshape(-1, 3).astype(int)
    return int((np.abs(pixels - palette.rgb(colour)).sum(1) < 20).sum())


def test_the_photo_comes_first_then_the_map_the_region_and_the_curves() -> None:
    pictures = make_pictures(Image.new("RGB", (8, 8), "teal"), explained(), answers=ANSWERS)
    assert pictures.photo[1].startswith("Outlined: half of the positive credit, on ")
    credit, region, walks = (caption for _, caption in pictures.panels)
    assert credit.startswith("Credit of each pixel: white is the top 1%")
    assert region == "The outlined part alone, the rest blurred: cat, 70%. Without it: dog, 30% (cat, 10%)."
    assert walks.startswith("The score along the walks")


def test_a_method_that_does_not_walk_shows_the_photo_without_the_region_instead_of_curves() -> None:
    pictures = make_pictures(Image.new("RGB", (8, 8)), explained(method="gradientxinput"), answers=ANSWERS)
    _, alone, without = (caption for _, caption in pictures.panels)
    assert alone == "The outlined part alone, the rest blurred: cat, 70%."
    assert without == "Without it: dog, 30% (cat, 10%)."


@pytest.mark.parametrize("credit", [torch.zeros(8, 8), -torch.ones(8, 8)])
def test_without_positive_credit_there_is_no_region_and_the_caption_says_so(credit: torch.Tensor) -> None:
    pictures = make_pictures(Image.new("RGB", (8, 8), "teal"), with_map(credit))
    assert pictures.photo[1] == "No region: no credit is positive."
    assert len(pictures.panels) == 2
    assert not np.asarray(pictures.panels[0][0]).any()


def test_the_signed_view_shows_negative_credit_in_blue_and_positive_in_orange() -> None:
    credit = torch.zeros(8, 8)
    credit[:, :4], credit[:, 4:] = -1.0, 1.0
    plain, signed = (make_pictures(Image.new("RGB", (8, 8)), with_map(credit), signed=s).panels[0] for s in (0, 1))
    assert "blue against" in signed[1]
    assert "blue" not in plain[1]
    assert count(signed[0], palette.SIGNED[0]) == count(signed[0], palette.SIGNED[-1]) == PANEL * PANEL // 2
    assert count(plain[0], "#000000") == PANEL * PANEL // 2


def test_the_map_is_drawn_at_the_resolution_that_the_result_states() -> None:
    credit = torch.zeros(160, 160)
    credit[78:82, 78:82] = 1.0
    result = replace(with_map(credit), resolution=torch.tensor([8]))
    sharp, smooth = (make_pictures(Image.new("RGB", (160, 160)), one).panels[0] for one in (with_map(credit), result))
    assert "Blurred to 8 pixels: finer detail" in smooth[1]
    assert "Blurred" not in sharp[1]
    coarse = make_pictures(Image.new("RGB", (160, 160)), replace(result, resolution=torch.tensor([48]))).panels[0]
    assert "Blurred to 10 pixels; only the mean over 48 is reproducible" in coarse[1]
    assert (np.asarray(smooth[0]) > 0).sum() > 3 * (np.asarray(sharp[0]) > 0).sum()


def test_what_the_model_is_not_shown_is_named_only_where_there_is_such() -> None:
    photo, result = Image.new("RGB", (16, 8)), explained()
    assert "Pale" in make_pictures(photo, result, box=(4, 0, 12, 8)).photo[1]
    assert "Pale" not in make_pictures(photo, result, box=(0, 0, 16, 8)).photo[1]
    assert "Pale" not in make_pictures(photo, result).photo[1]
    assert "cut off" not in make_pictures(photo, result, box=(4, 0, 12, 8)).photo[1]
    assert "cut off" in make_pictures(Image.new("RGB", (99, 8)), result, box=(4, 0, 12, 8)).photo[1]


def test_the_answers_stand_beside_the_photo() -> None:
    photo, result = Image.new("RGB", (8, 8), "teal"), explained()
    with_answers, without = (sheet(photo, result, ["Why cat?"], [], answers=one) for one in (ANSWERS, None))
    bars = palette.SERIES[1]
    assert count(with_answers, bars) > count(without, bars) + 1000
    assert with_answers.width == without.width == WIDTH


def test_bars_are_as_long_as_what_they_show() -> None:
    photo, result = Image.new("RGB", (8, 8), "teal"), explained(method="gradientxinput")
    sure = replace(ANSWERS, explained=replace(CAT, probability=1.0), top=(replace(CAT, probability=1.0), DOG))
    orange = [count(sheet(photo, result, ["Why?"], [], answers=one), palette.SERIES[1]) for one in (ANSWERS, sure)]
    assert orange[1] > orange[0]


def test_a_net_without_probabilities_has_scores_and_no_bars() -> None:
    only = Guess("this", 0, 3.25, None)
    answers = Answers((only,), only, Reply(only, only), Reply(only, only), Reply(only, only))
    picture = sheet(Image.new("RGB", (8, 8)), explained(method="gradientxinput"), ["Why?"], [], answers=answers)
    assert not count(picture, palette.SERIES[1])


def test_curves_draw_each_direction_in_its_colour() -> None:
    lines = {"to_image": torch.tensor([0.0, 1.0, 3.0]), "to_baseline": torch.tensor([3.0, 1.0, -1.0])}
    picture = draw_curves(lines, (PANEL, PANEL))
    for colour in palette.WALKS.values():
        assert count(picture, colour) > 100


@pytest.mark.parametrize("line", [[1.0], [2.0, 2.0], [0.0, float("nan")]])
def test_curves_of_one_point_constant_or_padded_scores_are_drawn(line: list[float]) -> None:
    assert draw_curves({"to_image": torch.tensor(line)}, (PANEL, PANEL)).size == (PANEL, PANEL)


@pytest.mark.parametrize("size", [(9, 4), (400, 10), (10, 400), (1, 1)])
def test_the_sheet_takes_any_shape_of_photo_and_wraps_long_notes(size: tuple[int, int]) -> None:
    result = explained(4, 9)
    short = sheet(Image.new("RGB", size), result, ["title"], ["note"], answers=ANSWERS)
    long = sheet(Image.new("RGB", size), result, ["title"], ["word " * 100], answers=ANSWERS)
    assert long.height > short.height
    assert long.width == short.width == WIDTH
