"""Linear heads: the fit is the loss's minimum, splits keep photos apart, shipped heads are what their recipe says."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn
from torch.nn import functional

from samp.models import Classifier, imagenet_classes
from samp.models.classifier import IMAGENET
from samp_lab import nets
from samp_lab.datasets import Entry, Images
from samp_lab.training import HEAD_RECIPES, HeadRecipe, TrainingResult, classifier_of, get_recipe, read, save
from samp_lab.training.head_training import ViewOutputs, measure_head, train_head, validate
from samp_lab.training.linear_head import fit_head
from samp_lab.training.photo_views import HELD_OUT, Photo, crop_at_random, split_all_photos, split_photos
from samp_lab.training.view_outputs import compute_outputs
from samp_lab.workspace import ExperimentOptions

SHIPPED = [name for name in HEAD_RECIPES if name in nets.TRAINED]


def shipped(name: str) -> TrainingResult:
    return read(Path(str(files("samp_lab.nets") / "weights" / f"{name}.safetensors")), HEAD_RECIPES[name])


def photos(count: int, name: str = "some") -> list[Photo]:
    """Photos of one colour each, of three classes in turn."""
    colours = np.random.default_rng(0).integers(0, 256, (count, 3)).tolist()
    entries = [
        Entry(f"{i:03d}", i % 3, partial(Image.new, "RGB", (40, 30), tuple(colour))) for i, colour in enumerate(colours)
    ]
    return [Photo(f"{name}/{entry.id}", entry.label, entry, i % 4) for i, entry in enumerate(entries)]


# ---- the fit


@pytest.fixture
def rows() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    features = 3 + 5 * torch.randn(60, 4, generator=generator, dtype=torch.float64)
    return features, torch.randn(60, 3, generator=generator, dtype=torch.float64).mul(2).softmax(1)


def test_softmax_regression_stands_where_its_gradient_vanishes(rows: tuple[torch.Tensor, torch.Tensor]) -> None:
    """At the minimum λ·w = mean of (target − probability) · feature, for features of mean 0 and deviation 1."""
    features, targets = rows
    head = fit_head(features, targets, decay=0.05)
    missing = targets - (features @ head["weight"].T + head["bias"]).softmax(1)
    mean, deviation = features.mean(0), features.std(0, correction=0)
    expected = missing.T @ ((features - mean) / deviation) / len(features) / 0.05
    torch.testing.assert_close(head["weight"] * deviation, expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(head["bias"] + head["weight"] @ mean, missing.mean(0) / 0.05, atol=1e-5, rtol=1e-5)


def test_least_squares_equal_those_of_a_larger_system(rows: tuple[torch.Tensor, torch.Tensor]) -> None:
    """A decay of λ is as many more rows: √(λ n) · I with targets 0."""
    features, targets = rows
    head = fit_head(features, targets, decay=0.3, loss="squares")
    mean, deviation, count = features.mean(0), features.std(0, correction=0), len(features)
    scaled = (features - mean) / deviation
    more = (0.3 * count) ** 0.5 * torch.eye(4, dtype=torch.float64)
    system, wanted = torch.cat([scaled, more]), torch.cat([targets - targets.mean(0), torch.zeros(4, 3).double()])
    expected = torch.linalg.lstsq(system, wanted).solution.T
    torch.testing.assert_close(head["weight"] * deviation, expected)
    torch.testing.assert_close(features @ head["weight"].T + head["bias"], scaled @ expected.T + targets.mean(0))


@pytest.mark.parametrize("loss", ["cross entropy", "squares"])
def test_the_fit_does_not_depend_on_the_order_or_on_copies(rows: tuple[torch.Tensor, torch.Tensor], loss: str) -> None:
    features, targets = rows
    once = fit_head(features, targets, 0.1, loss)
    twice = fit_head(features.flip(0).repeat(2, 1), targets.flip(0).repeat(2, 1), 0.1, loss)
    for name in once:
        torch.testing.assert_close(once[name], twice[name], atol=1e-5, rtol=1e-5)


# ---- recipes


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"decay": 0.0}, "decay is above 0, not 0"),
        ({"loss": "hinge"}, "loss is one of"),
        ({"loss": "squares", "teacher": ""}, "'squares' needs a teacher"),
        ({"crops": -1}, "crops and seed are 0 or more"),
    ],
)
def test_a_recipe_that_cannot_be_is_refused(changed: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(HEAD_RECIPES["dinov2-cub"], **changed)  # type: ignore[arg-type]  # wrong on purpose


def test_recipes_are_found_by_name_and_seed() -> None:
    assert get_recipe("dinov2-imagenet", 2) == replace(HEAD_RECIPES["dinov2-imagenet"], seed=2)
    with pytest.raises(ValueError, match="is no recipe of a head"):
        HeadRecipe.from_json('{"kind": "FiveLayer"}')


# ---- photos and their crops


def test_no_photo_is_on_both_sides_and_every_fourth_is_held_out() -> None:
    sets = {
        name: Images(name, [Entry(f"{i:02d}", i, lambda: Image.new("RGB", (4, 4))) for i in range(count)])
        for name, count in (("imagenet", 9), ("coco", 6))
    }
    split = split_all_photos(sets)
    train, held_out = ({photo.name for photo in part} for part in (split.train, split.held_out))
    assert held_out == {"imagenet/03", "imagenet/07", "coco/03"}
    assert not train & held_out
    assert len(train | held_out) == 15
    assert all(photo.fold != HELD_OUT for photo in split.train)
    assert {photo.label is None for photo in split.train if photo.name.startswith("coco")} == {True}


def test_crops_depend_on_the_name_and_the_seed_alone() -> None:
    picture = Image.fromarray(np.random.default_rng(0).integers(0, 256, (60, 90, 3)).astype(np.uint8))
    same, other, later = (np.asarray(crop_at_random(picture, key)) for key in ("0 0 a", "0 0 b", "0 1 a"))
    assert np.array_equal(same, np.asarray(crop_at_random(picture, "0 0 a")))
    assert not np.array_equal(same, other)
    assert not np.array_equal(same, later)


# ---- outputs of frozen nets


class Counting(nn.Module):
    """The mean colour of a view; counts the views that it saw."""

    def __init__(self) -> None:
        super().__init__()
        self.gain, self.seen = nn.Parameter(torch.ones(1)), 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen += len(x)
        return self.gain * x.mean((2, 3))


def test_outputs_are_computed_once_and_photo_by_photo(tmp_path: Path) -> None:
    net = Counting()
    classifier = Classifier(net, "mean colour", classes=(), **IMAGENET)
    some = photos(5)
    first = compute_outputs(classifier, some, 2, 0, tmp_path)
    assert (first.shape, net.seen) == ((15, 3), 15)
    assert torch.equal(compute_outputs(classifier, some, 2, 0, tmp_path), first)
    assert net.seen == 15
    torch.testing.assert_close(
        first[::3], classifier.net(torch.cat([classifier.prepare(p.entry.picture()) for p in some]))
    )
    assert torch.equal(compute_outputs(classifier, some[3:], 2, 0, tmp_path), first[9:])
    net.gain.data.fill_(2.0)  # another net has outputs of its own
    torch.testing.assert_close(compute_outputs(classifier, some, 2, 0, tmp_path), 2 * first)


def test_measures_of_a_head_are_counted_by_hand() -> None:
    some = [replace(photo, label=label) for photo, label in zip(photos(4), (0, 1, None, 2), strict=True)]
    teacher = functional.one_hot(torch.tensor([0, 1, 1, 6]), 7).double()
    outputs = ViewOutputs(some, torch.eye(7)[[0, 1, 2, 3]], teacher)
    weight = torch.zeros(7, 7)
    weight[[0, 0, 1, 2], [0, 1, 2, 3]] = 1  # says 0, 0, 1, 2
    found = measure_head({"weight": weight, "bias": torch.linspace(0, -0.1, 7)}, outputs)
    assert found == {
        "accuracy": pytest.approx(2 / 3),
        "agreement": 0.5,
        "agreement_top5": 0.75,
        "agreement_images": 4,
        "accuracy_top5": 1.0,
        "teacher_accuracy": pytest.approx(2 / 3),
    }


def test_validation_is_on_photos_that_the_fit_has_not_seen() -> None:
    """Each photo has a feature of its own, so that nothing is known of those that are left out."""
    some = [replace(photo, label=1) for photo in photos(8)]
    outputs = ViewOutputs(some, torch.eye(8).repeat_interleave(2, 0), None)
    recipe = HeadRecipe("none", "some", 8, 1, decay=0.1)
    assert validate(recipe, outputs, 3) == {"accuracy": 1.0}  # the bias is all that is learned
    seen = [replace(photo, label=2) if photo.fold == 1 else photo for photo in some]
    assert validate(recipe, replace(outputs, photos=seen), 3) == {"accuracy": 0.0}


# ---- the heads that come with the laboratory


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_heads_say_how_they_were_made(name: str) -> None:
    made = shipped(name)  # checks the recipe and the weights' hash
    assert made.state["weight"].dtype == torch.float16
    assert made.state["weight"].shape == (len(made.classes), 768)
    assert 0 < made.test_accuracy < 1
    path = files("samp_lab.nets") / "weights" / f"{name}.safetensors"
    assert Path(str(path)).stat().st_size < 1.7e6


def test_a_head_alone_is_no_net(tmp_path: Path) -> None:
    made = shipped("dinov2-cub")
    with pytest.raises(TypeError, match="no net without its trunk"):
        classifier_of(made)
    save(made, tmp_path / "again.safetensors")
    assert read(tmp_path / "again.safetensors").measures == made.measures


# What the first held-out photos were taken for when the heads were made; margins below 0.1 of a logit are left out.
TAKEN_FOR = {
    "dinov2-cifar10": {0: 3, 1: 8, 2: 8, 3: 0, 4: 6},
    "dinov2-cub": {0: 20, 1: 61, 2: 90, 4: 84, 6: 79},
    "dinov2-imagenet": {0: 21, 1: 35, 3: 70, 5: 95, 7: 126},
}


@pytest.mark.parametrize("name", TAKEN_FOR)
def test_shipped_nets_predict_what_they_were_recorded_with(data: Path, name: str) -> None:
    """The net takes a photo itself here, by the preprocessing that it is loaded with."""
    recipe, loaded = HEAD_RECIPES[name], nets.load(name, ExperimentOptions(data=data))
    held_out = split_photos(recipe.data, data).held_out
    some = torch.cat([loaded.prepare(held_out[place].entry.picture()) for place in TAKEN_FOR[name]])
    with torch.no_grad():
        assert loaded.net(some).argmax(1).tolist() == list(TAKEN_FOR[name].values())
    assert loaded.net.head.weight.shape[0] == len(loaded.classes)


def test_the_net_of_the_setup_is_the_distilled_one(data: Path) -> None:
    options = ExperimentOptions(data=data)
    loaded = nets.load("dinov2_vits14", options)
    assert torch.equal(loaded.net.head.weight, nets.load("dinov2-imagenet", options).net.head.weight)
    assert loaded.classes == imagenet_classes()
    assert loaded.margin == 0.875
    made = nets.train("dinov2_vits14", options)
    assert made is not None
    assert made.recipe == HEAD_RECIPES["dinov2-imagenet"]


def test_without_the_trunk_it_says_what_to_put_where(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no checkpoint dinov2_vits14\*.safetensors or .pth"):
        nets.load("dinov2-cub", ExperimentOptions(data=tmp_path))


def test_the_same_recipe_gives_the_same_head(data: Path, tmp_path: Path) -> None:
    """Three birds to learn and three to test on, one crop each, with the real trunk; the second time from the cache."""
    recipe = replace(HEAD_RECIPES["dinov2-cub"], images=3, tests=3, crops=1)
    first, second = train_head(recipe, data, tmp_path), train_head(recipe, data, tmp_path)
    assert first.sha256 == second.sha256
    assert (first.train_accuracy, first.test_images) == (1.0, 3)
    assert train_head(replace(recipe, seed=1), data, tmp_path).sha256 != first.sha256
    with pytest.raises(ValueError, match=r"takes 500 photos to train on but cub has 100"):
        train_head(replace(recipe, images=500), data, tmp_path)


def test_the_recipe_gives_the_shipped_head_of_birds(data: Path, tmp_path: Path) -> None:
    """All 700 views through the trunk. Another processor rounds features otherwise, and 16 bits hold three digits."""
    made, known = train_head(HEAD_RECIPES["dinov2-cub"], data, tmp_path), shipped("dinov2-cub")
    for name, tensor in known.state.items():
        torch.testing.assert_close(made.state[name].float(), tensor.float(), atol=2e-3, rtol=5e-3)
    assert made.test_accuracy == pytest.approx(known.test_accuracy, abs=0.02)
