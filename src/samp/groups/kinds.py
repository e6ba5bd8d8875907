"""What a feature may be: a pixel, a single element, a k×k patch, a superpixel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral

import torch
from torch import Tensor

from samp.groups.layout import image_shape
from samp.groups.superpixels import Superpixels


@dataclass(frozen=True)
class Pixels:
    """Each pixel of a `b c h w` image is one feature: its channels move together.

    >>> Pixels().ids((3, 2, 2)).tolist()
    [[[0, 1], [2, 3]], [[0, 1], [2, 3]], [[0, 1], [2, 3]]]
    """

    def ids(self, shape: Sequence[int]) -> Tensor:
        channels, height, width = image_shape(shape, self)
        return torch.arange(height * width).view(1, height, width).expand(channels, height, width)


@dataclass(frozen=True)
class Elements:
    """Each number of the input is one feature.

    >>> Elements().ids((2, 2)).tolist()
    [[0, 1], [2, 3]]
    """

    def ids(self, shape: Sequence[int]) -> Tensor:
        return torch.arange(math.prod(shape)).view(*shape)


@dataclass(frozen=True)
class Patches:
    """Each `size`×`size` patch of a `b c h w` image is one feature; patches at the right and lower edge may be smaller.

    Maps are level within a patch: its credit is spread evenly over its pixels, as none of them moved by itself.

    >>> Patches(2).ids((1, 3, 4)).tolist()
    [[[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3]]]
    """

    size: int

    def __post_init__(self) -> None:
        if not (isinstance(self.size, Integral) and self.size >= 1):
            raise ValueError(f"the size of a patch is a whole number of at least 1, not {self.size!r}.")

    def ids(self, shape: Sequence[int]) -> Tensor:
        channels, height, width = image_shape(shape, self)
        rows, columns = torch.arange(height) // self.size, torch.arange(width) // self.size
        return (rows[:, None] * (int(columns[-1]) + 1) + columns).expand(channels, height, width)


@dataclass(frozen=True, eq=False)
class SuperpixelIds:
    """Superpixels once they are found: SLIC takes a while, so it looks at each image once."""

    kind: Superpixels
    mask: Tensor  # b c h w

    def __repr__(self) -> str:
        return repr(self.kind)


GroupKind = Pixels | Elements | Patches | Superpixels | SuperpixelIds
Groups = GroupKind | Tensor | Sequence[GroupKind | Tensor]
