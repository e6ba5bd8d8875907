"""Consensus: the mean of several joint walks, each with noise of its own."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from typing import ClassVar, Literal

from samp.attribution import Attribution, Direction
from samp.baselines import BaselineSetting, wrap_tensors
from samp.checks import check_optional_counts, check_whole
from samp.engine.driver import RunOptions, directions, make_baselines, repr_with, run_walks
from samp.engine.joint_walk import JointWalkPlan
from samp.engine.paths import GradedPath, Unlimited
from samp.engine.problem import Problem
from samp.lookup import look_up
from samp.methods._common import MethodInfo
from samp.methods.coupled import Quality, as_number


@dataclass(frozen=True)
class WalksSettings:
    """Settings of the walks: the fields of `Consensus` that `quality` determines."""

    walks: int
    steps: int
    noise: float = 0.01
    softness: float = 0.8
    momentum: float = 0.3
    growth: float = 0.7
    weight: float = 0.5


QUALITIES: dict[str, WalksSettings] = {
    "draft": WalksSettings(walks=2, steps=8),
    "standard": WalksSettings(walks=4, steps=13),
    "fine": WalksSettings(walks=16, steps=14),
}


@dataclass(frozen=True)
class Consensus:
    """The mean of several joint walks, each of which takes its gradients at points with a little noise of its own.

    One walk that always takes the best pixels next is half chance: rounding alone makes another one of it. Here, no
    cut between pixels is hard (`samp.engine.paths.GradedPath`), and what several walks do not agree on averages out.
    What is left is clear, and comes out the same twice: the result states the `resolution` at which it does.

    Each walk goes in both directions with one order of the pixels, and earns the concave credit of `Coupled`. Noise is
    added to the points where gradients are taken, never to the ends of a walk: the credit sums to the score changes
    exactly, and a feature that the model does not use earns nothing. Walk number j of a seed is the same whatever the
    number of walks, so more walks refine a result (`samp.explain_gradually`).

    - `quality`: "draft", "standard" or "fine": 36, 112 or 480 gradients for an image. It sets the next seven unless
      they are given.
    - `walks`: how many walks the result is the mean of. With one, there is no resolution to state.
    - `steps`: of each walk.
    - `noise`: its standard deviation as a share of the image's span; for inputs other than images, of how far each
      element is from its baseline.
    - `softness`: from 0 for a hard cut to 1: how much of a step is moved by part only.
    - `momentum`: λ of MS (Eq. 10), from 0 to below 1.
    - `growth`: from 0 to 1; steps grow linearly along the walk, from 1 − growth to 1 + growth times their mean.
    - `weight`: of the gain of the walk to black, where that from blurred has 1; it affects the choice only.
    - `first_walk`: the number of the first walk; other numbers, other noise.
    - `direction`, `baseline`: as in `SAMP`.

    >>> import torch, samp
    >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval()
    >>> result = samp.explain(model, torch.rand(2, 1, 8, 8), method=Consensus("draft"))
    >>> bool((result.residual.abs() < 1e-5).all()), result.gradients.tolist(), result.resolution.shape
    (True, [36, 36], torch.Size([2]))
    """

    about: ClassVar[MethodInfo] = MethodInfo(
        paper="ours; path after Zhang et al., ICLR 2024, Eq. 8 and 10",
        cost="2·walks·(steps + 1) gradients, 3 forward passes",
        complete="exactly",
    )
    credit: ClassVar[str] = "concave"

    quality: Quality = "standard"
    walks: int | None = None
    steps: int | None = None
    noise: float | None = None
    softness: float | None = None
    momentum: float | None = None
    growth: float | None = None
    weight: float | None = None
    first_walk: int = 0
    direction: Literal["both"] | Direction = "both"
    baseline: BaselineSetting = None

    def __post_init__(self) -> None:
        look_up(self.quality, QUALITIES, "quality")
        check_optional_counts(walks=self.walks, steps=self.steps)
        check_whole("first_walk", self.first_walk, 0)
        for name in ("noise", "softness", "momentum", "growth", "weight"):
            object.__setattr__(self, name, as_number(name, getattr(self, name)))
        _check_range("noise", self.noise, self.noise is None or 0 < self.noise < math.inf, "is a share above 0")
        _check_range("softness", self.softness, 0 <= (self.softness or 0) <= 1, "lies from 0 to 1")
        _check_range("momentum", self.momentum, 0 <= (self.momentum or 0) < 1, "lies from 0 to below 1")
        _check_range("growth", self.growth, 0 <= (self.growth or 0) <= 1, "lies from 0 to 1")
        _check_range("weight", self.weight, self.weight is None or 0 < self.weight < math.inf, "is a number above 0")
        directions(self.direction)
        object.__setattr__(self, "baseline", wrap_tensors(self.baseline))

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return the mean attribution of every sample's walks."""
        settings = self.resolve_settings()
        baselines, baseline_label = make_baselines(self.baseline, self.direction, problem, run.seed)
        plan = JointWalkPlan(
            path=GradedPath(int(settings.steps), settings.softness, settings.growth),
            rule=Unlimited(),
            momentum=settings.momentum,
            baselines=baselines,
            label=repr_with(self, **asdict(settings), baseline=baseline_label),
            weight=settings.weight,
            walks=int(settings.walks),
            noise=settings.noise,
            seed=run.seed,
            first_walk=int(self.first_walk),
        )
        result = run_walks(problem, plan, run)
        return replace(result, details={**result.details, "walks": plan.walks})

    def resolve_settings(self) -> WalksSettings:
        """Return the settings of the quality, overridden by the given ones."""
        own = {field.name: getattr(self, field.name) for field in fields(WalksSettings)}
        return replace(QUALITIES[self.quality], **{name: value for name, value in own.items() if value is not None})


def _check_range(name: str, value: float | None, fits: bool, expected: str) -> None:
    if not fits:
        raise ValueError(f"{name} {expected}, or is None for the quality's, not {value}.")


METHODS = {"consensus": Consensus()}
