"""Small image classifiers of transformers, by the name of their family, with weights of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch

CLASSES = 4
NAMES = {0: "cup", 1: "cat", 2: "dog", 3: "tree"}
_SMALL = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 32}
_ViT = {**_SMALL, "image_size": 32, "patch_size": 8, "hidden_dropout_prob": 0.0}
_STAGES = {"hidden_sizes": [8, 16], "depths": [1, 1]}
# family: the class of the net, and its config
FAMILIES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "vit": ("ViTForImageClassification", _ViT),
    "deit": ("DeiTForImageClassification", _ViT),
    "deit with teacher": ("DeiTForImageClassificationWithTeacher", _ViT),
    "dinov2": ("Dinov2ForImageClassification", {**_SMALL, "image_size": 32, "patch_size": 8}),
    "dinov2 with registers": (
        "Dinov2WithRegistersForImageClassification",
        {**_SMALL, "image_size": 32, "patch_size": 8, "num_register_tokens": 4},
    ),
    "beit": ("BeitForImageClassification", {**_ViT, "use_relative_position_bias": True, "use_mean_pooling": True}),
    "swin": (
        "SwinForImageClassification",
        {"image_size": 32, "patch_size": 2, "embed_dim": 12, "depths": [2, 2], "num_heads": [2, 3], "window_size": 4},
    ),
    "convnext": ("ConvNextForImageClassification", {**_STAGES, "num_stages": 2, "image_size": 32}),
    "resnet": ("ResNetForImageClassification", {**_STAGES, "embedding_size": 8, "layer_type": "basic"}),
}


def build(family: str, **changes: Any) -> Any:
    """A net of this family in evaluation mode and float64; skips the test without transformers."""
    transformers = pytest.importorskip("transformers", reason="needs transformers: pip install transformers")
    kind, settings = FAMILIES[family]
    config = getattr(transformers, f"{kind.partition('For')[0]}Config")(**{**settings, "id2label": NAMES, **changes})
    net = getattr(transformers, kind)(config)
    generator = torch.Generator().manual_seed(0)
    for parameter in net.parameters():
        parameter.data = parameter.data + torch.randn(parameter.shape, generator=generator) * 0.1
    return net.double().eval()


def photos(samples: int = 2, side: int = 32, width: int | None = None) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(samples, 3, side, width or side, generator=generator, dtype=torch.float64)
