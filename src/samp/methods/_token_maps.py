"""How the output of a layer becomes b c h w feature maps: as it is, with its channels moved, or from tokens.

A transformer's tokens (b n c) are the patches of the image, row by row, and others: class, distillation and register
tokens. Which is which is measured where it can be: at the first layer with these tokens, before they are mixed, the
others do not depend on the image, and a patch of the image changes the token of that patch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from samp.checks import check_counts

ASPECT_TOLERANCE = 1.5  # height over width of a map may differ from the image's by this factor: small maps are rounded
Size = tuple[int, int]


def check_grid(grid: object) -> None:
    """Raise ValueError unless this is None or two positive counts.

    >>> check_grid((14, 14))
    """
    if grid is None:
        return
    if not isinstance(grid, tuple) or len(grid) != 2:
        raise ValueError(f"grid is rows and columns of patches, as (14, 14), not {grid!r}.")
    check_counts(rows=grid[0], columns=grid[1])


class Layout(Protocol):
    """Where channels and positions are in a layer's output."""

    def to_maps(self, output: Tensor) -> Tensor:
        """Return the output as b c h w."""
        ...

    def others(self, output: Tensor) -> Tensor:
        """Return what of the output is at no position (b k c)."""
        ...


@dataclass(frozen=True)
class FeatureMaps:
    """An output of four axes with its channels at this axis.

    >>> FeatureMaps(3).to_maps(torch.zeros(1, 7, 7, 32)).shape
    torch.Size([1, 32, 7, 7])
    """

    channels: int = 1

    def to_maps(self, output: Tensor) -> Tensor:
        return output.movedim(self.channels, 1)

    def others(self, output: Tensor) -> Tensor:
        return output.new_zeros(len(output), 0, output.shape[self.channels])


CHANNELS_FIRST = FeatureMaps()


@dataclass(frozen=True)
class TokenGrid:
    """Tokens (b n c): patches row by row in a grid, without those at `skipped`.

    >>> TokenGrid((2, 3), skipped=(0,)).to_maps(torch.arange(7.0).view(1, 7, 1)).tolist()
    [[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]]
    """

    grid: Size
    skipped: tuple[int, ...] = ()

    def to_maps(self, output: Tensor) -> Tensor:
        patches = output[:, [place for place in range(output.shape[1]) if place not in self.skipped]]
        return patches.transpose(1, 2).reshape(len(output), output.shape[2], *self.grid)

    def others(self, output: Tensor) -> Tensor:
        return output[:, list(self.skipped)]


@dataclass(frozen=True, eq=False)
class TokenProbe:
    """What a problem tells of tokens: the image, the tokens before they are mixed, and the maps seen before those."""

    image: Tensor  # 1 c h w
    first_tokens: Callable[[Tensor], Tensor]
    """The first n tokens (n c) that the net makes of an image."""
    maps: frozenset[Size]
    """Height and width of the net's b c h w maps."""

    def find_grid(self, count: int, given: Size | None) -> TokenGrid:
        """Return where so many tokens lie in the image, in the grid that is given or the one that fits.

        Raises ValueError if no grid fits, or if the tokens do not lie in it row by row.
        """
        kept = self.find_image_tokens()
        if given is not None:
            return _fit_given(given, count, kept)
        grid = _best_grid(len(kept), self._image_size)
        if grid is None:
            raise ValueError(f"{count} tokens, {len(kept)} of them of the image, make no grid of its proportions")
        layout = TokenGrid(grid, tuple(place for place in range(count) if place not in kept))
        if min(grid) > 1:
            self._check_places(grid, kept)
        return layout

    def find_image_tokens(self) -> list[int]:
        """Return the places of the tokens that depend on the image."""
        return (self._change(self._disturb(*self.image.shape[2:])) > 0).nonzero().flatten().tolist()

    @property
    def _image_size(self) -> Size:
        return int(self.image.shape[2]), int(self.image.shape[3])

    def _check_places(self, grid: Size, kept: list[int]) -> None:
        """Raise ValueError unless the upper right corner of the image is where row-by-row patches have it.

        Where all tokens depend on it, they have been mixed before: then the grid must be that of an earlier map,
        perhaps halved some times, as hierarchical transformers do it.
        """
        height, width = (math.ceil(side / patches) for side, patches in zip(self._image_size, grid, strict=True))
        change = self._change(self._disturb(height, width))[kept]
        if int((change > 0).sum()) <= len(kept) / 2:
            if int(change.argmax()) != grid[1] - 1:
                raise ValueError(f"{len(kept)} tokens do not lie in {grid[0]} rows of {grid[1]} patches")
        elif grid not in _halvings(self.maps):
            raise ValueError(f"{len(kept)} tokens need not lie in {grid[0]} rows of {grid[1]} patches")

    def _disturb(self, height: int, width: int) -> Tensor:
        """Return the image with other values in so many pixels of its upper right corner."""
        noise = torch.randn(self.image.shape, generator=torch.Generator().manual_seed(0)).to(self.image)
        spread = self.image.std() if bool(self.image.std() > 0) else torch.ones_like(self.image.sum())
        image = self.image.clone()
        image[:, :, :height, -width:] += (noise * spread)[:, :, :height, -width:]
        return image

    def _change(self, image: Tensor) -> Tensor:
        """Return by how much each token differs for another image (n); 0 within rounding."""
        here, there = self.first_tokens(self.image), self.first_tokens(image)
        change = (here - there).abs().amax(1)
        return torch.where(change <= 1e-6 * here.abs().max(), 0, change)


def _fit_given(given: Size, count: int, kept: list[int]) -> TokenGrid:
    """Return the layout of a grid that the caller gave; raise ValueError if there are too few tokens for it."""
    patches = given[0] * given[1]
    if patches > count:
        raise ValueError(f"a grid of {given[0]} × {given[1]} has {patches} patches, but there are {count} tokens")
    if patches != len(kept):  # mixed before they could be told apart: others come first, as in nearly all nets
        kept = list(range(count - patches, count))
    return TokenGrid(given, tuple(place for place in range(count) if place not in kept))


def _best_grid(count: int, image: Size) -> Size | None:
    """Return rows and columns of so many patches whose proportions are the nearest to square; None if none is near.

    >>> _best_grid(88, (112, 154)), _best_grid(197, (224, 224))
    ((8, 11), None)
    """
    grids = [(rows, count // rows) for rows in range(1, count + 1) if count % rows == 0]
    stretch = {grid: abs(math.log(image[0] / grid[0] / (image[1] / grid[1]))) for grid in grids}
    best = min(grids, key=stretch.__getitem__, default=None)
    return best if best is not None and count > 1 and stretch[best] <= math.log(ASPECT_TOLERANCE) else None


def _halvings(sizes: Iterable[Size]) -> set[Size]:
    """Return these sizes and what is left of them after halving them, rounded up, again and again."""
    found = set(sizes)
    for height, width in sizes:
        while (height, width) != (1, 1):
            height, width = math.ceil(height / 2), math.ceil(width / 2)
            found.add((height, width))
    return found
