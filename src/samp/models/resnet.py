"""ResNet-50 (He et al., 2016) with torchvision's names for its parameters, so that its checkpoints fit.

Its first version has the stride of a block in the first convolution. Keras' weights are for that one.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Bottleneck(nn.Module):
    """1×1, 3×3, 1×1 convolutions with a shortcut; the stride sits in the 3×3, as in torchvision.

    With `stride_first`, it sits in the first 1×1, as in the paper and in Keras.
    """

    def __init__(self, channels: int, width: int, stride: int, stride_first: bool = False) -> None:
        super().__init__()
        first, second = (stride, 1) if stride_first else (1, stride)
        self.conv1, self.bn1 = nn.Conv2d(channels, width, 1, first, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, second, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample: nn.Module | None = None
        if stride != 1 or channels != 4 * width:
            self.downsample = nn.Sequential(
                nn.Conv2d(channels, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width)
            )

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.bn2(self.conv2(x)))
        joined: Tensor = self.relu(self.bn3(self.conv3(x)) + shortcut)
        return joined


class ResNet50(nn.Module):
    """Stages of 3, 4, 6 and 3 blocks; logits of 1,000 classes. Weights are random until a checkpoint is loaded.

    >>> sum(p.numel() for p in ResNet50().parameters())
    25557032
    """

    def __init__(self, classes: int = 1000, stride_first: bool = False) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        channels = 64
        for number, (blocks, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512)), start=1):
            stage = nn.Sequential()
            for block in range(blocks):
                stride = 2 if block == 0 and number > 1 else 1
                stage.append(Bottleneck(channels, width, stride, stride_first))
                channels = 4 * width
            self.add_module(f"layer{number}", stage)
        self.fc = nn.Linear(channels, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        for number in range(1, 5):
            x = self.get_submodule(f"layer{number}")(x)
        logits: Tensor = self.fc(torch.flatten(x.mean((2, 3)), 1))
        return logits
