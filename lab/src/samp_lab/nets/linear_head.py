"""A linear head of `samp_lab.training` and the trunk that it was fitted to, as one net."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from torch import nn

from samp import models
from samp.models import Classifier

if TYPE_CHECKING:
    from samp_lab.training import HeadRecipe, TrainingResult


def put_on_trunk(recipe: HeadRecipe, made: TrainingResult, checkpoint: Path) -> Classifier:
    """Return DINOv2's ViT-S/14 with the trained head, and the preprocessing that it was trained with.

    Raises as `samp.models.dinov2_vits14`.
    """
    weight, bias = (made.state[name].float() for name in ("weight", "bias"))
    head = nn.Linear(weight.shape[1], weight.shape[0])
    head.load_state_dict({"weight": weight, "bias": bias})
    classifier = models.dinov2_vits14(checkpoint, head, classes=made.classes)
    return replace(classifier, name=f"{classifier.name}, head for {recipe.data}", margin=recipe.margin)
