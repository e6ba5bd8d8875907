"""The truth of the planted net: what its scores depend on, bit for bit, and what methods make of it."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import samp
from samp_lab.nets.planted import (
    CLASSES,
    LARGEST_ELSEWHERE,
    PATTERN,
    PER_CLASS,
    TEXTURE,
    PlantedImages,
    make_patterns,
    plant_images,
    planted_net,
)

NET = planted_net().net
GIVEN = plant_images(6, seed=2)


def scores(images: Tensor, given: PlantedImages = GIVEN) -> Tensor:
    """b: of the images' own classes."""
    with torch.no_grad():
        found: Tensor = NET(images)[torch.arange(len(images)), given.target]
    return found


def texture(seed: int, images: Tensor) -> Tensor:
    return TEXTURE * (2 * torch.rand(images.shape, generator=torch.Generator().manual_seed(seed)) - 1)


def precision(maps: Tensor, used: Tensor) -> Tensor:
    """b: the share of used pixels among as many with the highest credit."""
    found = []
    for map_, mask in zip(maps, used, strict=True):
        top = map_.flatten().topk(int(mask.sum())).indices
        found.append(mask.flatten()[top].double().mean())
    return torch.stack(found)


def test_no_window_without_a_whole_pattern_comes_near_one() -> None:
    """The bound of the docstring, for every detector, every pattern, every shift and the worst texture."""
    patterns = make_patterns()
    full = patterns[0].numel()
    detectors = patterns[: CLASSES * PER_CLASS]
    reach = PATTERN - 1
    overlap = F.conv2d(F.pad(patterns, [reach] * 4), detectors)  # pattern × detector × shift × shift
    inside = F.conv2d(F.pad(torch.ones_like(patterns[:1]), [reach] * 4), torch.ones_like(detectors[:1]))
    largest = (overlap + TEXTURE * (full - inside)) / full
    for number in range(len(detectors)):
        assert largest[number, number, reach, reach] == 1
        largest[number, number, reach, reach] = 0
    assert largest.max() < LARGEST_ELSEWHERE
    assert TEXTURE < LARGEST_ELSEWHERE


def test_the_images_are_recognised_by_what_was_planted() -> None:
    with torch.no_grad():
        output = NET(GIVEN.images)
    assert torch.equal(output.argmax(1), GIVEN.target)
    torch.testing.assert_close(scores(GIVEN.images), torch.full((6,), 4.0))  # 1 + 2 + 1
    assert GIVEN.used.sum((1, 2)).tolist() == [PER_CLASS * PATTERN**2] * 6
    assert not (GIVEN.used & GIVEN.ignored).any()
    assert GIVEN.ignored.sum((1, 2)).tolist() == [5 * PATTERN**2] * 6
    again = plant_images(6, seed=2)
    assert torch.equal(again.images, GIVEN.images)
    assert not torch.equal(plant_images(6, seed=3).images, GIVEN.images)


def test_nothing_outside_the_mask_changes_the_score_by_a_bit() -> None:
    before = scores(GIVEN.images)
    outside = ~GIVEN.used[:, None]
    for seed in range(5):
        assert torch.equal(scores(torch.where(outside, texture(seed, GIVEN.images), GIVEN.images)), before)
    for constant in (-TEXTURE, 0.0, TEXTURE):
        assert torch.equal(scores(torch.where(outside, constant, GIVEN.images)), before)
    without_distractors = torch.where(GIVEN.ignored[:, None], texture(9, GIVEN.images), GIVEN.images)
    assert torch.equal(scores(without_distractors), before)
    gradient = samp.explain(NET, GIVEN.images, target=GIVEN.target, method="gradient").map
    assert gradient[~GIVEN.used].abs().max() == 0


def planted_parts(given: PlantedImages, sample: int) -> list[Tensor]:
    """h w each: the pixels of the sample's five patterns, found by looking for them."""
    wanted = make_patterns()[int(given.target[sample]) * PER_CLASS :][:PER_CLASS]
    response = F.conv2d(given.images[sample : sample + 1], wanted)[0]
    parts = []
    for one in response:
        row, column = divmod(int(one.argmax()), one.shape[1])
        mask = torch.zeros_like(given.used[0])
        mask[row : row + PATTERN, column : column + PATTERN] = True
        parts.append(mask)
    return parts


@pytest.mark.parametrize("sample", [0, 3])
def test_each_pattern_counts_as_the_formula_says(sample: int) -> None:
    parts = planted_parts(GIVEN, sample)
    assert torch.equal(torch.stack(parts).any(0), GIVEN.used[sample])

    def loss(*gone: int) -> float:
        hidden = torch.stack([parts[number] for number in gone]).any(0)
        image = torch.where(hidden, 0.0, GIVEN.images[sample])
        return float((scores(GIVEN.images)[sample] - NET(image[None])[0, GIVEN.target[sample]]).detach())

    alone, either = loss(0), loss(3, 4)
    assert alone > 0.5
    # two that count only together: without one the other is worth little more than what the texture shows
    assert loss(1) > 1
    assert loss(2) > 1
    assert loss(1, 2) == pytest.approx(2)
    assert loss(1, 2) < loss(1) + loss(2)
    # two of which either suffices
    assert loss(3) == loss(4) == 0
    assert either > 0.2


def test_every_used_pixel_can_change_the_score() -> None:
    """Each by itself, beside a pattern that counts alone or together; of the last two, with half of both gone."""
    sample = 1
    parts = planted_parts(GIVEN, sample)
    for number, part in enumerate(parts):
        image = GIVEN.images[sample].clone()
        if number >= 3:
            image[:, parts[3] | parts[4]] *= 0.6
        shown = NET(image[None])[0, GIVEN.target[sample]]
        for row, column in part.nonzero().tolist():
            changed = image.clone()
            changed[:, row, column] = 0
            assert NET(changed[None])[0, GIVEN.target[sample]] < shown


def test_a_walk_finds_the_patterns_and_edges_do_not() -> None:
    found = {}
    for method in ("ig", "samp++", "sobel", "random"):
        maps = samp.explain(NET, GIVEN.images, target=GIVEN.target, method=method).map
        found[method] = float(precision(maps, GIVEN.used).mean())
    assert found["ig"] > 0.8
    assert found["samp++"] > 0.5
    assert found["sobel"] < 0.6  # half of the salient pixels are distractors
    assert found["random"] < 0.1
    assert float(precision(GIVEN.used.double(), GIVEN.used).mean()) == 1
    assert float(precision(-GIVEN.used.double(), GIVEN.used).mean()) == 0
