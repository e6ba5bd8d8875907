"""How straight a score curve is: the fit of the straight line between its ends, and the largest distance from it."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, eq=False)
class Straightness:
    """R² of the line between the ends (b), and the largest distance from it as a share of the curve's change (b).

    Both are NaN where a curve does not change, or has points that are NaN.
    """

    fit: Tensor
    gap: Tensor


def straightness(curves: Tensor, shares: Tensor) -> Straightness:
    """Return how straight curves (b k) over these shares (k, from 0 to 1) are.

    R² = 1 − Σ(y − line)² / Σ(y − ȳ)²: 1 for a straight line, negative for a curve that its mean fits better.

    >>> import torch
    >>> found = straightness(torch.tensor([[0.0, 1.0, 4.0], [3.0, 2.0, 1.0]]), torch.tensor([0.0, 0.5, 1.0]))
    >>> found.gap.tolist(), found.fit[1].item()
    ([0.25, 0.0], 1.0)
    """
    y, x = curves.double(), shares.double().to(curves.device)
    first, change = y[:, :1], y[:, -1:] - y[:, :1]
    away = y - (first + change * (x - x[0]) / (x[-1] - x[0]))
    spread = ((y - y.mean(1, keepdim=True)) ** 2).sum(1)
    nan = spread.new_tensor(float("nan"))
    fit = (1 - (away**2).sum(1) / spread).where(spread > 0, nan)
    gap = (away.abs().amax(1) / change[:, 0].abs()).where(change[:, 0] != 0, nan)
    return Straightness(fit, gap)
