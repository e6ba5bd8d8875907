"""SAMP (Eq. 8), its infinitesimal constraint (Eq. 9) and momentum (Eq. 10), and SAMP++ (Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from samp.attribution import Attribution, Direction
from samp.baselines import BaselineSetting, wrap_tensors
from samp.checks import check_numbers, check_optional_counts
from samp.engine.credit import Credit
from samp.engine.driver import RunOptions
from samp.engine.paths import SalientPath
from samp.engine.problem import Problem
from samp.methods._common import MethodInfo
from samp.methods._path_method import check_path_settings, walk_along


@dataclass(frozen=True)
class SAMP:
    """Salient manipulation path: per step, the pixels with the largest gradient projection move (Eq. 8).

    - `pixels_per_step`: s, counted in groups. `None` is the paper's: 10 up to 32 pixels, else a 14th of the groups.
    - `steps`: instead of `pixels_per_step`, s = ⌈groups / steps⌉; where samples have masks of their own, of each
      one's own groups.
    - `eta`: IC (Eq. 9), the longest step as a ratio of the walk's ‖x^E − x^S‖₁; `None` for none.
    - `momentum`: λ of MS (Eq. 10), from 0 to below 1.
    - `credit`: a name of `samp.credit`, or a function of two Steps. "momentum" is the paper's; it does not sum to the
      score change in practice, and the result reports by how much (`residual`).
    - `direction`: "to_baseline" (deletion), "to_image" (insertion), or "both", whose credits are summed.
    - `baseline`: one for both directions or a tuple (deletion, insertion): a name, number, tensor or callable each, or
      a list with one per input. `None` is zero and blurred for images in pixels or patches, and zero for all else.

    >>> import torch, samp
    >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval()
    >>> result = samp.explain(model, torch.rand(2, 1, 8, 8), method=samp.SAMP(pixels_per_step=4))
    >>> result.map.shape, result.steps["to_baseline"].tolist()
    (torch.Size([2, 8, 8]), [16, 16])
    """

    about: ClassVar[MethodInfo] = MethodInfo(
        paper="Zhang et al., ICLR 2024, Eq. 8",
        cost="2·(⌈groups/s⌉ + 1) gradients",
        complete="no; the residual is reported (`shared` credits: exactly)",
    )

    pixels_per_step: int | None = None
    eta: float | None = None
    momentum: float = 0.0
    credit: str | Credit = "momentum"
    direction: Literal["both"] | Direction = "both"
    baseline: BaselineSetting = None
    steps: int | None = None

    def __post_init__(self) -> None:
        check_optional_counts(pixels_per_step=self.pixels_per_step, steps=self.steps)
        if self.pixels_per_step and self.steps:
            raise ValueError("give pixels_per_step or steps, not both: each follows from the other.")
        check_numbers(momentum=self.momentum)
        if not 0 <= self.momentum < 1:
            raise ValueError(f"momentum λ lies from 0 to below 1, not {self.momentum}.")
        check_path_settings(self.eta, self.credit, self.direction)
        object.__setattr__(self, "baseline", wrap_tensors(self.baseline))

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Walk the salient path of every sample."""
        path = self._path(problem)
        settled = replace(self, pixels_per_step=path.size, steps=None if path.size else path.steps)
        return walk_along(path, settled, self.momentum, problem, run)

    def _path(self, problem: Problem) -> SalientPath:
        """Return the path with the given s, else the paper's; one s for all samples if their groups are the same."""
        if self.pixels_per_step:
            return SalientPath(int(self.pixels_per_step))
        if self.steps is None and problem.paper_settings and max(problem.inputs[0].shape[2:]) <= 32:
            return SalientPath(10)
        steps = self.steps or 14
        share = problem.features.share(steps)
        return SalientPath(int(share)) if isinstance(share, int) or len(share) == 1 else SalientPath(steps=steps)


@dataclass(frozen=True)
class SAMPPlusPlus(SAMP):
    """SAMP++ (Algorithm 1): SAMP with η ratio 0.1, λ 0.5 and credit by the momentum gradient.

    >>> import torch, samp
    >>> result = samp.explain(torch.nn.Linear(6, 3).eval(), torch.rand(1, 6), method=samp.SAMPPlusPlus(eta=0.5))
    >>> sorted(result.scores)
    ['to_baseline', 'to_image']
    """

    about: ClassVar[MethodInfo] = MethodInfo(
        paper="Zhang et al., ICLR 2024, Algorithm 1",
        cost="up to 2·(⌈groups/s⌉ + ⌈1/η⌉ + 1) gradients",
        complete="no; the residual is reported (`shared` credits: exactly)",
    )

    eta: float | None = 0.1
    momentum: float = 0.5


METHODS: dict[str, SAMP | SAMPPlusPlus] = {"samp++": SAMPPlusPlus(), "samp": SAMP()}
