"""The five-layer CNNs of Table 5, and slim versions with few channels for demos and tests.

What the table leaves out (docs/paper.md#five-layer) is fixed here: no padding, 32 channels in CIFAR-10's first layer,
and a linear layer to the classes after the pool. The nets of the authors' benchmark (docs/paper.md#two-readings) have
padding and 24 channels there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

SMALLEST = 22  # pixels a side: with fewer, conv5's input is smaller than its 3×3 kernel
BEFORE_RELU = ("conv1", "conv3", "conv5")


@dataclass(frozen=True)
class FiveLayer:
    """Channels of the input, of the five convolutions, the number of classes, and the padding of the odd convolutions.

    Raises ValueError unless all are positive; the padding may be 0.

    >>> sum(p.numel() for p in FiveLayerCNN(MNIST_SLIM).parameters())
    92362
    """

    channels: int
    widths: tuple[int, int, int, int, int]
    classes: int = 10
    padding: int = 0
    """Zeros around the input of the first, third and fifth convolution."""

    def __post_init__(self) -> None:
        if len(self.widths) != 5 or min(self.channels, self.classes, *self.widths) < 1:
            raise ValueError(
                f"a five-layer CNN has five widths, and no layer without channels, not {self.channels} -> "
                f"{self.widths} -> {self.classes}: give five numbers from 1 up."
            )
        if not 0 <= self.padding <= 1:
            raise ValueError(f"the padding of a five-layer CNN is 0 or 1, not {self.padding}.")


MNIST = FiveLayer(1, (8, 24, 288, 864, 2592))
CIFAR10 = FiveLayer(3, (32, 64, 512, 1536, 4608))
MNIST_SLIM = FiveLayer(1, (8, 16, 32, 64, 128))
CIFAR10_SLIM = FiveLayer(3, (16, 32, 64, 128, 256))
MNIST_AUTHORS = replace(MNIST, padding=1)
CIFAR10_AUTHORS = FiveLayer(3, (24, 64, 512, 1536, 4608), padding=1)
MNIST_SLIM_AUTHORS = replace(MNIST_SLIM, padding=1)
CIFAR10_SLIM_AUTHORS = replace(CIFAR10_SLIM, padding=1)


class FiveLayerCNN(nn.Module):
    """Table 5: logits of the classes, from b c h w pixels of 22 pixels a side or more.

    Its weights are random until some are loaded. The pool takes each feature's largest value at any position, so that
    the same net reads 28×28 digits and 56×56 mosaics of them. Raises ValueError for smaller inputs.

    >>> FiveLayerCNN(CIFAR10_SLIM)(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 10])
    """

    def __init__(self, spec: FiveLayer) -> None:
        super().__init__()
        one, two, three, four, five = spec.widths
        around = spec.padding
        self.features = nn.Sequential()
        self.features.add_module("conv1", nn.Conv2d(spec.channels, one, 5, padding=around))
        self.features.add_module("relu1", nn.ReLU())
        self.features.add_module("conv2", nn.Conv2d(one, two, 2, stride=2))
        self.features.add_module("conv3", nn.Conv2d(two, three, 4, padding=around))
        self.features.add_module("relu3", nn.ReLU())
        self.features.add_module("conv4", nn.Conv2d(three, four, 2, stride=2))
        self.features.add_module("conv5", nn.Conv2d(four, five, 3, padding=around))
        self.features.add_module("relu5", nn.ReLU())
        self.pool, self.flatten = nn.AdaptiveMaxPool2d(1), nn.Flatten()
        self.classifier = nn.Linear(five, spec.classes)

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim != 4 or min(x.shape[2:]) < SMALLEST:
            raise ValueError(
                f"the input has shape {tuple(x.shape)} but a five-layer CNN takes b c h w of at least "
                f"{SMALLEST}×{SMALLEST} pixels: enlarge the images."
            )
        logits: Tensor = self.classifier(self.flatten(self.pool(self.features(x))))
        return logits


def initialise_net(spec: FiveLayer, generator: torch.Generator) -> FiveLayerCNN:
    """Return a net on the CPU with He's weights (variance 2/fan-in before a ReLU, else 1/fan-in) and biases of zero.

    There is no batch norm in Table 5, so the weights must keep the variance. The last layer starts ten times smaller,
    so that the first loss is about log(classes) for any width. All numbers are drawn from the generator.

    >>> net = initialise_net(MNIST_SLIM, torch.Generator().manual_seed(0))
    >>> round(float(net.features.conv5.weight.detach().std()) * (64 * 9 / 2) ** 0.5, 1)
    1.0
    """
    with torch.device("meta"):  # torch's own draws would be thrown away, and move the process's generator
        net = FiveLayerCNN(spec)
    net.to_empty(device="cpu")
    for name, layer in net.named_modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            gain = 2 if name.endswith(BEFORE_RELU) else 0.01 if isinstance(layer, nn.Linear) else 1
            fan_in = layer.weight[0].numel()
            nn.init.normal_(layer.weight, std=math.sqrt(gain / fan_in), generator=generator)
            nn.init.constant_(layer.bias, 0)  # type: ignore[arg-type]  # every layer here has one
    return net
