"""Training the paper's own nets: recipes as data, one loop, weights cached under the recipe's key."""

from __future__ import annotations

from samp_lab.training.batches import Arrays
from samp_lab.training.cache import (
    arrays_of,
    cache_file,
    classifier_of,
    kept,
    named,
    train_and_save,
    trained,
    weights_of,
)
from samp_lab.training.fine_tuning import fine_tune, with_head
from samp_lab.training.loop import accuracy, train
from samp_lab.training.mosaic_arrays import mosaic_arrays, mosaics
from samp_lab.training.outcome import Trained, read, save
from samp_lab.training.recipes import RECIPES, Head, Recipe

__all__ = [
    "RECIPES",
    "Arrays",
    "Head",
    "Recipe",
    "Trained",
    "accuracy",
    "arrays_of",
    "cache_file",
    "classifier_of",
    "fine_tune",
    "kept",
    "mosaic_arrays",
    "mosaics",
    "named",
    "read",
    "save",
    "train",
    "train_and_save",
    "trained",
    "weights_of",
    "with_head",
]
