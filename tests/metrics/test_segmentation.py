"""Maps as segmentations, against oracles by hand, on maps whose score is known, and thresholds against their rule."""

from __future__ import annotations

import math
import re
import sys
from collections import deque
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from samp.annotations.boxes import Annotation, Box, as_mask
from samp.extras import install_command
from samp.metrics.accumulate import Running
from samp.metrics.segmentation import (
    Localisation,
    OfMaximum,
    Otsu,
    Segmentation,
    TopPixels,
    largest_part,
    localisation,
    segmentation,
)

ALL = [OfMaximum(), OfMaximum(0.5), TopPixels(), TopPixels(0.6), Otsu()]
VALUES = st.lists(st.sampled_from([-2.0, -0.5, 0.0, 0.1, 0.5, 0.9, 1.0]), min_size=4, max_size=4)


def random(seed: int, *shape: int) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# ---- thresholds ----


def otsu_by_hand(values: list[float]) -> list[bool]:
    """Every cut in turn: the variance between the two classes."""
    best, kept = 0.0, [False] * len(values)
    for cut in sorted(set(values))[1:]:
        low, high = [v for v in values if v < cut], [v for v in values if v >= cut]
        between = len(low) * len(high) * (np.mean(high) - np.mean(low)) ** 2
        if between > best * (1 + 1e-9):
            best, kept = between, [v >= cut for v in values]
    return kept


def top_by_hand(values: list[float], share: float) -> list[bool]:
    order = sorted(range(len(values)), key=lambda i: (-values[i], i))[: math.ceil(share * len(values))]
    return [i in order for i in range(len(values))]


def of_maximum_by_hand(values: list[float], share: float) -> list[bool]:
    return [max(values) > 0 and value >= share * max(values) for value in values]


@given(VALUES)
def test_thresholds_are_those_of_the_oracle(values: list[float]) -> None:
    heat = torch.tensor(values, dtype=torch.float64).view(1, 2, 2)
    assert Otsu()(heat).flatten().tolist() == otsu_by_hand(values)
    assert TopPixels(0.4)(heat).flatten().tolist() == top_by_hand(values, 0.4)
    assert OfMaximum(0.3)(heat).flatten().tolist() == of_maximum_by_hand(values, 0.3)


@pytest.mark.parametrize("threshold", ALL, ids=repr)
def test_a_threshold_sees_each_sample_alone(threshold: Any) -> None:
    heat = torch.cat([random(0, 3, 8, 8), 100 * random(1, 1, 8, 8), -random(2, 1, 8, 8)])
    alone = torch.cat([threshold(one[None]) for one in heat])
    assert torch.equal(threshold(heat), alone)


@pytest.mark.parametrize("threshold", ALL, ids=repr)
@pytest.mark.parametrize("scale", [1e-30, 3.0, 1e30])
def test_a_threshold_does_not_depend_on_the_scale(threshold: Any, scale: float) -> None:
    heat = random(3, 2, 8, 8) - 0.3
    assert torch.equal(threshold(heat), threshold(scale * heat))


@pytest.mark.parametrize(("value", "counts"), [(0.0, (0, 2, 0)), (2.0, (4, 2, 0)), (-2.0, (0, 2, 0))])
def test_constant_maps_have_a_defined_answer(value: float, counts: tuple[int, ...]) -> None:
    heat = torch.full((1, 2, 2), value)
    found = tuple(int(threshold(heat).sum()) for threshold in (OfMaximum(), TopPixels(0.5), Otsu()))
    assert found == counts


def test_of_equal_pixels_the_first_are_kept() -> None:
    kept = TopPixels(0.5)(torch.zeros(1, 200, 300))
    assert kept[0, :100].all()
    assert not kept[0, 100:].any()


def test_a_single_pixel_has_a_defined_answer() -> None:
    heat = torch.ones(1, 1, 1)
    assert [bool(threshold(heat)) for threshold in (OfMaximum(), TopPixels(), Otsu())] == [True, True, False]


def test_otsu_agrees_with_scikit_image() -> None:
    filters = pytest.importorskip("skimage.filters")
    heat = torch.cat([random(4, 1, 40, 40), random(5, 1, 40, 40) + 3], 2)  # two clear heaps
    by_histogram = heat > filters.threshold_otsu(heat.numpy())
    # its threshold is the centre of a bin, one of 256 over four units: the half bin above it falls on the other side
    assert (Otsu()(heat) ^ by_histogram).float().mean() < 1 / 256
    assert torch.equal(Otsu()(heat), heat >= 3)


