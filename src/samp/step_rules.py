"""Step rules: how far towards a proposal a row may go."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from samp.walk import Route


@dataclass(frozen=True)
class Unlimited:
    """No step rule: every proposal is taken whole."""

    def limit(self, x: Tensor, proposal: Tensor, route: Route) -> Tensor:
        return proposal

    def least_steps(self) -> int:
        return 0

    def most_steps(self) -> int:
        return 0


@dataclass(frozen=True)
class MaxL1:
    """Infinitesimal constraint (Eq. 9): no step is longer than `ratio` of the whole walk, in L1.

    A step within the bound, give or take rounding, is returned unchanged, so a walk can land on its end point exactly
    and leaves no crumbs for a step of their own.
    """

    ratio: float

    def limit(self, x: Tensor, proposal: Tensor, route: Route) -> Tensor:
        fraction = self.ratio * route.length / (proposal - x).abs().sum(1, keepdim=True)
        within = fraction >= 1 - torch.finfo(x.dtype).eps ** 0.5
        return torch.lerp(x, proposal, fraction.masked_fill(within, 1))  # at 1, lerp gives the proposal itself

    def least_steps(self) -> int:
        return math.floor(0.99 / max(self.ratio, 1e-300))  # 0.99: steps may be longer by a little rounding

    def most_steps(self) -> int:
        return math.ceil(1 / max(self.ratio, 1e-300))  # 1 / 1e-320 is Inf
