"""MobileNetV2 (Sandler et al., 2018) with torchvision's names for its parameters, so that its checkpoints fit."""

from __future__ import annotations

from torch import Tensor, nn

# expansion, channels, blocks, stride of the first block
STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


class InvertedResidual(nn.Module):
    """Widen, filter each channel, narrow; with a shortcut where the shapes allow it."""

    def __init__(self, channels: int, out: int, stride: int, expansion: int) -> None:
        super().__init__()
        wide = channels * expansion
        widen = [_convolution(channels, wide, 1)] if expansion > 1 else []
        narrow = [nn.Conv2d(wide, out, 1, bias=False), nn.BatchNorm2d(out)]
        self.conv = nn.Sequential(*widen, _convolution(wide, wide, 3, stride, wide), *narrow)
        self.shortcut = stride == 1 and channels == out

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.conv(x)
        return x + out if self.shortcut else out


class MobileNetV2(nn.Module):
    """Logits of 1,000 classes. Weights are random until a checkpoint is loaded.

    >>> sum(p.numel() for p in MobileNetV2().parameters())
    3504872
    """

    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        self.features, channels = nn.Sequential(_convolution(3, 32, 3, 2)), 32
        for expansion, out, blocks, stride in STAGES:
            for block in range(blocks):
                self.features.append(InvertedResidual(channels, out, stride if block == 0 else 1, expansion))
                channels = out
        self.features.append(_convolution(channels, 1280, 1))
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280, classes))

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.classifier(self.features(x).mean((2, 3)))
        return logits


def _convolution(channels: int, out: int, kernel: int, stride: int = 1, groups: int = 1) -> nn.Sequential:
    convolution = nn.Conv2d(channels, out, kernel, stride, kernel // 2, groups=groups, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(out), nn.ReLU6(inplace=True))
