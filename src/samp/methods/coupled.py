"""Coupled: both directions in one walk with one order of the features, and concave credit."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from torch import Tensor

from samp.attribution import Attribution, Direction
from samp.baselines import BaselineSetting, wrap_tensors
from samp.checks import check_optional_counts
from samp.engine.driver import RunOptions, directions, make_baselines, repr_with, run_walks
from samp.engine.joint_walk import JointWalkPlan
from samp.engine.paths import MaxL1, SalientPath, Unlimited
from samp.engine.problem import Problem
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
            object.__setattr__(self, name, as_number(name, getattr(self, name)))
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


def as_number(name: str, value: Any) -> float | None:
    """Return a setting as a Python number, or None; raise TypeError for anything else."""
    plain = value.item() if isinstance(value, Tensor | np.ndarray) and _is_single(value) else value
    if not isinstance(plain, Real | None):
        raise TypeError(f"{name} is a number, or None for the quality's, not {value!r}.")
    if isinstance(plain, int) and abs(plain) >= 2**53:
        return float(plain)  # torch accepts no int as large
    return plain if isinstance(plain, int | float | None) else float(plain)


def _is_single(value: Any) -> bool:
    return not getattr(value, "is_nested", False) and math.prod(value.shape) == 1


METHODS = {"coupled": Coupled()}
