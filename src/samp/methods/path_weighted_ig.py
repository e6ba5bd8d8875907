"""Path-Weighted IG: the integral of Integrated Gradients under a weight along the path (Kamalov et al., 2025)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from samp.attribution import Attribution
from samp.baselines import InputBaselines, black, evaluate_baseline, label_baseline, wrap_tensors
from samp.checks import check_counts, check_numbers, is_number
from samp.engine import credit as credits
from samp.engine.credit import Credit
from samp.engine.driver import RunOptions, WalkPlan, run_walks
from samp.engine.fixed_paths import StraightPath
from samp.engine.paths import Unlimited
from samp.engine.problem import Problem
from samp.engine.walk import Step
from samp.errors import NonFiniteError
from samp.methods._common import MethodInfo

PathWeight = Callable[[float], float]
"""The weight of a point of the path, at t from 0 (baseline) to 1 (image)."""


@dataclass(frozen=True)
class Power:
    """The weight t^`exponent`: 0 is Integrated Gradients, and larger ones stress the end at the image.

    Under the weight t, the credit is the mean of IG over baselines drawn evenly from the straight line itself
    (Kamalov et al., Path-sampled integrated gradients).
    """

    exponent: float = 1.0

    def __post_init__(self) -> None:
        check_numbers(exponent=self.exponent)

    def __call__(self, t: float) -> float:
        return float(t**self.exponent)


@dataclass(frozen=True)
class PathWeightedIG:
    """(x − x⁰) ∫ w(t) ∇f(x⁰ + t (x − x⁰)) dt in `steps` equal parts: Integrated Gradients with a weight w.

    Our reading: the definition is the paper's, no code of it is public, and which weights its authors used could not be
    read, so the default t is ours. Each part has the weight of its middle; the weights are not normalised.

    - `weight`: a function of t, from 0 at the baseline to 1 at the image, such as `Power(2)`.
    - `credit`, `baseline`: as in `SpectralIG`, one baseline for the walk to the image.

    The values do not sum to f(image) − f(baseline) but to ∫ w df along the line, and this is the result's
    `score_change`: for w = t it is f(image) less the mean score along the line.

    >>> import samp
    >>> result = samp.explain(torch.nn.Linear(3, 1).eval(), torch.rand(1, 3), method=PathWeightedIG(steps=4))
    >>> ig = samp.explain(torch.nn.Linear(3, 1).eval(), torch.rand(1, 3), method=PathWeightedIG(4, Power(0)))
    >>> bool((result.residual.abs() < 1e-5).all()), bool((ig.residual.abs() < 1e-5).all())
    (True, True)
    """

    steps: int = 50
    weight: PathWeight = Power(1.0)
    credit: str | Credit = "trapezoid"
    baseline: InputBaselines = black
    about: ClassVar[MethodInfo] = MethodInfo(
        paper="Kamalov et al., Path-Weighted Integrated Gradients, 2025 (our reading)",
        cost="steps + 1 gradients",
        complete="no: in the limit of many steps to ∫ w df along the path",
    )

    def __post_init__(self) -> None:
        check_counts(steps=self.steps)
        if not callable(self.weight):
            raise TypeError(f"weight is a function of t from 0 to 1, such as Power(2), not {self.weight!r}.")
        if isinstance(self.baseline, tuple):
            raise ValueError("PathWeightedIG walks to the image only: give one baseline, not a tuple of two.")
        credits.resolve_credit(self.credit)
        object.__setattr__(self, "baseline", wrap_tensors(self.baseline))

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return the weighted credit of every sample; raises ValueError for a weight that is no finite number."""
        weights = self._weights()
        plan = WalkPlan(
            path=StraightPath(int(self.steps)),
            rule=Unlimited(),
            momentum=0.0,
            credit=WeightedCredit(credits.resolve_credit(self.credit), tuple(weights)),
            baselines={"to_image": problem.flatten(evaluate_baseline(self.baseline, problem.inputs, run.seed))},
            label=repr(replace(self, baseline=label_baseline(self.baseline))),
        )
        try:
            return _with_weighted_change(run_walks(problem, plan, run), weights)
        except NonFiniteError as error:
            raise NonFiniteError(str(error), _with_weighted_change(error.result, weights)) from error

    def _weights(self) -> list[float]:
        """Return the weight of each part, at its middle."""
        weights = [self.weight((k + 0.5) / self.steps) for k in range(int(self.steps))]
        for value in weights:
            if not (is_number(value) and math.isfinite(value)):
                raise ValueError(f"weight returns a finite number for every t from 0 to 1, not {value!r}.")
        return [float(value) for value in weights]


def _with_weighted_change(result: Attribution, weights: list[float]) -> Attribution:
    """Return the result with ∫ w df along each walk as its score change, and the residual against it."""
    scores = result.scores["to_image"].double()  # b k+1, NaN after a row's end
    rises = scores.diff(dim=1) * torch.tensor(weights[: scores.shape[1] - 1]).to(scores)
    whole = result.score_change["to_image"]
    change = rises.nansum(1) + 0 * whole  # NaN where the walk failed
    missed = change - (whole - result.residual_by_direction["to_image"])
    return replace(
        result,
        score_change={"to_image": change.to(whole)},
        residual_by_direction={"to_image": missed.to(result.group_values)},
    )


@dataclass(frozen=True)
class WeightedCredit:
    """Another credit, times the weight of the step."""

    base: Credit
    weights: tuple[float, ...]

    def __call__(self, before: Step, after: Step) -> Tensor:
        return self.weights[before.number] * self.base(before, after)


METHODS = {"pwig": PathWeightedIG()}
