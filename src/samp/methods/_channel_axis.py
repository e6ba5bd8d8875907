"""Which axis of each tensor holds its channels, tracked from the image through a net's operations.

A shape alone does not identify a feature map: (1, 3, 197, 64) may be attention heads, and (1, 7, 7, 768) a map with its
channels last. After a convolution the channel axis is known, and permutations move it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten
from torch.utils.weak import WeakIdKeyDictionary

from samp.methods.propagation.operation_kinds import canonical

CONVOLUTIONS = ("conv2d", "conv_transpose2d", "convolution")
PRODUCTS = ("matmul", "bmm", "mm", "einsum", "baddbmm")
ATTENTION = ("scaled_dot_product_attention", "multi_head_attention_forward", "_native_multi_head_attention")
ON_LAST_AXIS = ("linear", "layer_norm")
LOSING_CHANNELS = ("reshape", "view", "flatten", "unflatten", "unfold", "expand", "repeat", *PRODUCTS, *ATTENTION)


class Tag(NamedTuple):
    """What is known of a tensor that depends on the image."""

    channels: int | None
    """The axis of its channels; None if it is not known."""
    depth: int
    """The largest number of convolutions between the image and the tensor."""
    weights: bool = False
    """Whether a soft-max made it, as attention weights are made."""


class ChannelTracker(TorchFunctionMode):
    """Tags each tensor that depends on the given images, and counts the operations that mix positions.

    >>> image = torch.ones(1, 3, 8, 8)
    >>> tracker = ChannelTracker([image])
    >>> with tracker:
    ...     maps = torch.conv2d(image, torch.ones(5, 3, 2, 2))
    ...     last = maps.permute(0, 2, 3, 1)
    >>> tracker.tag(maps), tracker.tag(last).channels
    (Tag(channels=1, depth=1, weights=False), 3)
    """

    def __init__(self, images: Sequence[Tensor]) -> None:
        super().__init__()
        self.products = 0
        """Number of products of two tensors that depend on the image; attention counts as two."""
        self.on_tokens = 0
        """Number of linear layers and normalisations over the last of three axes or more."""
        self._tags = WeakIdKeyDictionary()
        for image in images:
            self._tags[image] = Tag(1, 0)

    def tag(self, tensor: Tensor) -> Tag:
        """Return what is known of this tensor."""
        tag: Tag = self._tags[tensor] if tensor in self._tags else Tag(None, 0)
        return tag

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        """Run an operation and tag its results; torch calls this in place of every operation."""
        result = func(*args, **(kwargs or {}))
        name = canonical(str(getattr(func, "__name__", func)))[0].partition(".")[0]
        if name == "set" or torch.compiler.is_compiling():
            return result
        tensors = [value for value in tree_flatten((args, kwargs or {}))[0] if isinstance(value, Tensor)]
        known = [tensor for tensor in tensors if tensor in self._tags]
        if known:
            self._count(name, known)
            changed = tensors[:1] if name == "setitem" else []
            for made in (*tree_flatten(result)[0], *changed):
                if isinstance(made, Tensor):
                    self._tags[made] = self._tag(name, args, known, made)
        return result

    def _count(self, name: str, known: Sequence[Tensor]) -> None:
        if name in ATTENTION:
            self.products += 2
        elif name in PRODUCTS and len(known) > 1:
            self.products += 1
        elif name in ON_LAST_AXIS and known[0].ndim > 2:
            self.on_tokens += 1

    def _tag(self, name: str, args: Sequence[object], known: Sequence[Tensor], made: Tensor) -> Tag:
        tags = [self.tag(one) for one in known]
        depth = max(tag.depth for tag in tags)
        if name in CONVOLUTIONS:
            return Tag(1, depth + 1)
        weights = name in ("softmax", "_softmax") or (any(tag.weights for tag in tags) and made.shape == known[0].shape)
        if made.ndim != 4:
            return Tag(None, depth, weights)
        if name in ("permute", "transpose", "swapaxes"):
            return Tag(_permuted_axis(name, args, tags[0].channels), depth, weights)
        axes = {self._carried_axis(name, one, tag.channels, made) for one, tag in zip(known, tags, strict=True)}
        axes.discard(None)
        return Tag(axes.pop() if len(axes) == 1 else None, depth, weights)

    @staticmethod
    def _carried_axis(name: str, one: Tensor, axis: int | None, made: Tensor) -> int | None:
        """Return the channel axis that the result takes from one operand; None if the operation does not keep it."""
        if axis is None or one.ndim != 4:
            return None
        if one.shape == made.shape and name not in ON_LAST_AXIS:
            return axis
        if name in LOSING_CHANNELS or one.shape[0] != made.shape[0]:
            return None
        if name in ON_LAST_AXIS:
            return axis if axis == 3 else None
        same = name == "cat" or one.shape[axis] == made.shape[axis]
        return axis if same else None


def _permuted_axis(name: str, args: Sequence[object], axis: int | None) -> int | None:
    """Return the position of an axis of four after a permutation; None if it is not known."""
    numbers = [int(n) % 4 for n in tree_flatten(list(args[1:]))[0] if isinstance(n, int)]
    if axis is None or len(numbers) != (4 if name == "permute" else 2):
        return None
    if name == "permute":
        return numbers.index(axis)
    return {numbers[0]: numbers[1], numbers[1]: numbers[0]}.get(axis, axis)
