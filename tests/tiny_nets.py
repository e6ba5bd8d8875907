"""Nets small enough to explain in milliseconds, for `--model tiny_nets:NAME`."""

from __future__ import annotations

import time

import torch
from torch import Tensor, nn

from samp.models import Classifier

CLASSES = ("cup", "Siamese cat", "dog", "crane", "crane")


def classifier() -> Classifier:
    """A net that says itself how it is fed."""
    return Classifier(_linear(16, len(CLASSES)), "tiny", 16, 0.5, 0.5, CLASSES)


def any_size() -> nn.Module:
    """A net that takes any size and does not say how it is fed."""
    return nn.Sequential(nn.AdaptiveAvgPool2d(8), _linear(8, 4))


def only_32() -> nn.Module:
    """A net that takes 32 pixels and nothing else."""
    return _linear(32, 4)


def thousand() -> nn.Module:
    """A net of 1,000 outputs."""
    return nn.Sequential(nn.AdaptiveAvgPool2d(2), _linear(2, 1000))


def slow() -> Classifier:
    """A net that takes its time."""

    class Slow(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = _linear(16, 4)

        def forward(self, x: Tensor) -> Tensor:
            time.sleep(0.02)
            scores: Tensor = self.net(x)
            return scores

    return Classifier(Slow().eval(), "slow", 16, 0.5, 0.5, ())


def interrupted() -> Classifier:
    """A slow net, and a Ctrl-C at its first call, in a place where Python ignores it."""

    class Deaf:
        def __del__(self) -> None:
            raise KeyboardInterrupt

    given = slow()
    once = [Deaf()]
    given.net.register_forward_pre_hook(lambda net, inputs: once.clear())
    return given


def both_signs() -> nn.Module:
    """A net whose outputs have both signs."""
    layer = nn.Linear(4, 2, bias=False)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, 1.0, 1.0, 1.0], [-1.0, -1.0, -1.0, -1.0]]))
    return nn.Sequential(any_size(), layer)


def softmax() -> nn.Module:
    """A net that gives probabilities."""
    return nn.Sequential(both_signs(), nn.Softmax(1))


def sigmoid() -> nn.Module:
    """A net of several labels at once."""
    return nn.Sequential(any_size(), nn.Linear(4, 3), nn.Sigmoid())


def one_sigmoid() -> nn.Module:
    """A net of one output."""
    return nn.Sequential(any_size(), nn.Linear(4, 1), nn.Sigmoid())


class Among(nn.Module):
    """Scores among other outputs."""

    def __init__(self, pair: bool) -> None:
        super().__init__()
        self.net, self.pair = any_size(), pair

    def forward(self, x: Tensor) -> object:
        scores = self.net(x)
        return (scores, x) if self.pair else {"logits": scores, "features": x}


def in_a_dict() -> nn.Module:
    """A net that gives its scores by name."""
    return Among(pair=False)


def in_a_pair() -> nn.Module:
    """A net that gives its scores first."""
    return Among(pair=True)


def picture() -> Classifier:
    """A net that gives a picture."""
    return Classifier(nn.Identity().eval(), "picture", 16, 0.5, 0.5, ())


def hungry() -> Classifier:
    """A net for which there is never memory enough."""

    class Hungry(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate a lot")

    return Classifier(Hungry().eval(), "hungry", 16, 0.5, 0.5, ())


def not_a_net() -> str:
    return "a net"


def _linear(side: int, classes: int) -> nn.Module:
    layer = nn.Linear(3 * side * side, classes)
    with torch.no_grad():
        layer.weight.copy_(torch.randn(layer.weight.shape, generator=torch.Generator().manual_seed(0)) / side)
        layer.bias.zero_()
    return nn.Sequential(nn.Flatten(), layer, nn.Softplus()).eval()
