"""Features: groups of input elements that move together.

A group is a pixel (all its channels), a single element, a k×k patch, or whatever an integer mask defines (superpixels,
tokens, table columns). Paths and metrics work on groups through a `Grouping`, which sums elements over groups (`pool`:
r n → r g), copies group values to their elements (`spread`: r g → r n) and finds the groups with a true element (`any`:
r n → r g). The n elements are the inputs flattened and, if there are several, concatenated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import torch
from torch import Tensor

from samp.checks import check_dense

LEAST_PIXELS = 8
COLOUR_CHANNELS = (1, 3)


@dataclass(frozen=True)
class Pixels:
    """Each pixel of a `b c h w` image is one feature: its channels move together.

    >>> Pixels().ids((3, 2, 2)).tolist()
    [[[0, 1], [2, 3]], [[0, 1], [2, 3]], [[0, 1], [2, 3]]]
    """

    def ids(self, shape: Sequence[int]) -> Tensor:
        channels, height, width = _image_shape(shape, self)
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
        channels, height, width = _image_shape(shape, self)
        rows, columns = torch.arange(height) // self.size, torch.arange(width) // self.size
        return (rows[:, None] * (int(columns[-1]) + 1) + columns).expand(channels, height, width)


GroupKind = Pixels | Elements | Patches
Groups = GroupKind | Tensor | Sequence[GroupKind | Tensor]


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


def bind(groups: Groups | None, inputs: Sequence[Tensor]) -> Grouping:
    """Return the `Grouping` of these inputs; by default pixels for `b c h w` images and elements for anything else.

    A mask has the shape of one input without its batch axis (or broadcasts to it, as `h w` does to `c h w`), or with
    it if each sample has groups of its own. The same number in the masks of two inputs is one feature.

    Raises TypeError or ValueError for groups that do not fit the inputs, and ValueError if `groups` is None and an
    input looks like `b h w c`.

    >>> images = torch.rand(2, 3, 4, 4)
    >>> bind(None, [images]).count, bind(Patches(2), [images]).count
    (16, 4)
    >>> columns = bind(torch.tensor([0, 0, 1]), [torch.rand(5, 3)])
    >>> columns.pool(torch.ones(5, 3))[0].tolist()
    [2.0, 1.0]
    """
    kinds = _one_per_input(groups, inputs)
    for kind, x in zip(kinds, inputs, strict=True):
        if groups is None or isinstance(kind, Patches):
            check_input_layout(x.shape)
    if len(inputs) == 1 and isinstance(kinds[0], Pixels | Elements):
        shape = tuple(inputs[0].shape[1:])
        channels = _image_shape(shape, kinds[0])[0] if isinstance(kinds[0], Pixels) else 1
        return Channels(channels, math.prod(shape) // channels, repr(kinds[0]))
    ids, label = _join_ids(kinds, inputs)
    return Segments.of(ids.to(inputs[0].device), label)


def bind_levels(groups: Groups | None, inputs: Sequence[Tensor]) -> Segments | None:
    """Return the elements over which credit is spread evenly: each channel of each patch; None if there is no patch.

    Every element that lies in no patch is by itself.

    >>> bind_levels([Patches(2), Elements()], [torch.rand(5, 2, 1, 2), torch.rand(5, 3)]).ids.tolist()
    [[0, 0, 1, 1, 2, 3, 4]]
    """
    kinds = _one_per_input(groups, inputs)
    if not any(isinstance(kind, Patches) for kind in kinds):
        return None
    parts, first_free = [], 0
    for kind, x in zip(kinds, inputs, strict=True):
        shape = x.shape[1:]
        if isinstance(kind, Patches):
            ids = kind.ids(shape) * shape[0] + torch.arange(shape[0])[:, None, None]
        else:
            ids = Elements().ids(shape)
        parts.append(first_free + ids.reshape(1, -1))
        first_free += int(ids.max()) + 1
    return Segments.of(torch.cat(parts, 1).to(inputs[0].device), "")


def _one_per_input(groups: Groups | None, inputs: Sequence[Tensor]) -> list[GroupKind | Tensor]:
    if groups is None:
        return [Pixels() if x.ndim == 4 else Elements() for x in inputs]
    if isinstance(groups, GroupKind):
        return [groups] * len(inputs)
    given: list[Any] = list(groups) if isinstance(groups, list | tuple) else [groups]
    for one in given:
        if not isinstance(one, GroupKind | Tensor):
            raise TypeError(
                "groups are samp.Pixels(), samp.Elements(), samp.Patches(k) or an integer tensor, "
                f"not {one if isinstance(one, str | type) else type(one).__name__}: "
                "turn a mask into a tensor with torch.as_tensor."
            )
    if len(given) != len(inputs):
        raise ValueError(
            f"groups has {len(given)} entries but the model takes {len(inputs)} inputs: give one for each."
        )
    return given


def _join_ids(kinds: Sequence[GroupKind | Tensor], inputs: Sequence[Tensor]) -> tuple[Tensor, str]:
    """Return group numbers over all inputs (1 n or b n) and their label; masks come first in the numbering."""
    masks = {i: _flat_mask(kind, inputs[i]) for i, kind in enumerate(kinds) if isinstance(kind, Tensor)}
    first_free = max((int(ids.max()) + 1 for ids in masks.values()), default=0)
    parts, labels = [], []
    for i, kind in enumerate(kinds):
        if isinstance(kind, Tensor):
            ids = masks[i]
            labels.append(f"mask of {int(ids.max()) + 1} groups")
        else:
            ids = (kind.ids(inputs[i].shape[1:]) + first_free).reshape(1, -1)
            first_free = int(ids.max()) + 1
            labels.append(repr(kind))
        parts.append(ids.to(inputs[0].device))
    rows = max(len(part) for part in parts)
    joined = torch.cat([part.expand(rows, -1) for part in parts], 1)
    if int(joined.max()) >= joined.shape[1]:
        raise ValueError(
            f"the group mask holds the number {int(joined.max())} but a sample has only {joined.shape[1]} elements: "
            "renumber the groups with torch.unique(mask, return_inverse=True)[1]."
        )
    return joined, ", ".join(labels)


def _flat_mask(mask: Tensor, x: Tensor) -> Tensor:
    """Return the mask as 1 n or b n; raise TypeError or ValueError if it is not a mask for this input."""
    check_dense(mask, "the group mask")
    if mask.is_floating_point() or mask.is_complex() or mask.dtype == torch.bool:
        raise TypeError(f"a group mask holds integers, one number per group, not {mask.dtype}: cast it with .long().")
    mask = mask.long()
    if mask.numel() and mask.min() < 0:
        raise ValueError(f"a group mask numbers its groups from 0, but this one holds {int(mask.min())}.")
    shape, per_sample = x.shape[1:], mask.ndim == x.ndim
    try:
        full = torch.broadcast_to(mask, (len(mask) if per_sample else 1, *shape))
    except RuntimeError:
        full = None
    if full is None or len(full) not in (1, len(x)):
        raise ValueError(
            f"the group mask has shape {tuple(mask.shape)} but the input has {tuple(x.shape)}: "
            f"give it shape {tuple(shape)}, or {tuple(x.shape)} for groups per sample (axes of size 1 stretch)."
        )
    return full.reshape(len(full), -1)


def _image_shape(shape: Sequence[int], kind: GroupKind) -> tuple[int, int, int]:
    if len(shape) != 3:
        raise ValueError(
            f"{kind!r} needs images of shape b c h w, but a sample has shape {tuple(shape)}: pass Elements() or a mask."
        )
    return shape[0], shape[1], shape[2]


def looks_channels_last(shape: Sequence[int]) -> bool:
    """Return whether a shape of four axes looks like b h w c, and not like the b c h w that images are expected in.

    This is a guess: photos with channels last have a last axis of 1 or 3 after two axes of at least `LEAST_PIXELS`. A
    `b c h w` input with such axes is possible (64 electrodes × 100 time steps × 1) but rare. Small feature maps,
    512 × 3 × 3, and narrow images, 3 × 224 × 1, are not affected.

    >>> [looks_channels_last((2, *one)) for one in ((224, 224, 3), (28, 28, 1), (3, 224, 224), (512, 3, 3), (3, 9, 1))]
    [True, True, False, False, False]
    """
    return len(shape) == 4 and shape[3] in COLOUR_CHANNELS and min(shape[1:3]) >= LEAST_PIXELS


def check_input_layout(shape: Sequence[int], declared: bool = False) -> None:
    """Raise ValueError for an input that looks like b h w c, unless it is `declared` to be b c h w.

    >>> check_input_layout((2, 3, 224, 224))
    """
    if looks_channels_last(shape) and not declared:
        raise ValueError(
            f"the input has shape {tuple(shape)}, which looks like b h w c, but images are b c h w here: pass "
            "x.permute(0, 3, 1, 2) and, as the model, lambda x: model(x.permute(0, 2, 3, 1)). If it is b c h w, say "
            "groups=samp.Pixels(); if it is no image, samp.Elements() or a mask."
        )


def check_map_layout(shape: Sequence[int]) -> None:
    """Raise ValueError for maps that look like b h w c, since their axis 1 would be summed as the channels.

    >>> check_map_layout((2, 3, 224, 224))
    """
    if looks_channels_last(shape):
        raise ValueError(
            f"the maps have shape {tuple(shape)}, which looks like b h w c, but axis 1 is taken for the channels: sum "
            "them first, maps.sum(-1), or maps.sum(1) if they are b c h w."
        )
