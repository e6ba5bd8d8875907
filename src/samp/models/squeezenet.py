"""SqueezeNet 1.1 (Iandola et al., 2016) with torchvision's names for its parameters, so that its checkpoints fit."""

from __future__ import annotations

import torch
from torch import Tensor, nn

FIRE = (
    (64, 16, 64),
    (128, 16, 64),
    (128, 32, 128),
    (256, 32, 128),
    (256, 48, 192),
    (384, 48, 192),
    (384, 64, 256),
    (512, 64, 256),
)
POOLED_BEFORE = (0, 2, 4)


class Fire(nn.Module):
    """Squeeze to few channels, then expand by parallel 1×1 and 3×3 convolutions."""

    def __init__(self, channels: int, squeezed: int, expanded: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(channels, squeezed, 1)
        self.expand1x1 = nn.Conv2d(squeezed, expanded, 1)
        self.expand3x3 = nn.Conv2d(squeezed, expanded, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.squeeze(x).relu()
        return torch.cat([self.expand1x1(x).relu(), self.expand3x3(x).relu()], 1)


class SqueezeNet(nn.Module):
    """Logits of 1,000 classes. Weights are random until a checkpoint is loaded.

    >>> sum(p.numel() for p in SqueezeNet().parameters())
    1235496
    """

    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 64, 3, 2), nn.ReLU())
        for number, sizes in enumerate(FIRE):
            if number in POOLED_BEFORE:
                self.features.append(nn.MaxPool2d(3, 2, ceil_mode=True))
            self.features.append(Fire(*sizes))
        self.classifier = nn.Sequential(nn.Dropout(0.5), nn.Conv2d(512, classes, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1))

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.classifier(self.features(x)).flatten(1)
        return logits
