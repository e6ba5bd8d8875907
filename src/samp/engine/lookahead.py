"""Lookahead for fixed paths: where the points of a walk are known in advance, one call of the model scores many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from samp.devices import is_out_of_memory
from samp.engine.fixed_paths import FixedPath
from samp.engine.problem import Problem
from samp.engine.walk import Path, Route, Scorer, Step, StepRule


@dataclass(frozen=True, eq=False)
class ScoredPoint:
    """A point of the path with the score and gradient there."""

    x: Tensor  # r n
    value: Tensor  # r
    gradient: Tensor  # r n


class Lookahead:
    """A fixed path that is also the `Scorer` of its walk: it scores points before the walk reaches them.

    The walk and its points are unchanged. Once a row leaves early (it failed, or did not have to move), the rest is
    walked point by point.
    """

    def __init__(self, problem: Problem, path: FixedPath, route: Route, at_once: int) -> None:
        self.problem, self.path, self.route, self.at_once = problem, path, route, at_once
        self.number = 0
        self.scored_points: dict[int, ScoredPoint] = {}

    def propose(self, step: Step, route: Route) -> Tensor:
        self.number = step.number + 1
        if len(step.rows) != len(self.route.start):
            self.at_once = 1
        if self.at_once <= 1:
            return self.path.propose(step, route)
        known = self.scored_points.get(self.number)
        # by number rather than from the rows' positions: rounding could return a point of the last call again
        return known.x if known else self.path.at(self.route, self.number)

    def value_and_gradient(self, x: Tensor, samples: Tensor) -> tuple[Tensor, Tensor]:
        if self.at_once > 1 and self.number not in self.scored_points:
            self.scored_points = {}  # freed before the next points are allocated
            self._score_ahead(x, samples)
        if self.at_once <= 1:
            return self.problem.value_and_gradient(x, samples)
        point = self.scored_points[self.number]
        return point.value, point.gradient

    def _score_ahead(self, x: Tensor, samples: Tensor) -> None:
        """Score as many points as fit; where memory runs out, halve their number permanently."""
        while self.at_once > 1 and not self.scored_points:
            try:
                self._score_points(x, samples)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                self.at_once //= 2

    def _score_points(self, x: Tensor, samples: Tensor) -> None:
        numbers = range(self.number, min(self.number + self.at_once, self.path.steps + 1))
        points = torch.stack([x, *(self.path.at(self.route, number) for number in numbers[1:])])  # k r n
        value, gradient = self.problem.value_and_gradient(points.flatten(0, 1), samples.repeat(len(numbers)))
        scored = zip(points, value.view(len(numbers), -1), gradient.view_as(points), strict=True)
        self.scored_points = {number: ScoredPoint(*point) for number, point in zip(numbers, scored, strict=True)}

    @property
    def needs_start(self) -> bool:
        return self.path.needs_start

    @property
    def is_fixed(self) -> bool:
        return True

    @property
    def may_pause(self) -> bool:
        return self.path.may_pause

    def least_steps(self, route: Route) -> int:
        return self.path.least_steps(route)

    def most_steps(self, route: Route) -> int:
        return self.path.most_steps(route)


def scorer_for(problem: Problem, path: Path, rule: StepRule, route: Route) -> tuple[Scorer, Path]:
    """Return the scorer and path to walk with: a `Lookahead` for both if the path is fixed and the batch has room."""
    at_once = problem.batches.size // len(route.start) if problem.batches else 1
    if at_once > 1 and path.is_fixed and not rule.shortens:
        ahead = Lookahead(problem, cast(FixedPath, path), route, at_once)
        return ahead, ahead
    return problem, path
