"""The pointing game against a brute-force oracle, on maps whose score is known, and on real photos."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import samp
from samp import images as photos
from samp import models
from samp.annotations.box_files import read_voc, read_yolo
from samp.annotations.boxes import Annotation, Box, as_mask, crop_boxes
from samp.metrics.pointing_game import PointingGame, is_difficult, join_games, pointing_game


def random(seed: int, *shape: int) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed))


def oracle(heat: list[list[float]], mask: list[list[bool]], tolerance: float) -> bool:
    """By hand: the first highest pixel, then every pixel of the object in turn."""
    best, point = -math.inf, (0, 0)
    for i, row in enumerate(heat):
        for j, value in enumerate(row):
            if value > best:
                best, point = value, (i, j)
    inside = [(i, j) for i, row in enumerate(mask) for j, there in enumerate(row) if there]
    return any(math.dist(point, pixel) <= tolerance for pixel in inside)


def grids(values: st.SearchStrategy[Any], height: int, width: int) -> st.SearchStrategy[Any]:
    row = st.lists(values, min_size=width, max_size=width)
    return st.lists(row, min_size=height, max_size=height)


@given(
    st.sampled_from([(2, 2), (4, 1), (1, 4), (5, 7)]).flatmap(
        lambda size: st.tuples(grids(st.sampled_from([-1.0, 0.0, 0.5, 1.0]), *size), grids(st.booleans(), *size))
    ),
    st.sampled_from([0, 1, 1.42, 2, 3]),
)
def test_hits_are_those_of_the_oracle(case: tuple[Any, Any], tolerance: float) -> None:
    heat, mask = case
    game = pointing_game(torch.tensor([heat]), torch.tensor([mask]), tolerance=tolerance)
    assert bool(game.hits[0]) == oracle(heat, mask, tolerance)
    assert bool(game.played[0]) == any(map(any, mask))


def test_a_perfect_map_always_hits_and_a_reversed_one_never() -> None:
    masks = torch.zeros(4, 6, 6).bool()
    masks[torch.arange(4), torch.arange(1, 5), torch.arange(1, 5)] = True
    assert pointing_game(masks, masks, ["a", "a", "b", "b"], tolerance=0).accuracy == 1
    assert pointing_game(-masks.float(), masks, ["a", "a", "b", "b"], tolerance=0).accuracy == 0


@pytest.mark.parametrize("value", [0.0, 3.0, -2.0])
def test_a_constant_map_points_at_the_first_pixel(value: float) -> None:
    game = pointing_game(torch.full((1, 9, 7), value), torch.ones(1, 9, 7).bool())
    assert game.points.tolist() == [[0, 0]]


def test_a_random_map_hits_as_often_as_the_object_is_large() -> None:
    mask = as_mask([Box("dog", 0, 0, 10, 8)], (20, 20)).expand(4000, 20, 20)  # a fifth of the picture
    game = pointing_game(random(0, 4000, 20, 20), mask, tolerance=0)
    assert game.overall == pytest.approx(0.2, abs=0.025)  # four standard deviations of 4,000 throws


def test_the_tolerance_is_a_closed_disc() -> None:
    heat = torch.zeros(1, 40, 40)
    heat[0, 0, 0] = 1
    for box, hit in [((15, 0), True), ((16, 0), False), ((9, 12), True), ((11, 11), False), ((0, 15), True)]:
        truth = [[Box("dog", box[0], box[1], box[0] + 1, box[1] + 1)]]
        assert bool(pointing_game(heat, truth).hits[0]) == hit, box


def test_a_larger_tolerance_never_loses_a_hit() -> None:
    heat, masks = random(1, 50, 12, 12), random(2, 50, 12, 12) > 0.97
    hits = [pointing_game(heat, masks, tolerance=t).hits for t in (0, 1, 2.5, 4, 20)]
    assert all(bool((before <= after).all()) for before, after in itertools.pairwise(hits))
    assert 0 < int(hits[0].sum()) < int(hits[2].sum()) < 50


def test_tables_give_the_mean_over_classes() -> None:
    masks = torch.tensor([[[True, False]]]).expand(4, 1, 2)
    heat = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]).view(4, 1, 2)
    game = pointing_game(heat, masks, ["cat", "cat", "cat", "dog"], tolerance=0)
    assert game.per_class == {"cat": 2 / 3, "dog": 0.0}
    assert (game.accuracy, game.overall) == (pytest.approx(1 / 3), 0.5)
    assert pointing_game(heat, masks, torch.tensor([1, 1, 1, 2]), tolerance=0).per_class == {1: 2 / 3, 2: 0.0}


def test_what_holds_no_object_is_not_played() -> None:
    empty = pointing_game(random(0, 2, 3, 3), torch.zeros(2, 3, 3).bool())
    assert not empty.played.any()
    assert math.isnan(empty.accuracy)
    assert math.isnan(empty.overall)
    hard = Annotation((Box("dog", 0, 0, 2, 2, difficult=True), Box("cat", 0, 0, 1, 1)), (3, 3))
    game = pointing_game(random(0, 3, 3, 3), [hard] * 3, ["dog", "cat", "cow"])
    assert game.played.tolist() == [False, True, False]
    assert "2 not played (dog, cow)" in repr(game)
    assert game.unplayed_counts == {"dog": 1, "cow": 1}


def test_labels_written_otherwise_than_in_the_annotation_are_counted_by_name() -> None:
    dog = Annotation((Box("dog", 0, 0, 2, 2),), (3, 3))
    game = pointing_game(random(0, 4, 3, 3), [dog] * 4, ["Dog", "dog", "Dog", "a dog"])
    assert game.unplayed_counts == {"Dog": 2, "a dog": 1}
    assert repr(game).endswith("3 not played (Dog, a dog))")
    many = pointing_game(random(0, 8, 3, 3), [dog] * 8, list("abcdefgh"))
    assert repr(many).endswith("8 not played (a, b, c, d, e, …))")
    assert pointing_game(random(0, 1, 3, 3), [dog]).unplayed_counts == {}


def test_difficult_objects_count_where_the_class_has_others_too() -> None:
    heat = torch.zeros(1, 3, 30)
    heat[0, 0, 29] = 1
    both = Annotation((Box("dog", 0, 0, 1, 1), Box("dog", 29, 0, 30, 1, difficult=True)), (3, 30))
    game = pointing_game(heat, [both], ["dog"], tolerance=0)
    assert (game.hits.tolist(), game.played.tolist(), game.accuracy) == ([True], [True], 1.0)


def test_all_kinds_of_truth_and_map_play_the_same_game() -> None:
    heat = random(3, 6, 3, 12, 10)
    annotation = Annotation((Box("dog", 2, 3, 7, 8), Box("cat", 0, 0, 2, 2)), (12, 10))
    mask = as_mask(annotation.of("dog"), (12, 10))
    first = pointing_game(heat, [annotation] * 6, ["dog"] * 6, tolerance=1)
    for maps in (heat.sum(1), heat.numpy(), heat.sum(1).double(), heat.clone().requires_grad_()):
        for truth in (mask.expand(6, 12, 10), mask.expand(6, 12, 10).numpy(), [list(annotation.of("dog"))] * 6):
            game = pointing_game(maps, truth, tolerance=1)
            assert torch.equal(game.hits, first.hits)
            assert torch.equal(game.points, first.points)
    assert 0 < int(first.hits.sum()) < 6


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_channels_of_half_precision_are_summed_in_single(dtype: torch.dtype) -> None:
    heat = torch.zeros(1, 2, 1, 2, dtype=dtype)
    heat[0, :, 0, 0] = 1
    heat[0, :, 0, 1] = torch.tensor([1.0, 1 + torch.finfo(dtype).eps])  # 2 + eps is 2 in half precision
    assert pointing_game(heat, torch.ones(1, 1, 2).bool()).points.tolist() == [[0, 1]]


def test_an_attribution_is_a_map() -> None:
    x = random(4, 2, 3, 5, 5)
    result = samp.explain(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(75, 2)).eval(), x, method="ig")
    masks = torch.ones(2, 5, 5).bool()
    assert torch.equal(pointing_game(result, masks).points, pointing_game(result.map, masks).points)


def test_a_sample_does_not_depend_on_the_others() -> None:
    heat, masks = random(5, 8, 9, 11), random(6, 8, 9, 11) > 0.95
    whole = pointing_game(heat, masks, list("abcabcab"), tolerance=2)
    alone = join_games(
        pointing_game(heat[i : i + 1], masks[i : i + 1], "abcabcab"[i : i + 1].split(), tolerance=2) for i in range(8)
    )
    assert torch.equal(whole.hits, alone.hits)
    assert torch.equal(whole.points, alone.points)
    assert whole.per_class == alone.per_class


def test_games_of_different_photos_are_joined() -> None:
    first = pointing_game(torch.ones(1, 2, 2), torch.ones(1, 2, 2).bool(), ["a"], difficult=[True])
    second = pointing_game(torch.ones(1, 9, 5), ~torch.ones(1, 9, 5).bool(), ["b"], difficult=[False])
    both = join_games([first, second])
    assert (both.labels, both.played.tolist(), both.accuracy) == (("a", "b"), [True, False], 1.0)
    assert both.difficult_subset.labels == ("a",)
    with pytest.raises(ValueError, match=r"games are joined at one tolerance, not \[3, 15.0\]"):
        join_games([first, pointing_game(torch.ones(1, 2, 2), torch.ones(1, 2, 2).bool(), tolerance=3)])
    with pytest.raises(ValueError, match="at one tolerance"):
        join_games([])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_gpu_and_cpu_point_at_the_same_pixel() -> None:
    heat, masks = (8 * random(7, 6, 3, 30, 40)).round(), random(8, 6, 30, 40) > 0.9  # rounded: full of ties
    on_gpu, on_cpu = (pointing_game(maps, masks, tolerance=1) for maps in (heat.cuda(), heat))
    assert torch.equal(on_gpu.points, on_cpu.points)
    assert torch.equal(on_gpu.hits, on_cpu.hits)


# ---- the difficult subset ----


def test_difficult_are_small_objects_beside_others() -> None:
    small, large, other = Box("dog", 0, 0, 4, 6), Box("dog", 0, 0, 5, 5), Box("cat", 5, 5, 9, 9)
    assert is_difficult(Annotation((small, other), (10, 10)), "dog")
    assert not is_difficult(Annotation((large, other), (10, 10)), "dog")  # exactly a quarter
    assert not is_difficult(Annotation((small, small, other), (10, 10)), "dog")  # together more than a quarter
    assert not is_difficult(Annotation((small,), (10, 10)), "dog")  # nothing to mistake for it
    assert not is_difficult(Annotation((small, other), (10, 10)), "cow")


def test_the_difficult_subset_is_a_game_of_its_own() -> None:
    annotation = Annotation((Box("dog", 0, 0, 2, 2), Box("cat", 3, 3, 9, 9)), (10, 10))
    game = pointing_game(torch.ones(2, 10, 10), [annotation] * 2, ["dog", "cat"], tolerance=0)
    assert (game.accuracy, game.difficult_subset.accuracy) == (0.5, 1.0)
    assert game.difficult_subset.difficult_subset.labels == ("dog",)
    with pytest.raises(ValueError, match="which samples are difficult is not known"):
        _ = pointing_game(torch.ones(1, 2, 2), torch.ones(1, 2, 2).bool()).difficult_subset


# Which classes Zhang et al. list as difficult in the first four photos of VOC2007's test set.
PUBLISHED = {"000001": {"dog"}, "000002": set(), "000003": {"sofa", "chair"}, "000004": set()}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_difficult_subset_is_the_published_one(data: Path, name: str) -> None:
    annotation = read_voc(data / "voc2007_8" / f"{name}.xml")
    assert {label for label in annotation.labels if is_difficult(annotation, label)} == PUBLISHED[name]


# ---- what is wrong ----


@pytest.mark.parametrize(
    ("error", "sentence", "call"),
    [
        (ValueError, "the map of sample 1 holds NaN or Inf", {"maps": [[[0.0, 1.0]], [[math.nan, 1.0]]]}),
        (ValueError, "the map of sample 0 holds NaN or Inf", {"maps": [[[math.inf, 1.0]], [[0.0, 1.0]]]}),
        (ValueError, r"maps have shape b h w or b c h w, not \(2,\)", {"maps": [0.0, 1.0]}),
        (TypeError, "real numbers", {"maps": np.ones((2, 1, 2), dtype=complex)}),
        (TypeError, "a map is a tensor, an array or an Attribution, not str", {"maps": "map"}),
        (ValueError, "2 maps but the truth of 1 samples", {"truth": torch.ones(1, 1, 2).bool()}),
        (ValueError, r"mask of sample 0 is 2 × 1 but the map 1 × 2: cut the boxes", {"truth": torch.ones(2, 2, 1) > 0}),
        (ValueError, "annotation of sample 0 is 5 × 5 but the map 1 × 2", {"truth": [Annotation((), (5, 5))] * 2}),
        (TypeError, "mask of sample 0 has dtype torch.float32: make it boolean", {"truth": torch.ones(2, 1, 2)}),
        (TypeError, "truth of sample 0 is str", {"truth": ["a", "b"]}),
        (TypeError, "the truth is a list with one mask, .* per sample, not str", {"truth": "ab"}),
        (TypeError, "the truth is a list with one mask, .* per sample, not NoneType", {"truth": None}),
        (TypeError, "the truth is a list with one mask, .* per sample, not Tensor", {"truth": torch.tensor(True)}),
        (TypeError, r"give \[annotation\]", {"truth": Annotation((), (1, 2))}),
        (ValueError, "2 maps but 1 labels", {"labels": ["dog"]}),
        (TypeError, "labels is 'ab': give a list with one label for each of the 2 maps", {"labels": "ab"}),
        (TypeError, "labels is 5: give a list with one label for each", {"labels": 5}),
        (TypeError, "give a list with one label for each", {"labels": torch.tensor([[1], [2]])}),
        (ValueError, "at least 0, not -1", {"tolerance": -1}),
        (ValueError, "at least 0, not nan", {"tolerance": math.nan}),
        (ValueError, "a number of pixels of at least 0, not '15'", {"tolerance": "15"}),
        (ValueError, r"2 maps but `difficult` has shape \(1,\)", {"difficult": [True]}),
        (
            ValueError,
            "the annotation holds dog, cat: say which",
            {"truth": [Annotation((Box("dog", 0, 0, 1, 1), Box("cat", 0, 0, 1, 1)), (1, 2))] * 2},
        ),
    ],
)
def test_what_cannot_be_played_gets_a_sentence(error: type[Exception], sentence: str, call: dict[str, Any]) -> None:
    usual: dict[str, Any] = {"maps": torch.rand(2, 1, 2), "truth": torch.ones(2, 1, 2).bool()}
    given = usual | {k: v for k, v in call.items() if k in usual}
    rest = {k: v for k, v in call.items() if k not in usual}
    with pytest.raises(error, match=sentence):
        pointing_game(given["maps"], given["truth"], **rest)


# ---- real photos ----


def load_samples(data: Path, count: int) -> tuple[Any, Tensor, list[int], list[Annotation], list[str]]:
    """MobileNetV2 and photos whose predicted class is an annotated object of less than half the picture."""
    net = models.mobilenet_v2(data / "models/mobilenet_v2_fp16.safetensors")
    tables = json.loads((data / "coco254/mapping.json").read_text())
    names = {int(number): name for number, name in tables["coco_names"].items()}
    classes = {names[int(number)]: indices for number, indices in tables["coco_to_imagenet"].items()}
    found: list[tuple[Tensor, int, Annotation, str]] = []
    for path in sorted((data / "coco254/boxes").glob("*.txt")):
        photo = photos.read(data / "coco254/images" / f"{path.stem}.jpg")
        seen = crop_boxes(read_yolo(path, (photo.height, photo.width), names), 224)
        small = [label for label in seen.labels if as_mask(seen.of(label), seen.size).float().mean() < 0.5]
        if len(found) < count and any(label in classes for label in small):
            x = net.prepare(photo)
            with torch.no_grad():
                top = int(net.net(x).argmax())
            found += [(x, top, seen, label) for label in small if top in classes.get(label, ())][:1]
    inputs, targets, seen_all, labels = zip(*found, strict=True)
    return net.net, torch.cat(inputs), list(targets), list(seen_all), list(labels)


def chance(game: PointingGame, truth: list[Annotation]) -> float:
    """How often a random map hits: averaged over 30 of them."""
    shape = (len(truth), *truth[0].size)
    games = [pointing_game(random(seed, *shape), truth, game.labels, tolerance=game.tolerance) for seed in range(30)]
    return sum(one.overall for one in games) / len(games)


def test_grad_cam_points_at_objects_in_photos_far_more_often_than_chance(data: Path) -> None:
    net, x, targets, truth, labels = load_samples(data, 20)
    game = pointing_game(samp.explain(net, x, target=targets, method="gradcam"), truth, labels, tolerance=5)
    assert len(game.hits) == 20
    assert game.overall > chance(game, truth) + 0.25
