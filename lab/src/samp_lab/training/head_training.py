"""Train the linear heads of `head_recipes`: views of photos, features of the trunk, a fit, and what it is worth."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from samp import models
from samp.models import Classifier
from samp_lab.nets.checkpoints import find_checkpoint, load_checkpoint
from samp_lab.training.head_recipes import TRUNK, HeadRecipe
from samp_lab.training.linear_head import fit_head
from samp_lab.training.loop import Progress, check_device
from samp_lab.training.outcome import TrainingResult
from samp_lab.training.photo_views import VALIDATION, Photo, PhotoSplit, split_photos
from samp_lab.training.view_outputs import compute_outputs

VIEWS = "views"
"""The folder of the nets' outputs within that of trained nets."""


@dataclass(frozen=True, eq=False)
class ViewOutputs:
    """What a head is fitted to and judged by: outputs of all views of some photos, those of a photo in a row."""

    photos: Sequence[Photo]
    features: Tensor
    logits: Tensor | None
    """The teacher's."""

    @property
    def labels(self) -> Tensor:
        """The class of each photo, −1 where it has none."""
        return torch.tensor([-1 if photo.label is None else photo.label for photo in self.photos])

    def select(self, chosen: Sequence[bool]) -> ViewOutputs:
        """Return the outputs of these photos."""
        each = len(self.features) // len(self.photos)
        rows = torch.tensor(chosen).repeat_interleave(each)
        photos = [photo for photo, wanted in zip(self.photos, chosen, strict=True) if wanted]
        return ViewOutputs(photos, self.features[rows], None if self.logits is None else self.logits[rows])

    def middles(self) -> ViewOutputs:
        """Return the first view of each photo alone."""
        each = len(self.features) // len(self.photos)
        return ViewOutputs(self.photos, self.features[::each], None if self.logits is None else self.logits[::each])


def train_head(
    recipe: HeadRecipe,
    data: Path,
    cache: Path,
    device: str | torch.device = "cpu",
    progress: Progress | None = None,
) -> TrainingResult:
    """Return the head of a recipe in 16 bits, with what it is worth on photos that it has not seen.

    Outputs of the trunk and the teacher are kept in `cache`, and `progress` is told of their photos. Raises ValueError
    if the data has fewer photos than the recipe.
    """
    started = time.perf_counter()
    split = _take_photos(recipe, split_photos(recipe.data, data))
    run = partial(_run_nets, recipe, data, cache / VIEWS, device, progress)
    training, held_out = run(split.train, recipe.crops), run(split.held_out, 0)
    state = {name: tensor.half() for name, tensor in fit(recipe, training, len(split.classes)).items()}
    test, middles = measure_head(state, held_out), measure_head(state, training.middles())
    return TrainingResult(
        recipe,
        state,
        test["accuracy"],
        middles["accuracy"],
        (),
        time.perf_counter() - started,
        test_images=int((held_out.labels >= 0).sum()),
        classes=split.classes,
        device=str(check_device(device)),
        measures={key: value for key, value in test.items() if key != "accuracy"},
    )


def fit(recipe: HeadRecipe, training: ViewOutputs, classes: int) -> Mapping[str, Tensor]:
    """Return weight and bias of the recipe's head in float64."""
    if training.logits is None:
        each = len(training.features) // len(training.photos)
        targets = functional.one_hot(training.labels.repeat_interleave(each), classes)
    else:
        targets = training.logits.double()
        targets = targets if recipe.loss == "squares" else targets.softmax(1)
    return fit_head(training.features, targets, recipe.decay, recipe.loss)


def validate(recipe: HeadRecipe, training: ViewOutputs, classes: int) -> dict[str, float]:
    """Return what a recipe is worth on the second of every four training photos, after a fit to the others."""
    second = [photo.fold == VALIDATION for photo in training.photos]
    state = fit(recipe, training.select([not one for one in second]), classes)
    return measure_head(state, training.select(second).middles())


def measure_head(state: Mapping[str, Tensor], outputs: ViewOutputs) -> dict[str, float]:
    """Return the head's accuracy on photos with a label; with a teacher, also how often its class is the head's."""
    logits = outputs.features @ state["weight"].float().T + state["bias"].float()
    found, known = logits.argmax(1), outputs.labels >= 0
    right = (found == outputs.labels)[known].double().mean()
    measures = {"accuracy": float(right)}
    if outputs.logits is not None:
        theirs = outputs.logits.argmax(1)
        among = (logits.topk(5).indices == theirs[:, None]).any(1)
        measures |= {
            "agreement": float((found == theirs).double().mean()),
            "agreement_top5": float(among.double().mean()),
        }
        measures["agreement_images"] = float(len(theirs))
        measures["accuracy_top5"] = _top5(logits[known], outputs.labels[known])
        measures["teacher_accuracy"] = float((theirs == outputs.labels)[known].double().mean())
    return measures


def load_trunk(recipe: HeadRecipe, data: Path, device: str | torch.device = "cpu") -> Classifier:
    """Return the net whose output are the features; raise FileNotFoundError without its checkpoint."""
    if recipe.trunk != TRUNK:
        raise ValueError(f"the trunk of a head is {TRUNK}, not {recipe.trunk!r}.")
    classifier = models.dinov2_vits14(find_checkpoint(TRUNK, data))
    classifier.net.to(check_device(device))
    return classifier


def _run_nets(
    recipe: HeadRecipe,
    data: Path,
    cache: Path,
    device: str | torch.device,
    progress: Progress | None,
    photos: Sequence[Photo],
    crops: int,
) -> ViewOutputs:
    def tell(done: int, count: int) -> None:
        if progress is not None:
            progress(done, count, float("nan"))

    features = compute_outputs(load_trunk(recipe, data, device), photos, crops, recipe.seed, cache, tell)
    if not recipe.teacher:
        return ViewOutputs(photos, features, None)
    teacher = load_checkpoint(recipe.teacher, find_checkpoint(recipe.teacher, data))
    teacher.net.to(check_device(device))
    return ViewOutputs(photos, features, compute_outputs(teacher, photos, crops, recipe.seed, cache, tell))


def _take_photos(recipe: HeadRecipe, split: PhotoSplit) -> PhotoSplit:
    """Return the first photos of both sides, as many as the recipe says; raise ValueError if there are fewer."""
    for what, wanted, found in (
        ("to train on", recipe.images, len(split.train)),
        ("to test on", recipe.tests, len(split.held_out)),
    ):
        if found < wanted:
            raise ValueError(f"the recipe takes {wanted:,} photos {what} but {recipe.data} has {found:,}.")
    train, held_out = (
        [replace(photo, margin=recipe.margin) for photo in photos[:count]]
        for photos, count in ((split.train, recipe.images), (split.held_out, recipe.tests))
    )
    return PhotoSplit(train, held_out, split.classes)


def _top5(logits: Tensor, labels: Tensor) -> float:
    return float((logits.topk(5).indices == labels[:, None]).any(1).double().mean())
