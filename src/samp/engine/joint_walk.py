"""Joint walks: all directions of a sample in one walk with one order of its features, once or several times.

The points of the d directions, laid one after the other, are one point of a larger space. There, the walk climbs
F(u, v) = f(v) − w·f(u) from (image, blurred) to (black, image), and a group holds its elements of both. Any path then
chooses by the sum of both gains, the score of u falling and that of v rising, without a change to the engine.

The weight w affects the choice only. Credit is that of the plain sum, f(v) − f(u): on the weighted curve it would not
sum to the score changes.

With several walks of a sample, each takes its gradients at points with noise of its own (`samp.engine.jitter`), and
the credit is their mean. Every walk's credit sums to the same score changes, so that of the mean does too.

Letters: r rows (one per walk of a sample), d directions, n elements of one direction, g groups, w walks of a sample.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from samp.attribution import Direction
from samp.engine.concave_credit import ConcaveAccount
from samp.engine.graded_path import GradedPath
from samp.engine.jitter import EndScores, Jitter, JitterSettings, WalkMean
from samp.engine.paths import SalientPath
from samp.engine.problem import Compiler, Problem, keep_function
from samp.engine.record import RowTape, StepCallback, WalkRecord, record_walk
from samp.engine.walk import Route, StepRule


@dataclass(frozen=True, eq=False)
class JointScorer:
    """Scores every direction at a point of the larger space, with the gradient of their weighted sum F.

    >>> from samp.engine.problem import make_problem
    >>> problem = make_problem(lambda x: x**2, torch.ones(1, 1), target=0)
    >>> both = JointScorer(problem, torch.tensor([-0.5, 1.0]))
    >>> both.value_and_gradient(torch.tensor([[3.0, 2.0]]), torch.tensor([0]))
    (tensor([[9., 4.]]), tensor([[-3.,  4.]]))
    """

    problem: Problem
    weight: Tensor  # d, below 0 where the score should fall
    compiler: Compiler = keep_function
    jitter: Jitter | None = None
    """Where the gradients are taken; None for the points themselves."""

    def value_and_gradient(self, x: Tensor, samples: Tensor) -> tuple[Tensor, Tensor]:
        """Return scores (r d) and the gradient of F (r dn) at points x (r dn); without a finite gradient, NaN.

        With jitter, `samples` are the numbers of the walks: those of sample i are from i·w on.
        """
        directions = len(self.weight)
        points = x.view(len(x) * directions, -1)
        if self.jitter is None:
            value, gradient = self.problem.value_and_gradient(points, samples.repeat_interleave(directions))
        else:
            value, gradient = self.jitter.value_and_gradient(points, samples)
        return self.compiler(_weight_gradients)(value.view(len(x), directions), gradient, self.weight)


def _weight_gradients(value: Tensor, gradient: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return the values (r d) and the gradient of their weighted sum (r dn), from their own gradients (rd n)."""
    weighted = gradient.view(*value.shape, -1) * weight[:, None]  # r d n
    failed = ~weighted.abs().amax(2).isfinite()  # r d; the walk checks rows, so the score marks the direction
    return value.masked_fill(failed, math.nan), weighted.view(len(value), -1)