@pytest.mark.parametrize("share", [0.0, -1.0, 1.5, math.nan])
def test_a_share_is_above_0_and_at_most_1(share: float) -> None:
    for rule in (OfMaximum, TopPixels):
        with pytest.raises(ValueError, match=r"the share of the (maximum|pixels) is above 0 and at most 1"):
            rule(share)


# ---- pixels ----


@given(VALUES, st.lists(st.booleans(), min_size=4, max_size=4))
def test_iou_is_that_of_the_oracle(values: list[float], truth: list[bool]) -> None:
    found = segmentation(torch.tensor(values).view(1, 2, 2), torch.tensor(truth).view(1, 2, 2)).iou.item()
    kept = of_maximum_by_hand(values, 0.2)
    common = sum(k and t for k, t in zip(kept, truth, strict=True))
    either = sum(k or t for k, t in zip(kept, truth, strict=True))
    assert found == pytest.approx(common / either if any(truth) else math.nan, nan_ok=True)


def test_a_perfect_map_fits_and_a_reversed_one_does_not() -> None:
    masks = random(6, 3, 7, 7) > 0.7
    assert segmentation(masks, masks).iou.tolist() == [1, 1, 1]
    assert segmentation(~masks, masks).iou.tolist() == [0, 0, 0]
    assert segmentation(-masks.float(), masks).iou.tolist() == [0, 0, 0]  # nothing is above 0
    assert segmentation(torch.ones(3, 7, 7), masks).iou == pytest.approx(masks.float().mean((1, 2)))


def test_a_random_map_fits_as_chance_has_it() -> None:
    masks = as_mask([Box("dog", 0, 0, 100, 40)], (100, 100))[None]
    found = segmentation(random(7, 1, 100, 100), masks, threshold=TopPixels(0.5)).iou.item()
    common = 0.5 * 0.4
    assert found == pytest.approx(common / (0.5 + 0.4 - common), abs=0.02)  # 10,000 pixels: σ is below 0.01


def test_boxes_and_annotations_are_masks_too() -> None:
    annotation = Annotation((Box("dog", 1, 2, 6, 7), Box("cat", 0, 0, 2, 2)), (9, 8))
    heat = random(8, 1, 3, 9, 8)
    by_label = segmentation(heat, [annotation], ["dog"])
    by_mask = segmentation(heat.numpy(), as_mask(annotation.of("dog"), (9, 8))[None])
    assert torch.equal(by_label.iou, by_mask.iou)
    assert by_label.threshold == "OfMaximum(share=0.2)"


def test_samples_do_not_depend_on_each_other() -> None:
    heat, masks = random(9, 5, 8, 8), random(10, 5, 8, 8) > 0.5
    for measure in (segmentation, localisation):
        whole = measure(heat, masks, threshold=Otsu()).iou
        alone = [measure(heat[i : i + 1], masks[i : i + 1], threshold=Otsu()).iou for i in range(5)]
        assert torch.equal(whole, torch.cat(alone))


def test_nan_maps_get_a_sentence() -> None:
    for measure in (segmentation, localisation):
        with pytest.raises(ValueError, match="the map of sample 0 holds NaN or Inf"):
            measure(torch.full((1, 2, 2), math.nan), torch.ones(1, 2, 2).bool())


