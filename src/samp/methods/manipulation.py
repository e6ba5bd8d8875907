"""SAMP (Eq. 8), its infinitesimal constraint (Eq. 9) and momentum (Eq. 10), and SAMP++ (Algorithm 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Literal

from samp import credit as credits
from samp.attribution import DIRECTIONS, Attribution, Direction
from samp.baselines import Blurred, black, make, named
from samp.credit import Credit
from samp.follow import Plan, Run, follow
from samp.names import look_up
from samp.paths import Salient
from samp.problem import Problem
from samp.step_rules import MaxL1, Unlimited
from samp.walk import StepRule


@dataclass(frozen=True)
class SAMP:
    """Salient manipulation path: per step, the pixels with the largest gradient projection move (Eq. 8).

    - `pixels_per_step`: s, counted in groups. `None` is the paper's: 10 up to 32 pixels, else a 14th of the groups.
    - `steps`: instead of `pixels_per_step`, s = ⌈groups / steps⌉; where samples have masks of their own, of each
      one's own groups.
    - `eta`: IC (Eq. 9), the longest step as a ratio of the walk's ‖x^E − x^S‖₁; `None` for none.
    - `momentum`: λ of MS (Eq. 10), from 0 to below 1.
    - `credit`: a name of `samp.credit`, or a function of two Steps. "momentum" is the paper's; it does not sum to the
      score change in practice, and the result says by how much (`residual`).
    - `direction`: "to_baseline" (deletion), "to_image" (insertion), or "both", whose credits are summed.
    - `baseline`: one for both directions or a tuple (deletion, insertion): a name, number, tensor or callable each, or
      a list with one per input. `None` is black and blurred for images in pixels, and zero for all else.

    >>> import torch, samp
    >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval()
    >>> result = samp.explain(model, torch.rand(2, 1, 8, 8), method=samp.SAMP(pixels_per_step=4))
    >>> result.map.shape, result.steps["to_baseline"].tolist()
    (torch.Size([2, 8, 8]), [16, 16])
    """

    pixels_per_step: int | None = None
    eta: float | None = None
    momentum: float = 0.0
    credit: str | Credit = "momentum"
    direction: Literal["both"] | Direction = "both"
    baseline: Any = None
    steps: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("pixels_per_step", self.pixels_per_step), ("steps", self.steps)):
            if value is not None and not (isinstance(value, Integral) and value >= 1):
                raise ValueError(f"{name} is a whole number of at least 1, not {value!r}.")
        if self.pixels_per_step and self.steps:
            raise ValueError("give pixels_per_step or steps, not both: each follows from the other.")
        if not 0 <= self.momentum < 1:
            raise ValueError(f"momentum λ lies from 0 to below 1, not {self.momentum}.")
        check_path_settings(self.eta, self.credit, self.direction)

    def attribute(self, problem: Problem, run: Run) -> Attribution:
        """Walk the salient path of every sample."""
        path = self._path(problem)
        pair = baseline_pair(self.baseline, problem)
        chosen = directions(self.direction)
        plan = Plan(
            path=path,
            rule=step_rule(self.eta),
            momentum=self.momentum,
            credit=credits.named(self.credit),
            baselines={d: problem.flatten(make(pair[d], problem.inputs, run.seed)) for d in chosen},
            label=repr(self._settled(path, tuple(labelled(pair[d]) for d in chosen))),
        )
        return follow(problem, plan, run)

    def _path(self, problem: Problem) -> Salient:
        """The path with s as asked for, else the paper's; one s for all samples where their groups are the same."""
        if self.pixels_per_step:
            return Salient(int(self.pixels_per_step))
        if self.steps is None and problem.paper_settings and max(problem.inputs[0].shape[2:]) <= 32:
            return Salient(10)
        steps = self.steps or 14
        share = problem.features.share(steps)
        return Salient(int(share)) if isinstance(share, int) or len(share) == 1 else Salient(steps=steps)

    def _settled(self, path: Salient, baseline: tuple[Any, ...]) -> SAMP:
        """This method with what it left open filled in: what results carry as their method."""
        steps = None if path.size else path.steps
        return replace(self, pixels_per_step=path.size, steps=steps, baseline=baseline)


@dataclass(frozen=True)
class SAMPPlusPlus(SAMP):
    """SAMP++ (Algorithm 1): SAMP with η ratio 0.1, λ 0.5 and credit by the momentum gradient.

    >>> import torch, samp
    >>> result = samp.explain(torch.nn.Linear(6, 3).eval(), torch.rand(1, 6), method=samp.SAMPPlusPlus(eta=0.5))
    >>> sorted(result.scores)
    ['to_baseline', 'to_image']
    """

    eta: float | None = 0.1
    momentum: float = 0.5


def directions(direction: str) -> tuple[Direction, ...]:
    """The directions to walk.

    >>> directions("both")
    ('to_baseline', 'to_image')
    """
    return look_up(direction, {"both": DIRECTIONS, **{d: (d,) for d in DIRECTIONS}}, "direction")


def step_rule(eta: float | None) -> StepRule:
    """The infinitesimal constraint of this ratio, or none."""
    return Unlimited() if eta is None else MaxL1(eta)


def check_path_settings(eta: float | None, credit: str | Credit, direction: str) -> None:
    """What every path method asks of its settings."""
    if eta is not None and not 0 < eta < math.inf:
        raise ValueError(f"eta is a ratio above 0, or None for no constraint, not {eta}.")
    directions(direction)
    credits.named(credit)


def baseline_pair(baseline: Any, problem: Problem) -> dict[Direction, Any]:
    """The baseline of each direction: as given (one for both, or a tuple of two), else the paper's where it applies."""
    if baseline is None:
        image = problem.inputs[0]
        pair = (black, Blurred.for_image(*image.shape[2:])) if problem.paper_settings else (black, black)
    else:
        pair = baseline if isinstance(baseline, tuple) else (baseline, baseline)
    if len(pair) != 2:
        raise ValueError(
            f"baseline has {len(pair)} entries: a tuple is (deletion, insertion); one per input goes in a list."
        )
    return dict(zip(DIRECTIONS, pair, strict=True))


def labelled(baseline: Any) -> Any:
    """The baseline as results name it: a tensor by its shape."""
    return [named(one) for one in baseline] if isinstance(baseline, list) else named(baseline)
