"""Guided IG: the path that moves the features with the smallest gradients first (Kapishnikov et al., 2021)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from samp.attribution import Attribution, Direction
from samp.baselines import BaselineSetting, black, wrap_tensors
from samp.checks import check_counts, check_numbers
from samp.engine.credit import Credit
from samp.engine.driver import RunOptions
from samp.engine.problem import Problem
from samp.engine.walk import Route, Step
from samp.methods._common import MethodInfo, ScoreName, check_score, with_score
from samp.methods._path_method import check_path_settings, walk_along


@dataclass(frozen=True)
class GuidedIG:
    """Guided Integrated Gradients: in equal parts of the L1 distance, the flattest features move first.

    - `steps`, `fraction`, `max_dist`: 200, 0.25 and 0.02 are those of the authors' code (PAIR `saliency`). Each step
      moves the `fraction` of features with the smallest abs(gradient), then the next, until the step is 1/`steps` of
      the whole distance; no feature leaves the straight line by more than `max_dist` of its own distance. 0 is IG, 1 is
      unbounded.
    - `credit`: "left", the gradient before the move, is the authors'.
    - `eta`, `direction` and `baseline` are as in `SAMP`.
    - `score`: "logit" explains the model's output for the class, "probability" its soft-max.

    A feature is a single element of a single channel, as published: `groups` only sum up the result. Rounding decides
    among equal gradients, and in a convolutional net a constant baseline has many: so in float32, and with `max_dist`
    near 1 in any dtype, maps of two machines or batch sizes agree in outline (cosine 0.93 on SqueezeNet) and not in
    pixels.

    >>> import torch, samp
    >>> result = samp.explain(torch.nn.Linear(6, 3).eval(), torch.rand(2, 6), method=GuidedIG(steps=20))
    >>> result.steps["to_image"].tolist(), bool((result.residual.abs() < 1e-5).all())
    ([20, 20], True)
    """

    steps: int = 200
    fraction: float = 0.25
    max_dist: float = 0.02
    eta: float | None = None
    credit: str | Credit = "left"
    direction: Literal["both"] | Direction = "to_image"
    baseline: BaselineSetting = black
    score: ScoreName = "logit"
    about: ClassVar[MethodInfo] = MethodInfo(
        paper="Kapishnikov et al., Guided Integrated Gradients, CVPR 2021",
        cost="steps + 1 gradients",
        complete="in the limit of many steps",
    )

    def __post_init__(self) -> None:
        check_counts(steps=self.steps)
        check_numbers(fraction=self.fraction, max_dist=self.max_dist)
        if not 0 < self.fraction <= 1:
            raise ValueError(f"fraction is a share of the features above 0 and up to 1, not {self.fraction!r}.")
        if not 0 <= self.max_dist <= 1:
            raise ValueError(f"max_dist is a share of a feature's way from 0 to 1, not {self.max_dist!r}.")
        check_path_settings(self.eta, self.credit, self.direction)
        check_score(self.score)
        object.__setattr__(self, "baseline", wrap_tensors(self.baseline))

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return the credit of the guided path of every sample."""
        path = GuidedPath(int(self.steps), float(self.fraction), float(self.max_dist))
        return walk_along(path, self, 0.0, with_score(problem, self.score, self, run), run)


@dataclass(frozen=True)
class GuidedPath:
    """The path to the next of `steps` equally spaced L1 distances from a row's end, by its flattest elements first."""

    needs_start: ClassVar[bool] = True
    is_fixed: ClassVar[bool] = False
    may_pause: ClassVar[bool] = False
    counts_steps: ClassVar[bool] = False
    steps: int
    fraction: float
    max_dist: float

    def propose(self, step: Step, route: Route) -> Tensor:
        """Return the next point of every row (r n): the authors' inner loop, in which rows rest once they are there."""
        ends = route.start.abs().sum(1, keepdim=True) + route.end.abs().sum(1, keepdim=True)
        rounding = torch.finfo(step.x.dtype).eps * ends  # r 1, of an L1 distance
        number = self._steps_done(step, route, rounding) + 1  # r 1
        last = number >= self.steps
        alpha = (number / self.steps).clamp(max=1)
        lowest = torch.lerp(route.start, route.end, (alpha - self.max_dist).clamp(min=0))  # r n
        highest = torch.lerp(route.start, route.end, (alpha + self.max_dist).clamp(max=1))
        wanted = route.length * (1 - alpha)
        moved = (step.x - route.start).abs()  # of each element; all move towards their end only
        x = torch.where(moved < (lowest - route.start).abs(), lowest, step.x)  # those that fell behind catch up first
        flatness = step.gradient.abs()
        resting = last
        while True:
            surplus = (route.end - x).abs().sum(1, keepdim=True) - wanted
            chosen = self._flattest_mask(flatness, x != highest)
            room = ((highest - x).abs() * chosen).sum(1, keepdim=True)
            resting = resting | (surplus <= 4 * rounding) | (room == 0)
            if resting.all():
                return torch.where(last, route.end, x)
            share = torch.where(resting, 0, surplus / room).clamp(max=1)
            x = torch.where(chosen, torch.lerp(x, highest, share), x)
            resting = resting | (share < 1)

    def _steps_done(self, step: Step, route: Route, rounding: Tensor) -> Tensor:
        """Return how many of the `steps` parts each row has done (r 1), give or take rounding."""
        to_go = (route.end - step.x).abs().sum(1, keepdim=True) / route.length
        slack = (0.01 + rounding / route.length * self.steps).clamp(max=0.5)
        return ((1 - to_go) * self.steps + slack).floor()

    def _flattest_mask(self, flatness: Tensor, free: Tensor) -> Tensor:
        """Return the free elements up to the lower `fraction`-quantile of all (r n); others count as the steepest."""
        flatness = flatness.masked_fill(~free, math.inf)
        place = int(self.fraction * (flatness.shape[1] - 1)) + 1
        steepest = flatness.topk(place, 1, largest=False, sorted=False).values.amax(1, keepdim=True)
        return (flatness <= steepest) & free

    def least_steps(self, route: Route) -> int:
        return self.steps

    def most_steps(self, route: Route) -> int:
        return self.steps


METHODS = {"guidedig": GuidedIG()}
