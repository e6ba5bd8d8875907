"""The nets of the setups, by their names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from samp import models
from samp.models import Classifier
from samp_lab.nets.blue_counter import blue_counter
from samp_lab.nets.checkpoints import CHECKPOINTS, find_checkpoint, load_checkpoint
from samp_lab.nets.linear_head import put_on_trunk
from samp_lab.nets.planted import planted_net
from samp_lab.setups import SEED

if TYPE_CHECKING:
    from samp_lab.training import TrainingResult
    from samp_lab.workspace import ExperimentOptions

# trained by samp_lab.training on first use
TRAINED = (
    *("mnist", "mnist-authors", "mnist-slim-authors"),
    *("cifar10", "cifar10-slim", "cifar10-authors", "cifar10-slim-authors"),
    *("mosaic", "mosaic-slim", "cub"),
    *("dinov2-cifar10", "dinov2-cub", "dinov2-imagenet"),
)
ALIASES = {"dinov2_vits14": "dinov2-imagenet"}
"""Names of setups for trained nets: of an ImageNet net that of its architecture alone."""
UNCROPPED = "-uncropped"
"""What a checkpoint's name ends with where the whole photo is squeezed to the net's input, not its centre cut out."""
BUILT_IN_NETS: dict[str, Callable[[], Classifier]] = {
    "mnist-slim": models.mnist_slim,
    "mnist-slim-56": lambda: replace(models.mnist_slim(), size=56),  # its last layer pools over the whole image
    "counting": blue_counter,
    "planted": planted_net,
}
"""Nets that come with samp."""


def load(name: str, options: ExperimentOptions) -> Classifier:
    """Return the net on the run's device, in evaluation mode: shipped, trained here, from a checkpoint or a package."""
    classifier = _load_classifier(name, options)
    classifier.net.to(options.device).requires_grad_(False)
    return classifier


def train(name: str, options: ExperimentOptions) -> TrainingResult | None:
    """Return the training result of a net that is trained here; None for other nets.

    Slim nets of seed 0 come with samp; the others are in the cache, or trained now. The net `mnist-seed1` is trained as
    `mnist` is, by the next seed; the images stay those of the run's own seed.
    """
    recipe, _, seed = name.partition(SEED)
    recipe = ALIASES.get(recipe, recipe)
    if recipe not in TRAINED:
        return None
    from samp_lab.training import get_recipe, read, weights_of

    chosen = get_recipe(recipe, options.seed + int(seed or 0))
    shipped = Path(str(files("samp_lab.nets") / "weights" / f"{recipe}.safetensors"))
    if chosen.seed == 0 and shipped.is_file():
        return read(shipped, chosen)
    return weights_of(chosen, data_folder(options), models_folder(options), options.device)


def _load_classifier(name: str, options: ExperimentOptions) -> Classifier:
    if name in BUILT_IN_NETS:
        return BUILT_IN_NETS[name]()
    made = train(name, options)
    if made is not None:
        from samp_lab.training import HeadRecipe, classifier_of

        if isinstance(made.recipe, HeadRecipe):
            trunk = options.weights or find_checkpoint(made.recipe.trunk, data_folder(options))
            return put_on_trunk(made.recipe, made, trunk)
        return classifier_of(made, options.device)
    whole = name.removesuffix(UNCROPPED)
    if whole not in CHECKPOINTS:
        return models.load(name)
    path = options.weights or find_checkpoint(whole, data_folder(options))
    classifier = load_checkpoint(whole, path, options.trust)
    return classifier if whole == name else replace(classifier, margin=None)


def data_folder(options: ExperimentOptions) -> Path:
    """Return the data folder; raise ValueError or FileNotFoundError if there is none."""
    if options.data is None:
        raise ValueError("this needs data: give its folder as `data`, or by the variable SAMP_DATA.")
    if not options.data.is_dir():
        raise FileNotFoundError(f"there is no folder {options.data}: give the folder of the data as `data`.")
    return options.data


def models_folder(options: ExperimentOptions) -> Path:
    """Return the folder of trained nets, made if necessary; raise ValueError if none was given."""
    if options.models is None:
        raise ValueError("a net has to be trained: give a folder for it as `models`.")
    options.models.mkdir(parents=True, exist_ok=True)
    return options.models
