"""Training the paper's own nets and linear heads: recipes as data, weights cached under the recipe's key."""

from __future__ import annotations

from samp_lab.training.batches import Arrays
from samp_lab.training.cache import (
    arrays_of,
    cache_file,
    classifier_of,
    get_recipe,
    load_or_make,
    load_or_train,
    train_and_save,
    weights_of,
)
from samp_lab.training.fine_tuning import fine_tune, replace_head
from samp_lab.training.head_recipes import HEAD_RECIPES, HeadRecipe
from samp_lab.training.loop import accuracy, train
from samp_lab.training.mosaic_arrays import mosaic_arrays, mosaics
from samp_lab.training.outcome import TrainingResult, read, save
from samp_lab.training.recipes import RECIPES, Head, Recipe

__all__ = [
    "HEAD_RECIPES",
    "RECIPES",
    "Arrays",
    "Head",
    "HeadRecipe",
    "Recipe",
    "TrainingResult",
    "accuracy",
    "arrays_of",
    "cache_file",
    "classifier_of",
    "fine_tune",
    "get_recipe",
    "load_or_make",
    "load_or_train",
    "mosaic_arrays",
    "mosaics",
    "read",
    "replace_head",
    "save",
    "train",
    "train_and_save",
    "weights_of",
]
