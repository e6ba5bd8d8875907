"""The region on the photo: in full colour with an outline, the rest dim, and what the model is not shown pale."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image

from samp.baselines import Blurred
from samp.plots.region_view import blur_parts, outline_region
from samp.region import Region, find_region

COLOUR = (40, 160, 90)


def disc(side: int = 60, sigma: float = 6.0) -> Region:
    credit = torch.zeros(side, side)
    credit[side // 2, side // 2] = 1.0
    return find_region(credit, 0.5, sigma)


def pixels(image: Image.Image) -> np.ndarray:
    return np.asarray(image, dtype=float)


def test_the_region_keeps_its_colours_and_the_rest_is_dim() -> None:
    shown = pixels(outline_region(Image.new("RGB", (60, 60), COLOUR), disc(), (120, 120)))
    assert shown[60, 60].tolist() == list(COLOUR)
    assert shown[2, 2].sum() < 0.8 * sum(COLOUR)
    assert np.ptp(shown[2, 2]) < 0.5 * np.ptp(COLOUR)  # and paler


@pytest.mark.parametrize("colour", ["black", "white", "grey", "red"])
def test_the_outline_has_a_light_and_a_dark_line_on_any_photo(colour: str) -> None:
    shown = pixels(outline_region(Image.new("RGB", (60, 60), colour), disc(), (240, 240))).mean(2)
    along = shown[120, 120:]  # from the middle of the disc to the right
    light = int(np.flatnonzero(along > 240)[-1]) if colour != "white" else int(np.flatnonzero(along < 60)[0])
    assert 5 < light < 60
    assert along.max() > 240
    assert along[light : light + 6].min() < 60


def test_the_outline_lies_where_the_region_ends() -> None:
    region, scale = disc(), 3
    shown = pixels(outline_region(Image.new("RGB", (60, 60), COLOUR), region, (60 * scale, 60 * scale)))
    kept = np.abs(shown - COLOUR).sum(2) < 3
    whole = np.asarray(Image.fromarray(region.mask.numpy()).resize((60 * scale,) * 2, Image.Resampling.NEAREST))
    assert (kept != whole).mean() < 0.01  # smooth where the mask has steps


def test_what_the_model_is_not_shown_is_pale_and_grey() -> None:
    shown = pixels(outline_region(Image.new("RGB", (120, 60), COLOUR), disc(), (240, 120), box=(30, 0, 90, 60)))
    assert shown[60, 10].min() > 170
    assert np.ptp(shown[60, 10]) < 2
    assert shown[60, 120].tolist() == list(COLOUR)


def test_an_empty_region_leaves_the_photo_dim_without_an_outline() -> None:
    empty = Region(torch.zeros(60, 60, dtype=torch.bool), torch.zeros(60, 60).double(), 0.5, 1.0)
    shown = pixels(outline_region(Image.new("RGB", (60, 60), COLOUR), empty, (120, 120)))
    assert len(np.unique(shown.reshape(-1, 3), axis=0)) == 1
    assert shown[0, 0].sum() < 0.8 * sum(COLOUR)


def test_a_region_that_is_everything_has_no_outline() -> None:
    full = Region(torch.ones(60, 60, dtype=torch.bool), torch.ones(60, 60).double(), 1.0, 1.0)
    shown = pixels(outline_region(Image.new("RGB", (60, 60), COLOUR), full, (120, 120)))
    assert (shown == COLOUR).all()


def test_small_pictures_are_outlined_along_their_pixels() -> None:
    credit = torch.zeros(8, 8)
    credit[2, 3] = 1.0
    region = find_region(credit, 0.5, 0.0)
    shown = pixels(outline_region(Image.new("RGB", (8, 8), COLOUR), region, (320, 320)))
    kept = np.abs(shown - COLOUR).sum(2) < 3
    assert kept[80:120, 120:160].all()
    assert kept.sum() == 40 * 40


def test_all_but_the_region_is_blurred_as_the_model_is_asked() -> None:
    rng = np.random.default_rng(0)
    crop = Image.fromarray(rng.integers(0, 256, (60, 60, 3), dtype=np.uint8))
    mask = disc().mask.numpy()
    alone, without = map(pixels, blur_parts(crop, disc()))
    assert (alone[mask] == pixels(crop)[mask]).all()
    blurred = Blurred()(torch.from_numpy(pixels(crop)).permute(2, 0, 1)[None])[0].permute(1, 2, 0).numpy()
    np.testing.assert_allclose(alone[~mask], blurred[~mask], atol=0.5)
    np.testing.assert_allclose(without[mask], blurred[mask], atol=0.5)
    assert (without[~mask] == pixels(crop)[~mask]).all()


def test_of_a_panorama_the_surroundings_of_the_box_are_shown() -> None:
    photo = Image.new("RGB", (2000, 60), COLOUR)
    shown = outline_region(photo, disc(), (240, 120), box=(970, 0, 1030, 60))
    assert shown.size == (240, 109)  # 60 pixels and 36 on either side
    assert pixels(shown)[54, 120].tolist() == list(COLOUR)
