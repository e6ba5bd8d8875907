"""The blue-pixel counter of Fig. counting: a net whose right explanation is known (docs/paper.md#counting)."""

from __future__ import annotations

from torch import Tensor, nn

from samp.models import Classifier

SIDE = 32
BLUE = (0, 0, 255)


class BlueCount(nn.Module):
    """A soft count of blue pixels: each adds b·(1 − r)·(1 − g), 1 for pure blue and 0 without blue.

    >>> import torch
    >>> pixels = torch.tensor([[0.0, 0, 1], [0, 0, 0], [1, 0, 0], [1, 1, 1], [0, 0, 0.5]])
    >>> BlueCount()(pixels.T.view(1, 3, 1, 5)).item()
    1.5
    """

    def forward(self, x: Tensor) -> Tensor:
        """b 3 h w in [0, 1] -> b 1."""
        red, green, blue = x.unbind(1)
        return (blue * (1 - red) * (1 - green)).flatten(1).sum(1, keepdim=True)


def blue_counter() -> Classifier:
    """Return the counter as a classifier that takes plain pixels.

    >>> blue_counter().label(0)
    'blue pixels'
    """
    return Classifier(BlueCount().eval(), "blue-pixel counter", SIDE, 0.0, 1.0, ("blue pixels",), margin=None)
