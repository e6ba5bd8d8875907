"""ImageNet nets whose weights lie in the data folder, and which layout of ResNet-50 a file belongs to.

Keras' ResNet-50 and torchvision's have tensors of the same names and shapes, but the stride of a block is in another
convolution and the pixels have another scale: the wrong layout loads and predicts nonsense. So the weights decide.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from samp import models
from samp.models import Classifier
from samp.models.weights import read_weights

CHECKPOINTS = ("mobilenet_v2", "squeezenet1_1", "resnet50")
"""Nets that are read from DATA/models/NAME*, in the order of the names of files."""
SUFFIXES = (".safetensors", ".pth")
STATED_LAYOUTS = {"resnet50_v1": r"resnet50_(v1|fp16).*", "resnet50": r"resnet50-[0-9a-f]{8}\..*"}
"""File names that state a layout: what `samp bench download resnet50` writes, and torchvision's own."""
LARGEST_GAIN = 147 * 2.64**2
"""The largest variance of a 7×7×3 filter of length 1 on pixels with ImageNet's mean and standard deviation.

By Cauchy and Schwarz it is at most the filter's squared length times that of its input: 147 values, of which none is
beyond 2.64. Pixels from 0 to 255 have a variance some 3,000 times larger: Keras' weights reach 160,000.
"""


def load_checkpoint(name: str, path: Path, trust: bool = False) -> Classifier:
    """Return a net of `CHECKPOINTS` with the weights of this file, for ResNet-50 in the layout that they are for.

    Raises as `samp.models.load` and `find_resnet50_layout`.
    """
    layout = find_resnet50_layout(path, read_weights(path, trust)) if name == "resnet50" else name
    return models.load(layout, path, trust=trust)


def find_checkpoint(name: str, data: Path) -> Path:
    """Return the first checkpoint of this net in the data folder; raise FileNotFoundError if there is none.

    >>> find_checkpoint("resnet50", Path("nowhere"))
    Traceback (most recent call last):
    FileNotFoundError: there is no checkpoint resnet50*.safetensors or .pth in nowhere/models: put one there, give one
    as `weights`, or fetch one by `samp bench download resnet50`.
    """
    folder = data / "models"
    found = [path for path in sorted(folder.glob(f"{name}*")) if path.suffix in SUFFIXES]
    if not found:
        fetch = ", or fetch one by `samp bench download resnet50`" if name == "resnet50" else ""
        raise FileNotFoundError(
            f"there is no checkpoint {name}*.safetensors or .pth in {folder}: put one there, "
            f"{'' if fetch else 'or '}give one as `weights`{fetch}."
        )
    return found[0]


def find_resnet50_layout(path: Path, weights: Mapping[str, Tensor]) -> str:
    """Return which ResNet-50 of `samp.models` these weights are for: "resnet50_v1" is Keras', "resnet50" torchvision's.

    The first BatchNorm tells the scale of the pixels (`LARGEST_GAIN`). Raises ValueError if the file's name states the
    other layout (`STATED_LAYOUTS`).

    >>> import torch
    >>> small = {"conv1.weight": torch.full((1, 3, 7, 7), 147**-0.5), "bn1.running_var": torch.tensor([100.0])}
    >>> find_resnet50_layout(Path("resnet50.pth"), small)
    'resnet50'
    >>> find_resnet50_layout(Path("resnet50.pth"), {**small, "bn1.running_var": torch.tensor([1e5])})
    'resnet50_v1'
    """
    absent = [name for name in ("conv1.weight", "bn1.running_var") if name not in weights]
    if absent:
        raise ValueError(
            f"{path} has no {' and no '.join(absent)}: give a checkpoint of ResNet-50 with torchvision's names."
        )
    length = weights["conv1.weight"].float().square().sum((1, 2, 3))
    found = "resnet50_v1" if (weights["bn1.running_var"].float() > LARGEST_GAIN * length).any() else "resnet50"
    stated = next((layout for layout, names in STATED_LAYOUTS.items() if re.fullmatch(names, path.name)), found)
    if stated != found:
        kinds = {"resnet50_v1": "Keras' (pixels from 0 to 255)", "resnet50": "torchvision's (pixels of unit variance)"}
        raise ValueError(f"{path} is named as {kinds[stated]} but its weights are {kinds[found]}: rename it.")
    return found
