"""Binding groups to inputs: which group each of the n elements belongs to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from samp.checks import check_dense
from samp.groups.kinds import Elements, GroupKind, Groups, Patches, Pixels, SuperpixelIds
from samp.groups.layout import check_input_layout, image_shape
from samp.groups.pooling import Channels, Grouping, Segments
from samp.groups.superpixels import Superpixels


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
    kinds = find_superpixels(groups, inputs)
    for kind, x in zip(kinds, inputs, strict=True):
        if groups is None or isinstance(kind, Patches):
            check_input_layout(x.shape)
    if len(inputs) == 1 and isinstance(kinds[0], Pixels | Elements):
        shape = tuple(inputs[0].shape[1:])
        channels = image_shape(shape, kinds[0])[0] if isinstance(kinds[0], Pixels) else 1
        return Channels(channels, math.prod(shape) // channels, repr(kinds[0]))
    ids, label = _join_ids(kinds, inputs)
    return Segments.of(ids.to(inputs[0].device), label)


def bind_levels(groups: Groups | None, inputs: Sequence[Tensor]) -> Segments | None:
    """Return the elements over which credit is spread evenly: each channel of each patch or superpixel.

    Every element that lies in none of these is by itself. None if there are neither.

    >>> bind_levels([Patches(2), Elements()], [torch.rand(5, 2, 1, 2), torch.rand(5, 3)]).ids.tolist()
    [[0, 0, 1, 1, 2, 3, 4]]
    """
    kinds = find_superpixels(groups, inputs)
    if not any(isinstance(kind, Patches | SuperpixelIds) for kind in kinds):
        return None
    parts, first_free = [], 0
    for kind, x in zip(kinds, inputs, strict=True):
        shape = x.shape[1:]
        if isinstance(kind, Patches | SuperpixelIds):
            pieces = kind.ids(shape)[None] if isinstance(kind, Patches) else kind.mask
            ids = pieces * shape[0] + torch.arange(shape[0])[:, None, None]
        else:
            ids = Elements().ids(shape)[None]
        parts.append(first_free + ids.reshape(len(ids), -1))
        first_free += int(ids.max()) + 1
    return Segments.of(_join_rows(parts).to(inputs[0].device), "")


def find_superpixels(groups: Groups | None, inputs: Sequence[Tensor]) -> list[GroupKind | Tensor]:
    """Return one kind or mask per input, in which `Superpixels` are found; what has found some is returned as it is.

    Raises TypeError or ValueError for groups that are none, and for an image that looks like `b h w c`.

    >>> find_superpixels(Patches(2), [torch.rand(1, 3, 4, 4)])
    [Patches(size=2)]
    """
    kinds = _one_per_input(groups, inputs)
    for number, (kind, x) in enumerate(zip(kinds, inputs, strict=True)):
        if isinstance(kind, Superpixels):
            check_input_layout(x.shape)
            kinds[number] = SuperpixelIds(kind, kind.ids(x))
    return kinds


def _one_per_input(groups: Groups | None, inputs: Sequence[Tensor]) -> list[GroupKind | Tensor]:
    if groups is None:
        return [Pixels() if x.ndim == 4 else Elements() for x in inputs]
    if isinstance(groups, GroupKind):
        return [groups] * len(inputs)
    given: list[Any] = list(groups) if isinstance(groups, list | tuple) else [groups]
    for one in given:
        if not isinstance(one, GroupKind | Tensor):
            raise TypeError(
                "groups are samp.Pixels(), samp.Elements(), samp.Patches(k), samp.Superpixels(n) or an integer tensor, "
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
            own = kind.mask if isinstance(kind, SuperpixelIds) else kind.ids(inputs[i].shape[1:])[None]  # type: ignore[arg-type]  # superpixels are found
            ids = (own + first_free).reshape(len(own), -1)
            first_free = int(ids.max()) + 1
            labels.append(repr(kind))
        parts.append(ids.to(inputs[0].device))
    joined = _join_rows(parts)
    if int(joined.max()) >= joined.shape[1]:
        raise ValueError(
            f"the group mask holds the number {int(joined.max())} but a sample has only {joined.shape[1]} elements: "
            "renumber the groups with torch.unique(mask, return_inverse=True)[1]."
        )
    return joined, ", ".join(labels)


def _join_rows(parts: Sequence[Tensor]) -> Tensor:
    """Return the numbers of all inputs side by side: 1 n if all samples share them, else b n."""
    rows = max(len(part) for part in parts)
    return torch.cat([part.expand(rows, -1) for part in parts], 1)


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
