"""Small problems: nets, inputs and what is asked of them.

Weights and inputs come from a hash of whole numbers, not from a random generator, so they are the same in every
version of torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import samp


@dataclass(frozen=True, eq=False)
class Problem:
    """A model, its inputs, and further arguments of `samp.explain`."""

    model: Any
    inputs: Any
    settings: Mapping[str, Any] = field(default_factory=dict)


def scatter(*shape: int, salt: int = 0) -> Tensor:
    """Return float32 values spread evenly over 0 … 1, multiples of 1/65536, without any order."""
    number = torch.arange(torch.Size(shape).numel()) + 7919 * (salt + 1)
    for factor in (40503, 30011):
        number = (number * factor + (number >> 7) + 12345) % 1048573
    return (number % 65536).float().div(65536).reshape(shape)


def image(batch: int, channels: int, side: int, salt: int = 0) -> Tensor:
    """Return images in −1 … 1: some blocks of 4 pixels a side, with finer values on them."""
    coarse = scatter(batch, channels, -(-side // 4), -(-side // 4), salt=salt)
    blocks = coarse.repeat_interleave(4, 2).repeat_interleave(4, 3)[..., :side, :side]
    return blocks * 1.25 + scatter(batch, channels, side, side, salt=salt + 50) * 0.75 - 1


def fill(net: nn.Module, salt: int = 0) -> nn.Module:
    """Return the net in evaluation mode, its weights and buffers set."""
    with torch.no_grad():
        for number, (name, value) in enumerate(net.state_dict().items()):
            if not value.is_floating_point():
                continue
            noise = scatter(*value.shape, salt=100 * salt + number + 1)
            if name.endswith("running_var"):
                value.copy_(noise + 0.5)
            elif value.ndim < 2:
                value.copy_((noise - 0.5) / 4 + (1.0 if "norm" in name and name.endswith("weight") else 0.0))
            else:
                spread = 2.0 ** round(-torch.tensor(value[0].numel()).log2().item() / 2 + 1.5)  # an exact factor
                value.copy_((noise - 0.5) * spread)
    return net.eval()


def conv(channels: int = 3, salt: int = 0, hidden: int = 6) -> nn.Module:
    layers = [nn.Conv2d(channels, hidden, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(hidden, 8, 3, padding=1), nn.ReLU()]
    return fill(nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)), salt)


class Residual(nn.Module):
    """Activations by function calls, batch norm, one module used twice, a residual sum."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 6, 3, stride=2), nn.BatchNorm2d(6)
        self.again, self.last = nn.Conv2d(6, 6, 3, padding=1), nn.Linear(6, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.norm(self.first(x)))
        x = F.relu(self.again(x)) + x
        x = torch.relu(self.again(x))
        return self.last(x.mean((2, 3)))


class Attention(nn.Module):
    """Patches as tokens, one block of attention, GELU."""

    def __init__(self) -> None:
        super().__init__()
        self.patches, self.norm = nn.Conv2d(3, 8, 4, 4), nn.LayerNorm(8)
        self.attention, self.last = nn.MultiheadAttention(8, 2, batch_first=True), nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.patches(x).flatten(2).transpose(1, 2)
        normed = self.norm(tokens)
        tokens = tokens + self.attention(normed, normed, normed, need_weights=False)[0]
        return self.last(F.gelu(tokens).mean(1))


class Joint(nn.Module):
    """An image and a vector."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.image, self.vector, self.last = (
            nn.Conv2d(2, 4, 3),
            nn.Linear(4, 5),
            nn.Linear(6, 5),
            nn.Linear(5, 3),
        )

    def forward(self, x: Tensor, v: Tensor) -> Tensor:
        seen = self.image(torch.relu(self.conv(x)).mean((2, 3)))
        return self.last(torch.tanh(seen) * torch.relu(self.vector(v)) + seen)


class Scaled(nn.Module):
    """Takes a factor for each sample and a table that all samples share."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(8, 12), nn.Linear(12, 3)

    def forward(self, x: Tensor, factor: Tensor, table: Tensor) -> Tensor:
        return self.last(torch.relu(self.first(x + table)) * factor[:, None])


