"""Groups bound to inputs: `pool` sums elements over groups, `spread` copies group values to their elements."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Channels:
    """Elements laid out as `channels` planes of `count` groups each: pixels, or single elements with one plane.

    Pooling is a sum over planes, not a scatter, so it is deterministic on a GPU too (ties decide paths).
    """

    channels: int
    count: int
    label: str

    @property
    def own_counts(self) -> list[int]:
        """The number of groups, as a list of one because all samples share them."""
        return [self.count]

    def share(self, parts: int) -> int:
        """Return the number of groups divided by `parts`, rounded up."""
        return math.ceil(self.count / parts)

    def pool(self, x: Tensor) -> Tensor:
        return x if self.channels == 1 else x.view(-1, self.channels, self.count).sum(1)  # r g

    def spread(self, x: Tensor) -> Tensor:
        return x if self.channels == 1 else x.repeat(1, self.channels)  # r n

    def where(self, chosen: Tensor, x: Tensor, y: Tensor, out: Tensor | None = None) -> Tensor:
        """Return elements (r n) of x in the chosen groups (r g) and of y elsewhere, without spreading the mask."""
        planes = (-1, self.channels, self.count)
        into = None if out is None else out.view(planes)
        return torch.where(chosen[:, None], x.view(planes), y.view(planes), out=into).view_as(x)

    def any(self, x: Tensor) -> Tensor:
        return x if self.channels == 1 else x.view(-1, self.channels, self.count).any(1)  # r g

    def select(self, samples: Tensor) -> Channels:
        return self

    def repeat(self, times: int) -> Channels:
        """Return these groups for the elements repeated `times` times; a group holds its elements of every copy."""
        return Channels(times * self.channels, self.count, self.label)


@dataclass(frozen=True)
class Segments:
    """Groups given by an integer per element (`ids`: 1 n if all samples share them, else r n).

    Elements are sorted by group once, so that each group is summed by one worker in a fixed order, on every device.
    """

    ids: Tensor  # 1 n or r n
    by_group: Tensor  # elements in the order of their groups, same shape
    sizes: Tensor  # 1 g or r g; 0 where no element has that number
    label: str

    @classmethod
    def of(cls, ids: Tensor, label: str) -> Segments:
        count = int(ids.max()) + 1
        sizes = torch.stack([torch.bincount(row, minlength=count) for row in ids])
        return cls(ids, ids.argsort(dim=1, stable=True), sizes, label)

    @property
    def count(self) -> int:
        return self.sizes.shape[1]

    @property
    def own_counts(self) -> list[int]:
        """The number of nonempty groups of each sample, or one number if all samples share them."""
        counts: list[int] = (self.sizes > 0).sum(1).tolist()
        return counts

    def share(self, parts: int) -> Tensor:
        """Return each row's number of nonempty groups divided by `parts`, rounded up (1 1 or r 1)."""
        groups = (self.sizes > 0).sum(1, keepdim=True)
        return (groups + parts - 1) // parts

    def pool(self, x: Tensor) -> Tensor:
        ordered = x.gather(1, self.by_group.expand(len(x), -1))
        return torch.segment_reduce(
            ordered, "sum", lengths=self.sizes.expand(len(x), -1).contiguous(), axis=1, unsafe=True
        )  # r g

    def spread(self, x: Tensor) -> Tensor:
        return x.gather(1, self.ids.expand(len(x), -1))  # r n

    def where(self, chosen: Tensor, x: Tensor, y: Tensor, out: Tensor | None = None) -> Tensor:
        """Return elements (r n) of x in the chosen groups (r g) and of y elsewhere."""
        return torch.where(self.spread(chosen), x, y, out=out)

    def any(self, x: Tensor) -> Tensor:
        return self.pool(x.float()) > 0  # r g

    def select(self, samples: Tensor) -> Segments:
        if len(self.ids) == 1:
            return self
        return Segments(self.ids[samples], self.by_group[samples], self.sizes[samples], self.label)

    def repeat(self, times: int) -> Segments:
        """Return these groups for the elements repeated `times` times; a group holds its elements of every copy."""
        return self if times == 1 else Segments.of(self.ids.repeat(1, times), self.label)


Grouping = Channels | Segments