def test_both_run_over_a_data_set() -> None:
    for measure in (segmentation, localisation):
        metric = Running(measure)
        metric.update(torch.eye(3)[None], torch.eye(3).bool()[None])
        metric.update(torch.eye(3)[None], ~torch.eye(3).bool()[None])
        assert list(metric.compute()) == ["iou"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("threshold", ALL, ids=repr)
def test_gpu_and_cpu_keep_the_same_pixels(threshold: Any) -> None:
    heat, masks = (8 * random(11, 6, 30, 40)).round() - 2, random(12, 6, 30, 40) > 0.5  # rounded: full of ties
    on_gpu, on_cpu = (segmentation(maps, masks, threshold=threshold) for maps in (heat.cuda(), heat))
    assert torch.equal(on_gpu.kept.cpu(), on_cpu.kept)
    assert torch.equal(on_gpu.iou.cpu(), on_cpu.iou)
    boxes = [localisation(maps, masks, threshold=threshold).boxes for maps in (heat.cuda(), heat)]
    assert boxes[0] == boxes[1]


# ---- boxes ----


def largest_by_hand(mask: np.ndarray[Any, Any]) -> list[tuple[int, int]]:
    """A flood from every pixel in reading order; the first of the largest floods."""
    best: list[tuple[int, int]] = []
    seen: set[tuple[int, int]] = set()
    for start in zip(*np.nonzero(mask), strict=True):
        part, queue = [], deque([start])
        while queue:
            i, j = queue.popleft()
            if (i, j) not in seen and 0 <= i < mask.shape[0] and 0 <= j < mask.shape[1] and mask[i, j]:
                seen.add((i, j))
                part.append((int(i), int(j)))
                queue.extend((i + di, j + dj) for di in (-1, 0, 1) for dj in (-1, 0, 1))
        best = part if len(part) > len(best) else best
    return sorted(best)


@given(st.integers(0, 10_000))
def test_the_largest_part_is_that_of_a_flood(seed: int) -> None:
    mask = random(seed, 6, 7) > 0.7
    found = largest_part(mask)
    assert [tuple(pixel) for pixel in found.nonzero().tolist()] == largest_by_hand(mask.numpy())


def test_the_box_is_around_the_largest_part_and_judged_by_the_best_box() -> None:
    heat = torch.zeros(2, 10, 10)
    heat[0, 2:6, 3:8] = 1
    heat[0, 9, 9] = 2  # higher, but smaller
    truth = [[Box("dog", 0, 0, 1, 1), Box("dog", 3, 2, 8, 7)], [Box("dog", 0, 0, 5, 5)]]
    found = localisation(heat, truth)
    assert found.boxes == (Box("object", 3, 2, 8, 6), None)
    assert found.iou.tolist() == pytest.approx([20 / 25, 0])
    assert found.correct().tolist() == [True, False]
    assert found.correct(0.9).tolist() == [False, False]


def test_a_mask_stands_for_the_box_around_it() -> None:
    found = localisation(torch.ones(2, 3, 3), [torch.eye(3).bool(), torch.zeros(3, 3).bool()])
    assert found.iou[0] == 1
    assert found.iou[1].isnan()
    assert not found.correct()[1]


def as_floats(maps: Tensor) -> Tensor:
    return (maps > 0).float()


def the_first(maps: Tensor) -> Tensor:
    return maps[:1] > 0


@pytest.mark.parametrize(
    ("threshold", "sentence"),
    [
        ("otsu", r"a threshold is an object such as OfMaximum\(0.2\) or Otsu\(\), not 'otsu'"),
        (0.5, "a threshold is an object such as .*, not 0.5"),
        (Otsu, "a threshold is an object such as .*, not <class"),
        (as_floats, r"as_floats.* gave torch.float32 of shape \(2, 3, 3\): a threshold gives booleans"),
        (the_first, r"the_first.* gave torch.bool of shape \(1, 3, 3\): .* of the maps' shape \(2, 3, 3\)"),
        (len, "gave int: a threshold gives booleans"),
    ],
)
def test_what_is_no_threshold_gets_a_sentence(threshold: Any, sentence: str) -> None:
    for measure in (segmentation, localisation):
        with pytest.raises(TypeError, match=sentence):
            measure(torch.ones(2, 3, 3), torch.ones(2, 3, 3).bool(), threshold=threshold)


def test_without_scipy_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.ndimage", None)
    with pytest.raises(ImportError, match=re.escape(install_command("metrics"))):
        localisation(torch.ones(1, 2, 2), torch.ones(1, 2, 2).bool())
    assert segmentation(torch.ones(1, 2, 2), torch.ones(1, 2, 2).bool()).iou == 1


def test_results_say_how_they_were_made() -> None:
    one = torch.ones(1, 2, 2)
    results: list[Segmentation | Localisation] = [
        measure(one, one.bool(), threshold=TopPixels(0.5)) for measure in (segmentation, localisation)
    ]
    assert {result.threshold for result in results} == {"TopPixels(share=0.5)"}
    assert segmentation(one, one.bool()).threshold == localisation(one, one.bool()).threshold == "OfMaximum(share=0.2)"
    assert (TopPixels(), Otsu()) == (TopPixels(share=0.25), Otsu())
    assert Localisation((), torch.tensor([0.5, 0.49]), "").correct().tolist() == [True, False]