def mlp(features: int, classes: int = 3, salt: int = 5) -> nn.Module:
    return fill(
        nn.Sequential(nn.Linear(features, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, classes)), salt
    )


def segmenter() -> nn.Module:
    return fill(nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 3, 3, padding=1)), 7)


def tokens() -> nn.Module:
    return fill(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Flatten(), nn.Linear(48, 3)), 8)


def _superpixels(side: int) -> Tensor:
    row, column = torch.arange(side)[:, None], torch.arange(side)
    return (row // 3) * 3 + (column + row) * 3 // (2 * side)  # slanted pieces of several sizes


def _own_columns() -> Tensor:
    """Groups of each sample's own, of different numbers."""
    return torch.stack([torch.arange(6) // 2, torch.arange(6), torch.arange(6) // 3])[:, :, None]


def _margin(output: Tensor) -> Tensor:
    return output[:, 1] - output.logsumexp(1)


def _weighed(output: Tensor, samples: Tensor) -> Tensor:
    return output[:, 2] * (1 + samples.to(output.dtype)) + output[:, 0] ** 2


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "conv": lambda: Problem(conv(), image(2, 3, 12)),
    "conv-one": lambda: Problem(conv(), image(1, 3, 12, 1), {"target": 1}),
    "conv-five": lambda: Problem(conv(), image(5, 3, 10, 2), {"target": [0, 1, 2, 3, 1]}),
    "conv-40": lambda: Problem(conv(3, 2, 4), image(1, 3, 40, 3), {"target": torch.tensor([2])}),
    "grey": lambda: Problem(conv(1, 3), image(2, 1, 9, 4), {"target": 0}),
    "residual": lambda: Problem(fill(Residual(), 1), image(2, 3, 11, 5), {"target": 3}),
    "attention": lambda: Problem(fill(Attention(), 4), image(2, 3, 12, 6), {"target": 1}),
    "tabular": lambda: Problem(mlp(10), scatter(3, 10, salt=7) * 2 - 1, {"target": 1}),
    "tokens": lambda: Problem(tokens(), scatter(3, 6, 4, salt=8) - 0.5, {"target": 2, "groups": _own_columns()}),
    "two inputs": lambda: Problem(fill(Joint(), 6), (image(2, 2, 6, 9), scatter(2, 6, salt=9)), {"target": 2}),
    "arguments": lambda: Problem(
        fill(Scaled(), 9),
        scatter(3, 8, salt=10),
        {"target": 0, "forward_args": (samp.PerSample([1.0, 2.0, 0.5]), samp.ForAll(scatter(8, salt=11)))},
    ),
    "segmentation": lambda: Problem(segmenter(), image(2, 3, 8, 12), {"target": (1, 3, 4)}),
    "float64": lambda: Problem(conv().double(), image(2, 3, 12).double(), {"target": 2}),
    "float16": lambda: Problem(conv().half(), image(2, 3, 12).half(), {"target": 2}),
    "bfloat16": lambda: Problem(conv().bfloat16(), image(2, 3, 12).bfloat16(), {"target": 2}),
    "channels last": lambda: Problem(
        conv().to(memory_format=torch.channels_last),
        image(2, 3, 12).contiguous(memory_format=torch.channels_last),
        {"target": 2},
    ),
    "superpixels": lambda: Problem(conv(), image(2, 3, 12, 13), {"target": 3, "groups": _superpixels(12)}),
    "patches": lambda: Problem(conv(), image(2, 3, 12, 14), {"target": 3, "groups": samp.Patches(4)}),
    "elements": lambda: Problem(conv(), image(2, 3, 8, 15), {"target": 0, "groups": samp.Elements()}),
    "callable": lambda: Problem(conv(), image(2, 3, 10, 16), {"target": _margin}),
    "callable by sample": lambda: Problem(mlp(7), scatter(4, 7, salt=17), {"target": _weighed}),
}


@cache
def problem(name: str) -> Problem:
    """Return the problem of this name, made once."""
    return PROBLEMS[name]()
