"""Coupled: both directions in one walk with one order of the features, and concave credit.

The points of the d directions, laid one after the other, are one point of a larger space. There, the walk climbs
F(u, v) = f(v) − w·f(u) from (image, blurred) to (black, image), and a group holds its elements of both. Any path then
chooses by the sum of both gains, the score of u falling and that of v rising, without a change to the engine.

The weight w affects the choice only. Credit is that of the plain sum, f(v) − f(u): on the weighted curve it would not
sum to the score changes.

Letters: r rows (one per sample), d directions, n elements of one direction, g groups.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from samp.attribution import Attribution, Direction
from samp.baselines import BaselineSetting, wrap_tensors
from samp.checks import check_optional_counts
from samp.engine.concave_credit import ConcaveAccount
from samp.engine.driver import (
    RunOptions,
    StepCallback,
    directions,
    make_baselines,
    repr_with,
    run_walks,
)
from samp.engine.paths import MaxL1, SalientPath, Unlimited
from samp.engine.problem import Compiler, Problem, keep_function
from samp.engine.record import RowTape, WalkRecord, record_walk
from samp.engine.walk import Route, StepRule
from samp.lookup import look_up
from samp.methods._common import MethodInfo

Quality = Literal["draft", "standard", "fine"]


@dataclass(frozen=True)
class WalkSettings:
    """Settings of a walk: the fields of `Coupled` that `quality` determines."""

    steps: int
    eta: float
    momentum: float
    growth: float
    weight: float


QUALITIES: dict[str, WalkSettings] = {
    "draft": WalkSettings(steps=7, eta=1.0, momentum=0.3, growth=0.8, weight=0.5),
    "standard": WalkSettings(steps=15, eta=1.0, momentum=0.5, growth=0.7, weight=0.5),
    "fine": WalkSettings(steps=28, eta=0.02, momentum=0.7, growth=0.5, weight=0.5),
}
SMALL_QUALITIES: dict[str, WalkSettings] = {
    "draft": WalkSettings(steps=14, eta=1.0, momentum=0.5, growth=0.0, weight=1.0),
    "standard": WalkSettings(steps=28, eta=0.05, momentum=0.7, growth=0.5, weight=1.1),
    "fine": WalkSettings(steps=28, eta=0.02, momentum=0.8, growth=0.0, weight=1.0),
}
"""For images of up to 32 pixels a side, for which the paper has other settings as well."""


@dataclass(frozen=True)
class Coupled:
    """One walk in both directions; groups that most lower f(image → black) and raise f(blurred → image) move first.

    Each step moves the same groups by the same fraction in both directions, chosen by the weighted sum of both gains,
    each with a momentum gradient of its own. The gain is g·(x^E − x^S), so a group that η stopped half way is not at a
    disadvantage. The credit of a step is the rise of the least concave majorant of both score curves together, and the
    groups that moved in it share it in proportion to abs(gradient · move) (`samp.engine.concave_credit`). So the credit
    sums to the score changes exactly, each step earns less for each group than the one before, and a feature without
    gradient earns nothing. Credit is that of both directions together: `values` holds their sum, and the residual of
    each is 0.

    - `quality`: "draft", "standard" or "fine", points on the curve of quality against gradients. It sets the next
      six unless they are given; images of up to 32 pixels have finer steps.
    - `steps`: s = ⌈groups / steps⌉ groups move at a time; or `pixels_per_step`, s itself.
    - `eta`: IC (Eq. 9) on the longer of the two moves, each as a ratio of its walk; 1 for no constraint.
    - `momentum`: λ of MS (Eq. 10), from 0 to below 1.
    - `growth`: from 0 to 1; s and η grow linearly along the walk, from 1 − growth to 1 + growth times their value.
    - `weight`: of the gain of the walk to black, where that from blurred has 1; it affects the choice only.
    - `direction`, `baseline`: as in `SAMP`.

    >>> import torch, samp
    >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval()
    >>> result = samp.explain(model, torch.rand(2, 1, 8, 8), method=Coupled("draft"))
    >>> bool((result.residual.abs() < 1e-5).all()), torch.equal(result.order["to_image"], result.order["to_baseline"])
    (True, True)
    """

    about: ClassVar[MethodInfo] = MethodInfo(
        paper="ours; path after Zhang et al., ICLR 2024, Eq. 8 to 10",
        cost="up to 2·(⌈groups/s⌉ + 2·⌈1/η⌉ + 1) gradients",
        complete="exactly",
    )
    credit: ClassVar[str] = "concave"

    quality: Quality = "standard"
    steps: int | None = None
    eta: float | None = None
    momentum: float | None = None
    pixels_per_step: int | None = None
    growth: float | None = None
    weight: float | None = None
    direction: Literal["both"] | Direction = "both"
    baseline: BaselineSetting = None

    def __post_init__(self) -> None:
        look_up(self.quality, QUALITIES, "quality")
        check_optional_counts(pixels_per_step=self.pixels_per_step, steps=self.steps)
        if self.pixels_per_step and self.steps:
            raise ValueError("give pixels_per_step or steps, not both: each follows from the other.")
        for name in ("eta", "momentum", "growth", "weight"):
            object.__setattr__(self, name, _as_number(name, getattr(self, name)))
        if self.eta is not None and not 0 < self.eta < math.inf:
            raise ValueError(f"eta is a ratio above 0, 1 for no constraint, or None for the quality's, not {self.eta}.")
        if self.momentum is not None and not 0 <= self.momentum < 1:
            raise ValueError(f"momentum λ lies from 0 to below 1, or is None for the quality's, not {self.momentum}.")
        if self.growth is not None and not 0 <= self.growth <= 1:
            raise ValueError(f"growth lies from 0 to 1, or is None for the quality's, not {self.growth}.")
        if self.weight is not None and not 0 < self.weight < math.inf:
            raise ValueError(f"weight is a number above 0, or None for the quality's, not {self.weight}.")
        directions(self.direction)
        object.__setattr__(self, "baseline", wrap_tensors(self.baseline))

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return the attribution of every sample, walked in all directions at once."""
        settings = self.settings_for(problem)
        path = self._path(problem, settings)
        resolved = {**asdict(settings), "pixels_per_step": path.size, "steps": None if path.size else path.steps}
        baselines, baseline_label = make_baselines(self.baseline, self.direction, problem, run.seed)
        label = repr_with(self, **resolved, baseline=baseline_label)
        rule = MaxL1(settings.eta, settings.growth) if settings.eta < 1 else Unlimited()
        return run_walks(problem, JointWalkPlan(path, rule, settings.momentum, baselines, label, settings.weight), run)

    def settings_for(self, problem: Problem) -> WalkSettings:
        """Return the settings for this problem."""
        return self.resolve_settings(small=problem.paper_settings and max(problem.inputs[0].shape[2:]) <= 32)

    def resolve_settings(self, *, small: bool) -> WalkSettings:
        """Return the settings of the quality, for small images or others, overridden by the given ones."""
        own = {field.name: getattr(self, field.name) for field in fields(WalkSettings)}
        given = {name: value for name, value in own.items() if value is not None}
        return replace((SMALL_QUALITIES if small else QUALITIES)[self.quality], **given)

    def _path(self, problem: Problem, settings: WalkSettings) -> SalientPath:
        """Return the path, with one s if all samples share their groups, else with a share of each sample's own."""
        share = int(self.pixels_per_step) if self.pixels_per_step else problem.features.share(settings.steps)
        if isinstance(share, int) or len(share) == 1:
            return SalientPath(int(share), full_distance=True, growth=settings.growth)
        return SalientPath(steps=int(settings.steps), full_distance=True, growth=settings.growth)


