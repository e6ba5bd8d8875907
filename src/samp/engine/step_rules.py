"""Step rules: how far towards a proposal a row may go."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from samp.engine.growth import next_step_share
from samp.engine.walk import Route


@dataclass(frozen=True)
class Unlimited:
    """No step rule: every proposal is taken whole."""

    def limit(self, x: Tensor, proposal: Tensor, route: Route) -> Tensor:
        return proposal

    def least_steps(self) -> int:
        return 0

    def most_steps(self, route: Route) -> int:
        return 0


@dataclass(frozen=True)
class MaxL1:
    """Infinitesimal constraint (Eq. 9): no step is longer than `ratio` of the whole walk, in L1.

    Where a row walks several directions at once, this holds for each: the one that goes furthest decides.

    A step within the bound, give or take rounding, is returned unchanged, so a walk can land on its end point exactly
    and leaves no crumbs for a step of their own.

    With `growth`, from 0 to 1, the bound grows along the walk, and is `ratio` on average.
    """

    ratio: float
    growth: float = 0.0

    def limit(self, x: Tensor, proposal: Tensor, route: Route) -> Tensor:
        way = (proposal - x).abs_().view(*route.length.shape, -1).sum(2)  # r d
        longest = self._ratio(x, route) * route.length
        fraction = (longest / way).masked_fill(way == 0, math.inf).amin(1, keepdim=True)  # r 1
        within = fraction >= 1 - torch.finfo(x.dtype).eps ** 0.5
        return torch.lerp(x, proposal, fraction.masked_fill(within, 1))  # at 1, lerp gives the proposal itself

    def least_steps(self) -> int:
        return math.floor(0.99 / max(self.ratio, 1e-300))  # 0.99: steps may be longer by a little rounding

    def most_steps(self, route: Route) -> int:
        return math.ceil(1 / max(self.ratio, 1e-300)) * route.length.shape[1]  # 1 / 1e-320 is Inf

    def _ratio(self, x: Tensor, route: Route) -> float | Tensor:
        """The bound where rows stand now, of each of their directions (r d)."""
        if not self.growth:
            return self.ratio
        to_go = (route.end - x).abs().view(*route.length.shape, -1).sum(2) / route.length
        return next_step_share(self.ratio, (1 - to_go).clamp(0, 1), self.growth)
