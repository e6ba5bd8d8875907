"""Small nets of every build that propagation methods have been seen to get wrong, in float64."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

CLASSES = 4
SHAPE = (3, 8, 8)


def images(samples: int = 3, seed: int = 0) -> Tensor:
    """Like normalised photos: both signs."""
    return torch.randn(samples, *SHAPE, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


class Reused(nn.Module):
    """One ReLU module at two places."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.head = nn.Conv2d(3, 6, 3), nn.Conv2d(6, 5, 3), nn.Linear(80, CLASSES)
        self.relu = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.relu(self.b(self.relu(self.a(x)))).flatten(1))
        return out


class Functional(Reused):
    """ReLUs as functions, methods, in place and as clamps, in turn."""

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.a(x), inplace=True)
        x = self.b(x).clamp(min=0)
        x = x.relu_() + torch.relu(x) - x.relu()
        out: Tensor = self.head(torch.flatten(x, 1))
        return out


class Residual(nn.Module):
    """A shortcut, an in-place sum, a concatenation, and an average at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.a, self.b = nn.Conv2d(3, 6, 3), nn.Conv2d(6, 6, 3, padding=1), nn.Conv2d(6, 6, 1)
        self.norm, self.head = nn.BatchNorm2d(6), nn.Linear(12, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.stem(x))
        y = self.norm(self.a(x))
        y += x
        y = torch.cat([F.relu(y), F.relu(self.b(x) + y)], 1)
        out: Tensor = self.head(y.mean((2, 3)))
        return out


class Transformer(nn.Module):
    """Patches as tokens through torch's own encoder layer."""

    def __init__(self, activation: Callable[[Tensor], Tensor] = F.gelu) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 8, 4, 4)
        self.block = nn.TransformerEncoderLayer(8, 2, 16, activation=activation, batch_first=True, norm_first=True)
        self.head = nn.Linear(8, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.patches(x).flatten(2).transpose(1, 2)
        out: Tensor = self.head(self.block(tokens).mean(1))
        return out


def paper_cnn() -> nn.Module:
    """The paper's five-layer CNN for CIFAR-10 (its Table 5), slim, untrained, with scores of order 1."""
    cnn = nn.Sequential(
        *(nn.Conv2d(3, 4, 5), nn.ReLU(), nn.Conv2d(4, 8, 2, 2)),
        *(nn.Conv2d(8, 32, 4), nn.ReLU(), nn.Conv2d(32, 48, 2, 2)),
        *(nn.Conv2d(48, 64, 3), nn.ReLU(), nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(64, 10)),
    )
    for module in cnn:
        if isinstance(module, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(module.weight)
    return cnn.eval()


def _convolutions(activation: Callable[[], nn.Module]) -> nn.Module:
    return nn.Sequential(
        *(nn.Conv2d(3, 6, 3), activation(), nn.Conv2d(6, 5, 3), activation()),
        *(nn.Flatten(), nn.Linear(80, CLASSES)),
    )


BUILDS: dict[str, Callable[[], nn.Module]] = {
    "modules": lambda: _convolutions(nn.ReLU),
    "in place": lambda: _convolutions(lambda: nn.ReLU(inplace=True)),
    "relu6": lambda: _convolutions(lambda: nn.ReLU6(inplace=True)),
    "reused": Reused,
    "functional": Functional,
    "no relu": lambda: _convolutions(nn.Identity),
    "tanh": lambda: _convolutions(nn.Tanh),
    "gelu": lambda: _convolutions(nn.GELU),
    "silu": lambda: _convolutions(lambda: nn.SiLU(inplace=True)),
    "sigmoid": lambda: _convolutions(nn.Sigmoid),
    "norm first": lambda: nn.Sequential(nn.BatchNorm2d(3), _convolutions(nn.ReLU)),
    "norm after relu": lambda: nn.Sequential(
        *(nn.Conv2d(3, 6, 3), nn.ReLU(), nn.BatchNorm2d(6), nn.Flatten(), nn.BatchNorm1d(216), nn.Linear(216, CLASSES)),
    ),
    "overlapping pools": lambda: nn.Sequential(
        *(nn.Conv2d(3, 6, 3), nn.ReLU(), nn.MaxPool2d(3, 1, padding=1), nn.MaxPool2d(3, 2, ceil_mode=True)),
        *(nn.ZeroPad2d(1), nn.AvgPool2d(2), nn.Flatten(), nn.Dropout(), nn.Linear(24, CLASSES)),
    ),
    "residual": Residual,
    "transformer": Transformer,
}


def net(build: str, bias: bool = True) -> nn.Module:
    """A net with weights and running statistics of its own, ready to explain."""
    with torch.random.fork_rng([]):
        torch.manual_seed(len(build))
        made = BUILDS[build]()
        for module in made.modules():
            if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
                nn.init.normal_(module.running_mean, std=0.3)
                nn.init.uniform_(module.running_var, 0.5, 2)
                nn.init.normal_(module.weight)
                nn.init.normal_(module.bias)
        for name, parameter in made.named_parameters():
            if not bias and name.endswith("bias"):
                nn.init.zeros_(parameter)
    return made.double().eval()
