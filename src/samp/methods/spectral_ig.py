"""Spectral IG: the difference to the baseline enters from its largest singular value to its smallest (KDD 2026)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar

import torch
from torch import Tensor

from samp import credit as credits
from samp.attribution import Attribution
from samp.baselines import black, make
from samp.credit import Credit
from samp.follow import Plan, Run, follow
from samp.methods.path_settings import labelled, wrapped
from samp.methods.result import About, only_images
from samp.paths import Curve
from samp.problem import Problem
from samp.step_rules import Unlimited
from samp.walk import Route


@dataclass(frozen=True)
class SpectralIG:
    """Integrated Gradients from coarse to fine: x⁰ + Σ wⱼ(t) σⱼ uⱼ vⱼᵀ, where x − x⁰ = Σ σⱼ uⱼ vⱼᵀ in each channel.

    Published to us is the idea alone: an SVD per channel, large singular values first, overlapping windows. Our reading
    of the rest: wⱼ rises linearly from 0 to 1 over a window of `width` of the whole path, and the windows of the
    components that are more than rounding begin at equal distances, the first at 0 and the last at 1 − `width`. With
    `width` 1 all enter together, and that is IG. A window is never narrower than it takes to leave no gap between two.

    - `steps`, `width`: 50 parts, as for our IG, and windows of a quarter of the path.
    - `baseline`: as in `SAMP`, one for the walk to the image.

    Where singular values are equal, their vectors are the choice of the linear algebra library.

    >>> import torch, samp
    >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval()
    >>> result = samp.explain(model, torch.rand(2, 1, 8, 8), method=SpectralIG(steps=10))
    >>> result.map.shape, bool((result.residual.abs() < 1e-5).all())
    (torch.Size([2, 8, 8]), True)
    """

    steps: int = 50
    width: float = 0.25
    credit: str | Credit = "trapezoid"
    baseline: Any = black
    about: ClassVar[About] = About(
        paper="Spectral Integrated Gradients, KDD 2026 (our reading)",
        cost="steps + 1 gradients, one SVD per channel",
        complete="in the limit of many steps",
    )

    def __post_init__(self) -> None:
        if not (isinstance(self.steps, Integral) and self.steps >= 1):
            raise ValueError(f"steps is a whole number of at least 1, not {self.steps!r}.")
        if not 0 <= self.width <= 1:
            raise ValueError(f"width is a share of the path from 0 to 1, not {self.width!r}.")
        if isinstance(self.baseline, tuple):
            raise ValueError("SpectralIG walks to the image only: give one baseline, not a tuple of two.")
        credits.named(self.credit)
        object.__setattr__(self, "baseline", wrapped(self.baseline))

    def attribute(self, problem: Problem, run: Run) -> Attribution:
        """Walk the spectral path of every sample; the decompositions of all are made beforehand and kept."""
        shape = only_images(problem, self).shape
        start = problem.flatten(make(self.baseline, problem.inputs, run.seed))
        left, values, right = torch.linalg.svd((problem.x - start).view(shape), full_matrices=False)
        opens, width = windows(values, float(self.width))

        def point(route: Route, t: float) -> Tensor:
            entered = ((t - opens) / width).clamp(0, 1) * values  # b c j
            some = route.sample
            moved: Tensor = (left[some] * entered[some][..., None, :]) @ right[some]
            return route.start + moved.flatten(1)

        plan = Plan(
            path=Curve(int(self.steps), point),
            rule=Unlimited(),
            momentum=0.0,
            credit=credits.named(self.credit),
            baselines={"to_image": start},
            label=repr(replace(self, baseline=labelled(self.baseline))),
        )
        return follow(problem, plan, run)


def windows(values: Tensor, width: float) -> tuple[Tensor, Tensor]:
    """When each singular value's window opens (… j), and how wide the windows of its channel are (… 1).

    What is no more than rounding enters with the last that is more.

    >>> opens, width = windows(torch.tensor([4.0, 2.0, 1.0, 0.0]), 0.5)
    >>> opens.tolist(), width.tolist()
    ([0.0, 0.25, 0.5, 0.5], [0.5])
    """
    rounding = 1024 * torch.finfo(values.dtype).eps * values[..., :1]
    rank = (values > rounding).sum(-1, keepdim=True).clamp(min=1)
    wide = (1 / rank.to(values)).clamp(min=width)
    place = torch.arange(values.shape[-1], device=values.device).minimum(rank - 1)
    return (1 - wide) * place / (rank - 1).clamp(min=1), wide


METHODS = {"spectralig": SpectralIG()}
