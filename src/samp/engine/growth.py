"""Growth: short steps first and long ones last, as many as without."""

from __future__ import annotations

from typing import Any, overload

from torch import Tensor


@overload
def next_step_share(mean: float, gone: float, growth: float) -> float: ...
@overload
def next_step_share(mean: float | Tensor, gone: Tensor, growth: float) -> Tensor: ...
def next_step_share(mean: Any, gone: Any, growth: float) -> Any:
    """How long the next step is, as a share of the way, where the share `gone` of it lies behind.

    Steps grow evenly, from 1 − growth to 1 + growth times their `mean`: after the share τ of the steps,
    p(τ) = (1 − growth)·τ + growth·τ² of the way is done. The next step leads from p(τ) = gone to p(τ + mean), so it
    asks only where a row stands, and the way takes 1 / mean steps whatever the growth.

    >>> import torch
    >>> first = next_step_share(0.5, torch.tensor(0.0), growth=0.5)  # of two steps
    >>> first, next_step_share(0.5, first, growth=0.5)
    (tensor(0.3750), tensor(0.6250))
    """
    return mean * (((1 - growth) ** 2 + 4 * growth * gone) ** 0.5 + growth * mean)
