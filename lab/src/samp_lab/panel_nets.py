"""The nets of the panel, all of which take the same pixels: those with ImageNet's mean and standard deviation."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from samp.lookup import look_up
from samp.models import Classifier
from samp.models.classifier import IMAGENET
from samp_lab import nets
from samp_lab.nets.checkpoints import CHECKPOINTS
from samp_lab.setups import TRANSFORMER
from samp_lab.workspace import ExperimentOptions

NETS = (*CHECKPOINTS, "efficientnet_lite0", TRANSFORMER)
TRANSFER = ("mobilenet_v2", "squeezenet1_1", "efficientnet_lite0")
"""Nets that judge the maps of another: the first two of these that are not the net itself."""


class FromImageNetSpace(nn.Module):
    """A net that takes pixels with ImageNet's mean and standard deviation, and passes them on as its own net needs."""

    scale: Tensor
    shift: Tensor

    def __init__(self, classifier: Classifier) -> None:
        super().__init__()
        self.net = classifier.net
        mean, std = (torch.tensor(IMAGENET[name]).view(3, 1, 1) for name in ("mean", "std"))
        own_mean, own_std = (
            torch.tensor(value).view(-1, 1, 1).expand(3, 1, 1) for value in (classifier.mean, classifier.std)
        )
        self.register_buffer("scale", std / own_std)
        self.register_buffer("shift", (mean - own_mean) / own_std)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.net(x * self.scale + self.shift)
        return logits


def load_net(name: str, data: Path, device: str) -> FromImageNetSpace:
    """Return a net of `NETS` on the device, for pixels in ImageNet's space."""
    look_up(name, dict.fromkeys(NETS), "net")
    classifier = nets.load(name, ExperimentOptions(data=data, device=device))
    return FromImageNetSpace(classifier).to(device).eval().requires_grad_(False)
