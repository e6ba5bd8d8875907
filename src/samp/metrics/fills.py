"""What a hidden feature shows: any baseline, or a fill made of what is still visible.

`NoisyLinear`, which solves an equation for its fill, is in `samp.metrics.imputation`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeGuard, runtime_checkable

import torch
import torch.nn.functional as F
from torch import Tensor

from samp.baselines import Blurred, InputBaselines, label_baseline, wrap_tensors
from samp.engine.record import sum_rows


@runtime_checkable
class Imputer(Protocol):
    """A fill of pixels that depends on what is visible, such as `NoisyLinear`."""

    def impute(self, images: Tensor, missing: Tensor) -> Tensor:
        """Return r c h w images with the missing pixels (r h w) filled."""
        ...


@runtime_checkable
class ElementFill(Protocol):
    """A fill of single elements that depends on which are visible, such as `RemainingMean`."""

    def fill_elements(self, x: Tensor, missing: Tensor) -> Tensor:
        """Return r n points with their missing elements (r n, bool) filled."""
        ...


Fill = InputBaselines | Imputer | ElementFill


class ImageFill:
    """Marks a baseline that needs to know which axis holds the channels, as `ChannelMeans` does."""


@dataclass(frozen=True)
class RemainingMean:
    """One number for all hidden elements of a sample: the mean of the visible ones, over all channels and pixels.

    The fill changes from point to point of a curve: with the brightest half of an image inserted, the rest is bright
    too. Where nothing is visible, it is the mean of the whole sample. The public codes of DiffID (Local Path
    Integration's and Spectral IG's) fill with it; `ChannelMeans` is the same at every point.

    >>> RemainingMean().fill_elements(torch.tensor([[1.0, 3.0, 8.0]]), torch.tensor([[False, False, True]])).tolist()
    [[1.0, 3.0, 2.0]]
    """

    def fill_elements(self, x: Tensor, missing: Tensor) -> Tensor:
        """Return x (r n) with its missing elements (r n, bool) filled."""
        remaining = (~missing).sum(1)
        visible_mean = sum_rows(x.masked_fill(missing, 0)) / remaining.clamp(min=1)
        mean = torch.where(remaining > 0, visible_mean, sum_rows(x) / x.shape[1])  # r
        return torch.where(missing, mean.to(x.dtype)[:, None], x)


@dataclass(frozen=True)
class ChannelMeans(ImageFill):
    """Each channel's mean over the image, as a fill.

    >>> ChannelMeans()(torch.tensor([[[[0.0, 2.0]]]])).flatten().tolist()
    [1.0, 1.0]
    """

    def __call__(self, x: Tensor) -> Tensor:
        if x.ndim < 3:
            raise ValueError(f"only images have channel means, but the input has shape {tuple(x.shape)}.")
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        return wide.flatten(2).mean(2).view(*x.shape[:2], *[1] * (x.ndim - 2)).expand_as(x).to(x.dtype)


@dataclass(frozen=True)
class RISEBlur(ImageFill):
    """The blur that RISE's published code starts Insertion from, which is no plain Gaussian of kernel 11 and σ 5.

    That code filters a single bright point *inside an 11 × 11 window*, which reflects what would leave it back inside,
    so the kernel is flatter; it sums to 1, and the image is padded with zeros (mid-grey in the usual model space).

    >>> round(RISEBlur()(torch.ones(1, 1, 21, 21))[0, 0, 10, 10].item(), 5)
    1.0
    """

    kernel: int = 11
    sigma: float = 5.0

    def __post_init__(self) -> None:
        Blurred(self.kernel, self.sigma)  # raises for a kernel or σ that is none

    def __call__(self, x: Tensor) -> Tensor:
        if x.ndim != 4:
            raise ValueError(f"only b c h w images can be blurred, but the input has shape {tuple(x.shape)}.")
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        return self._blur_axis(self._blur_axis(wide, 2), 3).to(x.dtype)

    def _blur_axis(self, x: Tensor, axis: int) -> Tensor:
        """A weighted sum of shifted images, added in a fixed order: the same bits for a sample alone and in a batch."""
        reach, size = self.kernel // 2, x.shape[axis]
        padded = F.pad(x, (0, 0, reach, reach) if axis == 2 else (reach, reach))
        blurred = torch.zeros_like(x)
        for shift, weight in enumerate(self._kernel_weights().tolist()):
            blurred.add_(padded.narrow(axis, shift, size), alpha=weight)
        return blurred

    def _kernel_weights(self) -> Tensor:
        """The kernel along one axis: a Gaussian cut at 4 σ, folded back into the window as often as it takes."""
        reach = int(4 * self.sigma + 0.5)
        places = torch.arange(-reach, reach + 1)
        weights = torch.exp(-0.5 * (places.double() / self.sigma) ** 2)
        folded = (places + self.kernel // 2) % (2 * self.kernel)
        folded = torch.minimum(folded, 2 * self.kernel - 1 - folded)
        return torch.zeros(self.kernel, dtype=torch.float64).index_add_(0, folded, weights / weights.sum())


def depends_on_visible(fill: object) -> TypeGuard[Imputer | ElementFill]:
    """Whether a fill is made of what is visible, and so is no baseline.

    >>> depends_on_visible(0.0), depends_on_visible(RemainingMean())
    (False, True)
    """
    return isinstance(fill, Imputer | ElementFill)


def resolve_fill(fill: Fill) -> Fill:
    """Return a fill in the form that results compare and print: a baseline resolved, an object unchanged.

    >>> resolve_fill("black")
    Constant(value=0.0)
    """
    if isinstance(fill, type):
        raise TypeError(f"a fill is an object, and {fill.__name__} is a class: pass {fill.__name__}().")
    resolved: Fill = fill if depends_on_visible(fill) else label_baseline(wrap_tensors(fill))
    return resolved


def describe_fill(fill: Fill) -> str:
    """The name of a fill in results; a tensor is named by its shape.

    >>> describe_fill(torch.zeros(1, 3))
    'tensor of shape (1, 3)'
    """
    return repr(fill if depends_on_visible(fill) else label_baseline(wrap_tensors(fill)))
