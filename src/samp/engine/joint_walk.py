"""Coupled walks: both directions of a sample are one walk, in which the same groups move by the same fraction.

The points of the d directions, laid one after the other, are one point of a larger space. There, the walk climbs
F(u, v) = f(v) − w·f(u) from (image, blurred) to (black, image), and a group holds its elements of both. So any path
chooses by the sum of both gains, the score of u falling and that of v rising, and all of the engine works as it is.

The weight w bears on the choice alone. Credit is that of the plain sum, f(v) − f(u): were it read off the weighted
curve, its sum would not be the score changes.

Letters: r rows (one per sample), d directions, n elements of one direction, g groups.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from samp.attribution import Direction
from samp.engine.concave_credit import ConcaveAccount
from samp.engine.driver import StepCallback
from samp.engine.paths import SalientPath
from samp.engine.problem import Problem
from samp.engine.record import RowTape, WalkRecord, record_walk
from samp.engine.walk import Fuse, Route, StepRule, identity, walk


@dataclass(frozen=True, eq=False)
class JointScorer:
    """The score of every direction at a point of the larger space, and the gradient of their weighted sum F.

    >>> from samp.engine.problem import make_problem
    >>> problem = make_problem(lambda x: x**2, torch.ones(1, 1), target=0)
    >>> both = JointScorer(problem, torch.tensor([-0.5, 1.0]))
    >>> both.value_and_gradient(torch.tensor([[3.0, 2.0]]), torch.tensor([0]))
    (tensor([[9., 4.]]), tensor([[-3.,  4.]]))
    """

    problem: Problem
    weight: Tensor  # d, below 0 where the score should fall
    fuse: Fuse = identity

    def value_and_gradient(self, x: Tensor, samples: Tensor) -> tuple[Tensor, Tensor]:
        """Scores (r d) and the gradient of F (r dn) at points x (r dn); a score without a finite gradient is NaN."""
        directions = len(self.weight)
        each = samples.repeat_interleave(directions)
        value, gradient = self.problem.value_and_gradient(x.view(len(each), -1), each)
        return self.fuse(_weight_gradients)(value.view(len(x), directions), gradient, self.weight)


def _weight_gradients(value: Tensor, gradient: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Values (r d) and the gradient (rd n) of their weighted sum, as r dn."""
    weighted = gradient.view(*value.shape, -1) * weight[:, None]  # r d n
    failed = ~weighted.abs().amax(2).isfinite()  # r d; the walk knows of rows alone, so the score must tell
    return value.masked_fill(failed, math.nan), weighted.view(len(value), -1)


@dataclass(frozen=True, eq=False)
class JointWalkPlan:
    """All directions of a sample in one walk: path and rule, and where each direction's baseline lies.

    `weight` is that of the way to the baseline, where the way to the image, at 1, is walked too.
    """

    path: SalientPath
    rule: StepRule
    momentum: float
    baselines: Mapping[Direction, Tensor]  # b n each
    label: str
    weight: float = 1.0

    @property
    def directions_per_row(self) -> int:
        return len(self.baselines)

    def run(self, problem: Problem, rows: range, points: int, on_step: StepCallback | None) -> WalkRecord:
        """What the walks of these samples leave behind, one row per direction."""
        route, weight = self._route(problem, rows), self._weights().to(problem.x)
        fuse = problem.fuse
        account = ConcaveAccount(
            route, problem.features.select(route.sample), weight, self.path.most_groups(route), fuse
        )
        path = self.path if fuse is identity else replace(self.path, unordered_ties=True)
        steps = walk(JointScorer(problem, weight, fuse), route, path, self.rule, self.momentum, fuse=fuse)
        return split_directions(
            record_walk(steps, route, account, points, on_step and _count_directions(on_step, self.directions_per_row)),
            self.directions_per_row,
        )

    def _weights(self) -> Tensor:
        """d: of each direction's score in what the walk climbs, below 0 where the score should fall."""
        down = -self.weight if self.directions_per_row > 1 else -1.0
        return torch.tensor([1.0 if direction == "to_image" else down for direction in self.baselines])

    def _route(self, problem: Problem, rows: range) -> Route:
        """From (image, insertion's baseline) to (deletion's baseline, image), for the directions that are walked."""
        samples = slice(rows.start, rows.stop)
        image = problem.x[samples]
        ends = [(b[samples], image) if d == "to_image" else (image, b[samples]) for d, b in self.baselines.items()]
        start, end = (torch.cat(points, 1) for points in zip(*ends, strict=True))
        groups = problem.features.repeat(self.directions_per_row)
        sample = torch.arange(rows.start, rows.stop, device=image.device)
        return Route.between(
            start, end, sample, torch.ones_like(image[:, :1]), groups, directions_per_row=self.directions_per_row
        )


def split_directions(joint: WalkRecord, directions: int) -> WalkRecord:
    """The trace of coupled walks with one row per direction, those of a sample side by side."""
    samples = len(joint.values)
    at_failure = joint.scores[torch.arange(samples, device=joint.steps.device), joint.failed]  # R d
    return WalkRecord(
        values=joint.values.view(samples * directions, -1),
        scores=joint.scores.transpose(1, 2).flatten(0, 1),
        order=joint.order.repeat_interleave(directions, 0),
        steps=joint.steps.repeat_interleave(directions),
        blind=joint.blind.repeat_interleave(directions),
        failed=torch.where(at_failure.isfinite(), -1, joint.failed[:, None]).flatten(),
        tapes=[RowTape(t.steps, points) for t in joint.tapes for points in t.points.chunk(directions, 1)],
    )


def _count_directions(on_step: StepCallback, directions: int) -> StepCallback:
    """Every gradient of a coupled walk is one of each direction."""
    return lambda gradients, arrived: on_step(gradients * directions, arrived)
