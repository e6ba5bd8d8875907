"""The slim digit net that comes with samp was trained by the recipe of its name."""

from __future__ import annotations

from pathlib import Path

from samp import models
from samp_lab.training import RECIPES, read

SHIPPED = Path(models.__file__).parents[1] / "data" / "mnist_slim.safetensors"


def test_the_shipped_weights_say_how_they_were_made() -> None:
    made = read(SHIPPED, RECIPES["mnist-slim"])  # checks the recipe and the weights' hash
    assert made.test_images == 10_000
    assert made.test_accuracy >= 0.98
    assert made.classes == models.mnist_slim().classes
