"""Trainings learn, are the same twice, and are described wholly by their recipe."""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
import torch

from samp.models.five_layer import FiveLayer
from samp_lab.training import RECIPES, Arrays, Head, Recipe, TrainingResult, accuracy, mosaics, train
from samp_lab.training.batches import batches, bytes_on_device, pixels, shift_and_flip
from samp_lab.training.loop import fit

TINY = FiveLayer(1, (2, 4, 4, 4, 8), classes=3)
ABLE = FiveLayer(1, (8, 8, 16, 16, 32), classes=3)  # enough channels to learn
QUICK = Recipe(TINY, "bars", 96, epochs=3, batch=16, rate=1e-2)
OTHERS = {
    "net": FiveLayer(1, (2, 4, 4, 4, 9), classes=3),
    "data": "stripes",
    "images": 80,
    "epochs": 2,
    "batch": 8,
    "rate": 2e-2,
    "decay": 0.5,
    "clip": 0.01,
    "schedule": "cosine",
    "augmentation": "shift and flip",
    "labels": "several",
    "precision": "bfloat16",
    "seed": 1,
    "optimiser": "sgd",
    "centred": True,
}


def bars(count: int, seed: int = 0, colours: int | None = None) -> tuple[Any, Any]:
    """Noise with one bright bar: lying, standing or none, which is the class."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 3, count)
    images = random.integers(0, 60, (count, 28, 28)).astype(np.uint8)
    for image, label, place in zip(images, labels, random.integers(4, 22, count), strict=True):
        if label < 2:
            (image if label == 0 else image.T)[place : place + 3] = 250
    return (images if colours is None else np.repeat(images[..., None], colours, 3)), labels


def toy(count: int = 96) -> Arrays:
    return Arrays(*bars(count), *bars(60, seed=1))


def same(one: TrainingResult, other: TrainingResult) -> bool:
    return all(torch.equal(one.state[name], other.state[name]) for name in one.state)


def test_a_training_learns() -> None:
    made = train(replace(QUICK, net=ABLE, epochs=12), toy())
    assert made.test_accuracy > 0.9  # a third by guessing
    assert made.losses[-1] < made.losses[0] / 2
    assert len(made.losses) == 12


def test_two_trainings_are_identical_and_another_seed_is_not() -> None:
    one, two, other = train(QUICK, toy()), train(QUICK, toy()), train(replace(QUICK, seed=1), toy())
    assert same(one, two)
    assert one.sha256 == two.sha256
    assert one.losses == two.losses
    assert not same(one, other)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_two_trainings_on_a_gpu_are_identical(precision: str) -> None:
    recipe = replace(QUICK, precision=precision, augmentation="shift and flip")
    assert same(train(recipe, toy(), "cuda"), train(recipe, toy(), "cuda"))


def test_a_training_leaves_the_programs_own_state_alone() -> None:
    torch.manual_seed(3)
    before, flags = torch.get_rng_state(), (torch.backends.cudnn.deterministic, torch.get_float32_matmul_precision())
    train(QUICK, toy())
    assert torch.equal(before, torch.get_rng_state())
    assert flags == (torch.backends.cudnn.deterministic, torch.get_float32_matmul_precision())
    torch.manual_seed(4)  # and does not depend on it
    assert same(train(QUICK, toy()), train(QUICK, toy()))


@pytest.mark.parametrize(
    "field",
    ["images", "epochs", "batch", "rate", "decay", "clip", "schedule", "augmentation", "optimiser", "centred"],
)
def test_every_setting_changes_the_weights(field: str) -> None:
    assert not same(train(QUICK, toy()), train(replace(QUICK, **{field: OTHERS[field]}), toy()))


def test_recipes_of_earlier_versions_keep_their_key() -> None:
    assert "optimiser" not in RECIPES["mnist"].json()
    assert "padding" not in RECIPES["mnist"].json()
    assert '"optimiser": "sgd"' in RECIPES["mnist-authors"].json()
    assert Recipe.from_json(RECIPES["cifar10-authors"].json()) == RECIPES["cifar10-authors"]


def test_every_setting_changes_the_key() -> None:
    assert {field.name for field in fields(Recipe)} == set(OTHERS)
    keys = {QUICK.key, *(replace(QUICK, **{name: value}).key for name, value in OTHERS.items())}
    assert len(keys) == len(OTHERS) + 1


@pytest.mark.parametrize("recipe", [*RECIPES.values(), QUICK])
def test_recipes_come_back_from_their_json(recipe: Recipe) -> None:
    assert Recipe.from_json(recipe.json()) == recipe
    assert Recipe.from_json(json.dumps(json.loads(recipe.json()), indent=4)).key == recipe.key


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "not json", '{"net": 3}', RECIPES["cub"].json().replace("epochs", "aeons")]
)
def test_what_is_no_recipe_gets_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match="is not a recipe"):
        Recipe.from_json(text)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"epochs": 0}, "epochs is above 0, not 0"),
        ({"seed": -1}, "seed is 0 or more, not -1"),
        ({"decay": -0.1}, "decay is 0 or more, not -0.1"),
        ({"rate": math.nan}, "rate is above 0, not nan"),
        ({"schedule": "linear"}, "schedule is 'one-cycle' or 'cosine', not 'linear'"),
        ({"labels": "two"}, "labels is 'one' or 'several'"),
        ({"precision": "float16"}, "precision is 'float32' or 'bfloat16'"),
        ({"augmentation": "shift"}, "augmentation is 'none' or 'shift and flip'"),
    ],
)
def test_impossible_recipes_get_a_sentence(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        replace(QUICK, **change)


def test_the_recipes_of_the_paper_are_there() -> None:
    assert {"mnist", "cifar10", "mnist-slim", "cifar10-slim", "mosaic", "cub"} <= set(RECIPES)
    assert RECIPES["cub"].net == Head("efficientnet_lite0", 100)


@pytest.mark.parametrize("schedule", ["one-cycle", "cosine"])
@pytest.mark.parametrize("batch", [96, 1000, 50, 40, 32, 24, 19, 16, 13, 12])  # 1 to 8 steps
def test_one_step_or_a_rest_of_a_batch_is_no_trouble(schedule: str, batch: int) -> None:
    assert len(train(replace(QUICK, epochs=1, batch=batch, schedule=schedule), toy()).losses) == 1


def test_a_loss_that_is_no_number_stops_the_training() -> None:
    net = torch.nn.Linear(2, 3)
    rows = (torch.full((4, 2), math.inf), torch.zeros(4, dtype=torch.int64))
    with pytest.raises(RuntimeError, match=r"the loss became nan in epoch 1: take a smaller rate than 0.01"):
        fit(net, lambda: iter([rows]), QUICK)


def test_progress_hears_each_epoch() -> None:
    heard: list[tuple[int, int, float]] = []
    made = train(QUICK, toy(), progress=lambda *said: heard.append(said))
    assert heard == [(number, 3, loss) for number, loss in enumerate(made.losses, start=1)]


def test_a_recipe_takes_its_first_images_alone() -> None:
    recipe = replace(QUICK, images=80)
    images, labels = bars(96)
    images[80:] = 0
    assert same(train(recipe, toy()), train(recipe, Arrays(images, labels, *bars(60, seed=1))))
    with pytest.raises(ValueError, match="takes 96 training images but there are 80: get the whole data set"):
        train(QUICK, toy(80))


def test_arrays_and_labels_that_do_not_fit_get_a_sentence() -> None:
    images, labels = bars(8)
    with pytest.raises(TypeError, match="n h w or n h w c of uint8, not float64"):
        Arrays(images / 255, labels, images, labels)
    with pytest.raises(ValueError, match="there are 8 images but 7 labels"):
        Arrays(images, labels, images, labels[:7])
    recipe = replace(QUICK, images=8)
    for wrong in (labels + 3, labels - 1, np.eye(3, dtype=np.int64)[labels]):
        with pytest.raises(ValueError, match="do not fit 3 classes, one an image"):
            train(recipe, Arrays(images, wrong, images, wrong))
    for wrong in (labels, np.eye(4, dtype=np.int64)[labels], 2 * np.eye(3, dtype=np.int64)[labels]):
        with pytest.raises(ValueError, match="do not fit 3 classes, several an image"):
            train(replace(recipe, labels="several"), Arrays(images, wrong, images, wrong))
    with pytest.raises(ValueError, match="the images have 1 channels but the net takes 3"):
        train(replace(RECIPES["cifar10-slim"], images=8), Arrays(images, labels, images, labels))
    with pytest.raises(TypeError, match="use fine_tuning for a head"):
        train(RECIPES["cub"], toy())


@pytest.mark.parametrize("device", ["cuda:99", "gpu"])
def test_a_device_that_is_not_there_gets_a_sentence(device: str) -> None:
    with pytest.raises(ValueError, match=f"there is no device '{device}' here"):
        train(QUICK, toy(), device)


def test_an_epoch_shows_every_image_once_in_another_order() -> None:
    images = torch.arange(96, dtype=torch.uint8).view(-1, 1, 1, 1)
    labels, generator = torch.arange(96), torch.Generator().manual_seed(0)
    epochs = [list(batches(images, labels, QUICK, generator)) for _ in range(2)]
    orders = [torch.cat([label for _, label in epoch]).tolist() for epoch in epochs]
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(96))
    assert orders[0] != orders[1]
    for x, label in epochs[0]:
        assert torch.equal(x.flatten(), label / 255)


def test_moves_are_crops_of_the_reflected_image() -> None:
    images = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (40, 3, 9, 11)).astype(np.uint8))
    moved = shift_and_flip(images, torch.Generator().manual_seed(5))
    found = set()
    for image, out in zip(images.numpy(), moved.numpy(), strict=True):
        wide = np.pad(image, ((0, 0), (4, 4), (4, 4)), mode="reflect")
        crops = {(y, x): wide[:, y : y + 9, x : x + 11] for y in range(9) for x in range(9)}
        places = [
            (y - 4, x - 4, flip)
            for (y, x), crop in crops.items()
            for flip in (False, True)
            if np.array_equal(out, crop[:, :, ::-1] if flip else crop)
        ]
        assert len(places) == 1
        found.add(places[0])
    assert len(found) > 25  # of 162
    assert {flip for *_, flip in found} == {False, True}


def test_grey_and_coloured_bytes_become_pixels() -> None:
    grey, _ = bars(2)
    coloured, _ = bars(2, colours=3)
    x = pixels(bytes_on_device(coloured, torch.device("cpu")))
    assert x.shape == (2, 3, 28, 28)
    np.testing.assert_allclose(x[1, 2].numpy(), grey[1] / 255, atol=1e-7)  # float32
    assert torch.equal(pixels(bytes_on_device(grey, torch.device("cpu"))), x[:, :1])


def test_accuracy_of_several_labels_counts_images_that_are_wholly_right() -> None:
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(1, 2))
    net[1].weight.data.zero_()
    net[1].bias.data = torch.tensor([1.0, -1.0])  # says yes, no
    images = np.zeros((1200, 1, 1), np.uint8)  # more than are shown at once
    labels = np.tile([[1, 0], [1, 1], [0, 0], [1, 0]], (300, 1))
    assert accuracy(net, images, labels) == 0.5


def test_mosaics_show_the_digits_they_are_labelled_with() -> None:
    labels = np.random.default_rng(0).integers(0, 10, 50)
    digits = np.arange(1, 51, dtype=np.uint8)[:, None, None] * np.ones(
        (28, 28), np.uint8
    )  # each image says which it is
    pictures, shown = mosaics(digits, labels, count=30, seed=4)
    assert pictures.shape == (30, 56, 56)
    for picture, row in zip(pictures, shown, strict=True):
        quarters = [picture[y : y + 28, x : x + 28] for y in (0, 28) for x in (0, 28)]
        assert all(len(np.unique(quarter)) == 1 for quarter in quarters)
        assert {int(labels[quarter[0, 0] - 1]) for quarter in quarters} == set(row.nonzero()[0].tolist())
    again, other = mosaics(digits, labels, 30, seed=4)[0], mosaics(digits, labels, 30, seed=5)[0]
    assert np.array_equal(pictures, again)
    assert not np.array_equal(pictures, other)


def test_mosaics_keep_their_digits_upright() -> None:
    digit = np.arange(28 * 28).reshape(1, 28, 28).astype(np.uint8)
    picture = mosaics(digit, np.array([3]), 1, seed=0)[0][0]
    assert np.array_equal(picture, np.tile(digit[0], (2, 2)))
    with pytest.raises(ValueError, match="made of n h w digits with a label each"):
        mosaics(digit[0], np.array([3]), 1, seed=0)


def test_a_net_learns_several_labels() -> None:
    images, labels = bars(96)
    several = np.eye(3, dtype=np.int64)[labels]
    made = train(replace(QUICK, net=ABLE, labels="several", epochs=12), Arrays(images, several, images, several))
    assert made.train_accuracy > 0.9  # an eighth by guessing
