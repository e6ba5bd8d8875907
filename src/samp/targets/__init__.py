"""Targets: the score of each sample that is explained, computed from the model's output.

A target is a class number or a tuple index, a function `output -> b`, or one of the targets by name: `Class`, `Margin`,
`Segmentation`, `Detection`, `Similarity`, `Regression` and `Token` (docs/targets.md). Scores are used as the model
returns them (logits for the usual classifier): no soft-max is added unless a target says so (docs/paper.md#scores).
"""

from samp.targets.boxes import DETRBoxes, TorchvisionBoxes, YOLOBoxes, overlap
from samp.targets.classes import Class, Margin
from samp.targets.detection import Detection
from samp.targets.indices import ClassIndex
from samp.targets.objectives import (
    Model,
    Objective,
    TargetByName,
    TargetFromPrediction,
    TargetFunction,
    TargetIndex,
    TargetMargin,
    TargetProbability,
    is_plain,
    predict_classes,
)
from samp.targets.regression import Regression
from samp.targets.resolve import Target, explained_target, resolve_target
from samp.targets.segmentation import Segmentation
from samp.targets.similarity import Similarity
from samp.targets.tokens import Token

__all__ = [
    "Class",
    "ClassIndex",
    "DETRBoxes",
    "Detection",
    "Margin",
    "Model",
    "Objective",
    "Regression",
    "Segmentation",
    "Similarity",
    "Target",
    "TargetByName",
    "TargetFromPrediction",
    "TargetFunction",
    "TargetIndex",
    "TargetMargin",
    "TargetProbability",
    "Token",
    "TorchvisionBoxes",
    "YOLOBoxes",
    "explained_target",
    "is_plain",
    "overlap",
    "predict_classes",
    "resolve_target",
]