def _as_number(name: str, value: Any) -> float | None:
    """Return a setting as a Python number, or None; raise TypeError for anything else."""
    plain = value.item() if isinstance(value, Tensor | np.ndarray) and _is_single(value) else value
    if not isinstance(plain, Real | None):
        raise TypeError(f"{name} is a number, or None for the quality's, not {value!r}.")
    if isinstance(plain, int) and abs(plain) >= 2**53:
        return float(plain)  # torch accepts no int as large
    return plain if isinstance(plain, int | float | None) else float(plain)


def _is_single(value: Any) -> bool:
    return not getattr(value, "is_nested", False) and math.prod(value.shape) == 1


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

    def value_and_gradient(self, x: Tensor, samples: Tensor) -> tuple[Tensor, Tensor]:
        """Return scores (r d) and the gradient of F (r dn) at points x (r dn); without a finite gradient, NaN."""
        directions = len(self.weight)
        each = samples.repeat_interleave(directions)
        value, gradient = self.problem.value_and_gradient(x.view(len(each), -1), each)
        return self.compiler(_weight_gradients)(value.view(len(x), directions), gradient, self.weight)


def _weight_gradients(value: Tensor, gradient: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return the values (r d) and the gradient of their weighted sum (r dn), from their own gradients (rd n)."""
    weighted = gradient.view(*value.shape, -1) * weight[:, None]  # r d n
    failed = ~weighted.abs().amax(2).isfinite()  # r d; the walk checks rows, so the score marks the direction
    return value.masked_fill(failed, math.nan), weighted.view(len(value), -1)


@dataclass(frozen=True, eq=False)
class JointWalkPlan:
    """Plan for one walk in all directions of a sample: path, rule, and the baseline of each direction.

    `weight` is that of the direction to the baseline; that to the image has 1. It is used only if both are walked.
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
        """Walk these samples and return the record, with one row per direction."""
        route, weight = self._route(problem, rows), self._weights().to(problem.x)
        compiler, places = problem.compiler(self.path), self.path.most_groups(route)
        account = ConcaveAccount(route, problem.features.select(route.sample), weight, places, compiler)
        scorer = JointScorer(problem, weight, compiler)
        steps = problem.walk(scorer, route, self.path, self.rule, self.momentum)
        callback = on_step and _count_directions(on_step, self.directions_per_row)
        return split_directions(record_walk(steps, route, account, points, callback), self.directions_per_row)

    def _weights(self) -> Tensor:
        """Return the weight of each direction's score in F (d), below 0 where the score should fall."""
        down = -self.weight if self.directions_per_row > 1 else -1.0
        return torch.tensor([1.0 if direction == "to_image" else down for direction in self.baselines])

    def _route(self, problem: Problem, rows: range) -> Route:
        """Return the route from (image, insertion's baseline) to (deletion's baseline, image), or the half in use."""
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
    """Return the record of coupled walks with one row per direction, those of a sample next to each other."""
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
    """Return the callback for a coupled walk, in which every gradient is one of each direction."""
    return lambda gradients, arrived: on_step(gradients * directions, arrived)


METHODS = {"coupled": Coupled()}
