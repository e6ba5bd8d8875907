"""Images on the device as bytes, and random batches of them, shifted and mirrored there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from samp_lab.training.recipes import Recipe

MOST_SHIFT = 4  # pixels


@dataclass(frozen=True, eq=False)
class Arrays:
    """A data set: images n h w or n h w c as bytes, labels n (a class each) or n classes (0 or 1 for each).

    >>> grey, label = np.zeros((3, 28, 28), np.uint8), np.zeros(3, np.int64)
    >>> Arrays(grey, label, grey[:1], label[:1]).size
    (3, 1)
    """

    images: NDArray[np.uint8]
    labels: NDArray[np.int64]
    test_images: NDArray[np.uint8]
    test_labels: NDArray[np.int64]

    def __post_init__(self) -> None:
        for images, labels in ((self.images, self.labels), (self.test_images, self.test_labels)):
            if images.dtype != np.uint8 or images.ndim not in (3, 4):
                raise TypeError(f"images are n h w or n h w c of uint8, not {images.dtype} of shape {images.shape}.")
            if len(images) != len(labels) or len(images) == 0:
                raise ValueError(f"there are {len(images)} images but {len(labels)} labels: give one label an image.")

    @property
    def size(self) -> tuple[int, int]:
        """Number of images to train on and to test on."""
        return len(self.images), len(self.test_images)

    @property
    def channels(self) -> int:
        return 1 if self.images.ndim == 3 else self.images.shape[3]

    def first(self, count: int) -> Arrays:
        """Return the same with the first `count` training images; raise ValueError if there are fewer."""
        if len(self.images) < count:
            raise ValueError(
                f"the recipe takes {count:,} training images but there are {len(self.images):,}: "
                "get the whole data set, or use a recipe for fewer."
            )
        return Arrays(self.images[:count], self.labels[:count], self.test_images, self.test_labels)


def bytes_on_device(images: NDArray[np.uint8], device: torch.device) -> Tensor:
    """Return the images as bytes n c h w on the device.

    >>> bytes_on_device(np.zeros((2, 32, 28, 3), np.uint8), torch.device("cpu")).shape
    torch.Size([2, 3, 32, 28])
    """
    tensor = torch.from_numpy(np.array(images)).to(device)  # a copy, as files may be mapped read-only
    return tensor[:, None] if tensor.ndim == 3 else tensor.permute(0, 3, 1, 2).contiguous()


def pixels(images: Tensor, centred: bool = False) -> Tensor:
    """Return bytes as float32 in [0, 1], or `centred` in [−1, 1]: the input of the nets.

    >>> pixels(torch.tensor([0, 255], dtype=torch.uint8)), pixels(torch.tensor([0, 255], dtype=torch.uint8), True)
    (tensor([0., 1.]), tensor([-1.,  1.]))
    """
    unit = images.float() / 255
    return (unit - 0.5) / 0.5 if centred else unit


def batches(
    images: Tensor, labels: Tensor, recipe: Recipe, generator: torch.Generator
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield one epoch: every image once, shuffled and augmented by the generator, in batches of the same size.

    Images left over after whole batches are dropped until the next epoch, which has another order. The generator is on
    the CPU, so that the draws are the same on every device.

    >>> from samp_lab.training import RECIPES
    >>> images, labels = torch.zeros(300, 1, 28, 28, dtype=torch.uint8), torch.zeros(300)
    >>> [len(x) for x, _ in batches(images, labels, RECIPES["mnist-slim"], torch.Generator())]
    [128, 128]
    """
    count, batch = len(images), min(recipe.batch, len(images))
    order = torch.randperm(count, generator=generator).to(images.device)
    for start in range(0, count - batch + 1, batch):
        chosen = order[start : start + batch]
        picked = images[chosen]
        if recipe.augmentation != "none":
            picked = shift_and_flip(picked, generator)
        yield pixels(picked, recipe.centred), labels[chosen]


def shift_and_flip(images: Tensor, generator: torch.Generator) -> Tensor:
    """Return each image shifted by up to 4 pixels, filled by reflection, and mirrored with probability 1/2.

    >>> images = torch.arange(64, dtype=torch.uint8).view(1, 1, 8, 8)
    >>> moved = shift_and_flip(images, torch.Generator().manual_seed(0))
    >>> moved.shape, moved.dtype
    (torch.Size([1, 1, 8, 8]), torch.uint8)
    """
    count, _, height, width = images.shape
    down, right = torch.randint(-MOST_SHIFT, MOST_SHIFT + 1, (2, count, 1), generator=generator)
    flip = torch.rand(count, 1, generator=generator) < 0.5
    rows = _reflect(torch.arange(height) + down, height)  # b h
    columns = _reflect(torch.arange(width) + right, width)  # b w
    columns = torch.where(flip, columns.flip(1), columns)
    rows, columns = rows.to(images.device), columns.to(images.device)
    row = torch.arange(count, device=images.device)[:, None, None]
    # b h w c, as the chosen axes come first
    return images[row, :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


def _reflect(positions: Tensor, length: int) -> Tensor:
    """Return positions with those outside 0 … length−1 reflected at the ends."""
    return (length - 1) - ((length - 1) - positions.abs()).abs()
