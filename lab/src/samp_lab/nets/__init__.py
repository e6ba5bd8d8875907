"""The nets of the test beds, by their names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from samp import models
from samp.models import Classifier
from samp_lab.nets.blue_counter import blue_counter

if TYPE_CHECKING:
    from samp_lab.training import TrainingResult
    from samp_lab.workspace import ExperimentOptions

# made by samp_lab.training where they are not kept yet
TRAINED = ("mnist", "cifar10", "cifar10-slim", "mosaic", "mosaic-slim", "cub")
CHECKPOINTS = ("mobilenet_v2", "squeezenet1_1", "resnet50")
BUILT_IN_NETS: dict[str, Callable[[], Classifier]] = {
    "mnist-slim": models.mnist_slim,
    "mnist-slim-56": lambda: replace(models.mnist_slim(), size=56),  # its last layer pools over all places
    "counting": blue_counter,
}
"""Nets that come with samp."""


def load(name: str, choice: ExperimentOptions) -> Classifier:
    """The net on the choice's device, in evaluation mode: shipped, trained, from a checkpoint, or from a package."""
    classifier = _load_classifier(name, choice)
    classifier.net.to(choice.device).requires_grad_(False)
    return classifier


def train(name: str, choice: ExperimentOptions) -> TrainingResult | None:
    """The training of a net that is made here, read from where it is kept or done now; None for all other nets."""
    if name not in TRAINED:
        return None
    from samp_lab.training import get_recipe, weights_of

    return weights_of(get_recipe(name, choice.seed), data_folder(choice), models_folder(choice), choice.device)


def _load_classifier(name: str, choice: ExperimentOptions) -> Classifier:
    if name in BUILT_IN_NETS:
        return BUILT_IN_NETS[name]()
    made = train(name, choice)
    if made is not None:
        from samp_lab.training import classifier_of

        return classifier_of(made, choice.device)
    if name in CHECKPOINTS:
        return models.load(name, choice.weights or _find_checkpoint(name, choice), trust=choice.trust)
    return models.load(name)


def _find_checkpoint(name: str, choice: ExperimentOptions) -> Path:
    """The checkpoint of this net in the data folder."""
    folder = data_folder(choice)
    found = [path for path in sorted((folder / "models").glob(f"{name}*")) if path.suffix in (".safetensors", ".pth")]
    if not found:
        raise FileNotFoundError(
            f"there is no checkpoint {name}*.safetensors or .pth in {folder / 'models'}: give one as `weights`."
        )
    return found[0]


def data_folder(choice: ExperimentOptions) -> Path:
    """Where the data lies, or one sentence on how to say so."""
    if choice.data is None:
        raise ValueError("this needs data: say where it lies by `data`, or by the variable SAMP_DATA.")
    if not choice.data.is_dir():
        raise FileNotFoundError(f"there is no folder {choice.data}: give the folder of the data as `data`.")
    return choice.data


def models_folder(choice: ExperimentOptions) -> Path:
    """Where trained nets are kept."""
    if choice.models is None:
        raise ValueError("a net has to be trained: say where to keep it by `models`.")
    choice.models.mkdir(parents=True, exist_ok=True)
    return choice.models