@dataclass(frozen=True, eq=False)
class JointWalkPlan:
    """Plan for joint walks in all directions of a sample: path, rule, and the baseline of each direction.

    `weight` is that of the direction to the baseline; that to the image has 1. It is used only if both are walked.
    With `noise`, there are `walks` of each sample, the first of them number `first_walk` of the seed. `samp.gradual`
    plans them in rounds.
    """

    path: SalientPath | GradedPath
    rule: StepRule
    momentum: float
    baselines: Mapping[Direction, Tensor]  # b n each
    label: str
    weight: float = 1.0
    walks: int = 1
    noise: float = 0.0
    seed: int = 0
    first_walk: int = 0
    before: WalkMean | None = None
    """Walks of the samples that the result includes; those of this plan are added to it."""
    ends: EndScores = None  # type: ignore[assignment]  # made below for noise, unless given: those of earlier walks

    def __post_init__(self) -> None:
        if self.noise and self.ends is None:
            object.__setattr__(self, "ends", EndScores(self.baselines))

    @property
    def directions_per_row(self) -> int:
        return len(self.baselines)

    @property
    def rows_per_sample(self) -> int:
        return self.walks

    def can_refill(self, problem: Problem) -> bool:
        """Return False: the account of concave credit holds whole walks, which for many rows would be too much."""
        return False

    def run(self, problem: Problem, rows: range, points: int, on_step: StepCallback | None) -> WalkRecord:
        """Walk these rows and return the record, with one row per direction."""
        route, weight = self._route(problem, rows), self._weights().to(problem.x)
        compiler, directions = problem.compiler(self.path), self.directions_per_row
        places = self.path.most_groups(route) if isinstance(self.path, SalientPath) else None
        account = ConcaveAccount(route, problem.features.select(route.sample), weight, places, compiler)
        jitter = Jitter.make(problem, route, rows, self._jitter_settings(), self.ends) if self.noise else None
        if jitter:  # it has to know which walk a row is
            route = replace(route, sample=torch.arange(rows.start, rows.stop, device=route.sample.device))
        scorer = JointScorer(problem, weight, compiler, jitter)
        steps = problem.walk(scorer, route, self.path, self.rule, self.momentum)
        record = record_walk(steps, (len(rows), route.groups.count), account, points, on_step)
        return split_directions(record, directions)

    def collect(self, problem: Problem, records: Iterator[WalkRecord]) -> list[WalkRecord]:
        """Return the records, those of the walks of a sample averaged."""
        if self.walks == 1 and self.before is None:
            return list(records)
        mean = self.before or WalkMean(problem, self.directions_per_row)
        mean.add(records, self.walks)
        return [mean.record()]

    def details(self) -> Mapping[str, object]:
        """Return how many walks the result is the mean of, and its forward passes, those of the exact ends."""
        if not self.noise:
            return {}
        walks = self.walks if self.before is None else self.before.walks
        return {"forwards": 1 + self.directions_per_row, "walks": walks}

    def _jitter_settings(self) -> JitterSettings:
        return JitterSettings(self.baselines, self.noise, self.walks, self.first_walk, self.seed)

    def _weights(self) -> Tensor:
        """Return the weight of each direction's score in F (d), below 0 where the score should fall."""
        down = -self.weight if self.directions_per_row > 1 else -1.0
        return torch.tensor([1.0 if direction == "to_image" else down for direction in self.baselines])

    def _route(self, problem: Problem, rows: range) -> Route:
        """Return the route from (image, insertion's baseline) to (deletion's baseline, image), or the half in use."""
        sample = torch.arange(rows.start, rows.stop, device=problem.x.device) // self.walks
        one_each = self.walks == 1  # a slice is a view; rows of several walks are copies of their sample's

        def select(tensor: Tensor) -> Tensor:
            return tensor[rows.start : rows.stop] if one_each else tensor[sample]

        image = select(problem.x)
        ends = [(select(b), image) if d == "to_image" else (image, select(b)) for d, b in self.baselines.items()]
        start, end = (torch.cat(points, 1) for points in zip(*ends, strict=True))
        groups = problem.features.repeat(self.directions_per_row)
        return Route.between(
            start, end, sample, torch.ones_like(image[:, :1]), groups, directions_per_row=self.directions_per_row
        )


def split_directions(joint: WalkRecord, directions: int) -> WalkRecord:
    """Return the record of joint walks with one row per direction, those of a walk next to each other."""
    rows = len(joint.values)
    at_failure = joint.scores[torch.arange(rows, device=joint.steps.device), joint.failed]  # R d
    return WalkRecord(
        values=joint.values.view(rows * directions, -1),
        scores=joint.scores.transpose(1, 2).flatten(0, 1),
        order=joint.order.repeat_interleave(directions, 0),
        steps=joint.steps.repeat_interleave(directions),
        blind=joint.blind.repeat_interleave(directions),
        failed=torch.where(at_failure.isfinite(), -1, joint.failed[:, None]).flatten(),
        tapes=[RowTape(t.steps, points) for t in joint.tapes for points in t.points.chunk(directions, 1)],
    )
