"""Masks that the model makes of its own activations, as in x·(x > 0): what DeepLIFT gives for what they decide.

A mask has no gradient, yet it differs between image and baseline, and that moves the score. Its part is handed to
the tensor that the mask was read off, so that x·(x > 0) is treated as the ReLU that it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from samp.methods.propagation.multipliers import vjp
from samp.methods.propagation.operation_call import Call, Pull


@dataclass(frozen=True, eq=False)
class Switch:
    """An operation that is linear in its inputs for a given mask; `place` is the mask's among the call's leaves."""

    call: Call
    place: int
    inputs: Sequence[Tensor]
    """What the operation saw for the baseline, and so for the next two."""
    mask: Tensor
    source: Tensor

    def __call__(self, *given: Tensor) -> tuple[Tensor, Pull]:
        """The value, and Δout = mean slope over both masks · Δin + (what the mask decides / Δsource) · Δsource.

        `given` are the operation's inputs and the source. Raises ValueError where that is not exact: where the mask
        changes and its source does not, or where it decides by an infinite amount.
        """
        *inputs, source = given
        masks = self.call.leaves[self.place], self.mask
        decided = (self._change(inputs) + self._change(self.inputs)) / 2
        step = source - self.source
        if not bool(decided.isfinite().all()) or bool(((step == 0).expand_as(decided) & (decided != 0)).any()):
            raise ValueError("a mask that is no finite function of its source")
        shape = source.shape

        def pull(grad: Tensor) -> list[Tensor]:
            # linear in the inputs, so the slopes are the same everywhere
            slopes = [vjp(self._with_mask(mask).at, inputs, grad) for mask in masks]
            direct = [(one + other) / 2 for one, other in zip(*slopes, strict=True)]
            effect = (grad * decided).sum_to_size(shape)
            return [*direct, torch.where(step == 0, 0.0, effect / step)]

        return self.call.at(*inputs), pull

    def _with_mask(self, mask: Any) -> Call:
        leaves = list(self.call.leaves)
        leaves[self.place] = mask
        return replace(self.call, leaves=tuple(leaves))

    def _change(self, inputs: Sequence[Tensor]) -> Tensor:
        """What the image's mask makes of these inputs, less what the baseline's does."""
        change: Tensor = self.call.at(*inputs) - self._with_mask(self.mask).at(*inputs)
        return change
