"""Trained nets by their recipe: read from a cache folder, or trained and written to it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from samp.lookup import look_up
from samp.models.classifier import Classifier
from samp.models.five_layer import CIFAR10, CIFAR10_AUTHORS, MNIST, MNIST_AUTHORS, FiveLayerCNN
from samp_lab.training.batches import Arrays
from samp_lab.training.fine_tuning import fine_tune, replace_head
from samp_lab.training.head_recipes import HEAD_RECIPES, HeadRecipe
from samp_lab.training.loop import Progress, check_device, train
from samp_lab.training.mosaic_arrays import mosaic_arrays
from samp_lab.training.outcome import TrainingResult, read, save
from samp_lab.training.recipes import RECIPES, Head, Recipe

DIGITS = tuple(map(str, range(10)))
OBJECTS = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
# how the five-layer nets of each data set are called and fed
INPUT_FORMATS = {
    "mnist": ("MNIST", 28, "grey"),
    "cifar10": ("CIFAR-10", 32, "rgb"),
    "mosaic": ("MNIST mosaic", 56, "grey"),
}
WIDE = (MNIST, CIFAR10, MNIST_AUTHORS, CIFAR10_AUTHORS)
CLASSES = {"mnist": DIGITS, "cifar10": OBJECTS, "mosaic": DIGITS}


def weights_of(
    recipe: Recipe | HeadRecipe,
    data: str | os.PathLike[str],
    cache: str | os.PathLike[str],
    device: str | torch.device = "cpu",
    progress: Progress | None = None,
) -> TrainingResult:
    """Return the recipe's weights from the folder `cache`; train them on data in the folder `data` if missing.

    Raises ValueError if the file there is damaged or of another recipe, and does not overwrite it.
    """
    return load_or_make(recipe, cache, lambda: _train_recipe(recipe, data, cache, device, progress))


def load_or_make(
    recipe: Recipe | HeadRecipe, cache: str | os.PathLike[str], make: Callable[[], TrainingResult]
) -> TrainingResult:
    """Return the recipe's weights from the folder `cache`; call `make` and write its result there if they are missing.

    >>> from tempfile import TemporaryDirectory
    >>> made = TrainingResult(RECIPES["mnist-slim"], {"bias": torch.ones(1)}, 0.99, 1.0, (), 60.0)
    >>> with TemporaryDirectory() as folder:
    ...     first = load_or_make(made.recipe, folder, lambda: made)
    ...     load_or_make(made.recipe, folder, make=lambda: 1 / 0).sha256 == made.sha256
    True
    """
    path = cache_file(recipe, cache)
    if path.exists():
        return read(path, recipe)
    path.parent.mkdir(parents=True, exist_ok=True)
    made = make()
    save(made, path)
    return made


def load_or_train(
    name: str,
    data: str | os.PathLike[str],
    cache: str | os.PathLike[str],
    device: str | torch.device = "cpu",
    seed: int = 0,
) -> Classifier:
    """Return the net of the recipe of this name and seed, from the cache or trained now: see `weights_of`."""
    return classifier_of(weights_of(get_recipe(name, seed), data, cache, device), device)


def get_recipe(name: str, seed: int = 0) -> Recipe | HeadRecipe:
    """Return the recipe of this name with this seed; raise ValueError for an unknown name.

    >>> get_recipe("mnist-slim", seed=3).seed
    3
    """
    known: dict[str, Recipe | HeadRecipe] = {**RECIPES, **HEAD_RECIPES}
    return replace(look_up(name, known, "recipe"), seed=seed)


def cache_file(recipe: Recipe | HeadRecipe, cache: str | os.PathLike[str]) -> Path:
    """Return the cache file of a recipe, named by its data set and the beginning of the SHA-256 of its JSON.

    >>> cache_file(RECIPES["mnist-slim"], "nets").name == f"mnist-{RECIPES['mnist-slim'].key[:20]}.safetensors"
    True
    """
    return Path(cache) / f"{recipe.data}-{recipe.key[:20]}.safetensors"


def train_and_save(
    name: str,
    data: str | os.PathLike[str],
    out: str | os.PathLike[str],
    device: str | torch.device = "cpu",
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> TrainingResult:
    """Train the recipe of this name with this seed, and write the weights to a safetensors file.

    `train_and_save("mnist-slim", data, "mnist_slim.safetensors")` made the weights that come with samp.
    """
    recipe, path = get_recipe(name, seed), Path(out)
    if not path.parent.is_dir() or path.is_dir():  # before minutes of training, not after
        raise FileNotFoundError(f"{path} is not a file in a folder that is there: make the folder, or name another.")
    made = _train_recipe(recipe, data, path.parent, device, progress)
    save(made, path)
    return made


def classifier_of(result: TrainingResult, device: str | torch.device = "cpu") -> Classifier:
    """Return the trained net on the device as a classifier; five-layer CNNs take plain pixels, or centred ones.

    >>> net = FiveLayerCNN(RECIPES["cifar10-slim"].net)
    >>> result = TrainingResult(RECIPES["cifar10-slim"], net.state_dict(), 0.5, 0.6, (), 30.0, 1000, OBJECTS)
    >>> objects = classifier_of(result)
    >>> objects.name, objects.label(3), objects.size
    ('CIFAR-10 slim five-layer CNN', 'cat', 32)
    """
    recipe = result.recipe
    if isinstance(recipe, HeadRecipe):
        raise TypeError("a head is no net without its trunk: samp_lab.nets.load puts them together.")
    if isinstance(recipe.net, Head):
        base = _load_base(recipe.net, device)
        return replace_head(base, result.state, result.classes, f"{base.name}, head fine-tuned on {recipe.data}")
    with torch.device("meta"):
        net = FiveLayerCNN(recipe.net)
    try:
        net.load_state_dict(dict(result.state), assign=True)
    except RuntimeError as error:
        raise ValueError(f"these are not the weights of the net {recipe.net}: train it again.") from error
    data, size, channels = look_up(recipe.data, INPUT_FORMATS, "data set of a five-layer CNN")
    name = f"{data} {'' if recipe.net in WIDE else 'slim '}five-layer CNN"
    middle = (0.5, 0.5) if recipe.centred else (0.0, 1.0)
    return Classifier(net.eval().to(device), name, size, *middle, result.classes, channels, margin=None)


def arrays_of(recipe: Recipe, data: str | os.PathLike[str]) -> Arrays:
    """Return the arrays that the recipe trains and tests on, from the folder `data`."""
    from samp_lab.datasets import arrays

    source = "mnist" if recipe.data == "mosaic" else recipe.data
    whole = Arrays(*arrays(f"{source}-train", data), *arrays(source, data))
    return mosaic_arrays(whole, recipe.images, recipe.seed) if recipe.data == "mosaic" else whole


def _train_recipe(
    recipe: Recipe | HeadRecipe,
    data: str | os.PathLike[str],
    cache: str | os.PathLike[str],
    device: str | torch.device,
    progress: Progress | None,
) -> TrainingResult:
    if isinstance(recipe, HeadRecipe):
        from samp_lab.training.head_training import train_head

        return train_head(recipe, Path(data), Path(cache), device, progress)
    if isinstance(recipe.net, Head):
        return _fine_tune_recipe(recipe, data, device, progress)
    return replace(train(recipe, arrays_of(recipe, data), device, progress), classes=CLASSES[recipe.data])


def _fine_tune_recipe(
    recipe: Recipe, data: str | os.PathLike[str], device: str | torch.device, progress: Progress | None
) -> TrainingResult:
    from samp_lab.datasets import open_dataset

    if not isinstance(recipe.net, Head):
        raise TypeError(f"fine-tuning takes a recipe of a head, not of {recipe.net}.")
    images = open_dataset(recipe.data, data)
    labels = [label for label in images.labels if label is not None]
    pictures = [entry.picture() for entry in images]
    made = fine_tune(_load_base(recipe.net, device), pictures, labels, recipe, progress)
    return replace(made, classes=images.classes)


def _load_base(head: Head, device: str | torch.device) -> Classifier:
    """Return the net that the head belongs to."""
    from samp.models import load

    base = load(head.net)
    return replace(base, net=base.net.to(check_device(device)))
