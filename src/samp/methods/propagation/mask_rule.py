"""DeepLIFT's rule for masks that the model computes from its own activations, as in x·(x > 0).

A mask has no gradient, yet it differs between image and baseline, and that changes the score. This part of the change
goes to the tensor that the mask was computed from, so that x·(x > 0) is treated as the ReLU that it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from samp.methods.propagation.multipliers import vjp
from samp.methods.propagation.operation_call import Call, Pull


@dataclass(frozen=True, eq=False)
class MaskRule:
    """The rule for a call that is linear in its inputs for a given mask."""

    call: Call
    position: int
    """Of the mask in `call.flat_args`."""
    inputs: Sequence[Tensor]
    """The baseline's inputs of the operation."""
    mask: Tensor
    """The baseline's mask."""
    source: Tensor
    """The baseline's value of the tensor that the mask is computed from."""

    def __call__(self, *inputs_and_source: Tensor) -> tuple[Tensor, Pull]:
        """Return the value, and Δout = mean slope over both masks · Δin + (effect of the mask / Δsource) · Δsource.

        Takes the image's inputs of the operation, then its source. Raises ValueError where the rule is not exact: where
        the mask changes and its source does not, or where its effect is infinite.
        """
        *inputs, source = inputs_and_source
        masks = self.call.flat_args[self.position], self.mask
        effect = (self._change(inputs) + self._change(self.inputs)) / 2
        step = source - self.source
        if not bool(effect.isfinite().all()) or bool(((step == 0).expand_as(effect) & (effect != 0)).any()):
            raise ValueError("a mask that is no finite function of its source")
        shape = source.shape

        def pull(grad: Tensor) -> list[Tensor]:
            # linear in the inputs, so the slopes are the same everywhere
            slopes = [vjp(self._with_mask(mask).at, inputs, grad) for mask in masks]
            direct = [(one + other) / 2 for one, other in zip(*slopes, strict=True)]
            by_mask = (grad * effect).sum_to_size(shape)
            return [*direct, torch.where(step == 0, 0.0, by_mask / step)]

        return self.call.at(*inputs), pull

    def _with_mask(self, mask: object) -> Call:
        values = list(self.call.flat_args)
        values[self.position] = mask
        return replace(self.call, flat_args=tuple(values))

    def _change(self, inputs: Sequence[Tensor]) -> Tensor:
        """Return the operation's value at these inputs under the image's mask, less that under the baseline's."""
        change: Tensor = self.call.at(*inputs) - self._with_mask(self.mask).at(*inputs)
        return change
