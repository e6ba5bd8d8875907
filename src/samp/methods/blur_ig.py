"""BlurIG: the path from the fully blurred image to the image (Xu, Venugopalan and Sundararajan, 2020)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from samp.attribution import Attribution
from samp.checks import check_counts, check_numbers
from samp.engine import credit as credits
from samp.engine.credit import Credit
from samp.engine.driver import RunOptions, WalkPlan, run_walks
from samp.engine.fixed_paths import CurvePath
from samp.engine.paths import Unlimited
from samp.engine.problem import Problem
from samp.engine.walk import Route
from samp.methods._common import MethodInfo, ScoreName, check_score, require_image, with_score


@dataclass(frozen=True)
class BlurIG:
    """Integrated Gradients along a blur: the image sharpens from σ = `max_sigma` to 0 in `steps` parts.

    - `steps`, `max_sigma`: 100 and 50 at 224 pixels are those of the authors' code (PAIR `saliency`). `None` keeps that
      ratio at any size: 50/224 of the longer side (6.25 for MNIST).
    - `sqrt`: equal parts of the variance σ² instead of σ, up to a *variance* of `max_sigma`, as in the authors' code.
    - `credit`: a name of `samp.engine.credit`. The authors take the gradient at the sharper end of each part, times a
      derivative by σ over 0.01; "right" is their sum with `grad_step` = `max_sigma`/`steps`. The default "trapezoid"
      costs one gradient more and misses the score change by less.
    - `score`: "logit" explains the model's output for the class, "probability" its soft-max.

    The kernel is cut off at 4σ and the image is padded with zeros, so that the fully blurred image is also darker.

    >>> import torch, samp
    >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval()
    >>> result = samp.explain(model, torch.rand(2, 1, 8, 8), method=BlurIG(steps=5))
    >>> result.method, bool((result.residual.abs() < 1e-5).all())
    ("BlurIG(steps=5, max_sigma=1.7857142857142858, sqrt=False, credit='trapezoid', score='logit')", True)
    """

    steps: int = 100
    max_sigma: float | None = None
    sqrt: bool = False
    credit: str | Credit = "trapezoid"
    score: ScoreName = "logit"
    about: ClassVar[MethodInfo] = MethodInfo(
        paper="Xu et al., Attribution in Scale and Space, CVPR 2020",
        cost="steps + 1 gradients",
        complete="in the limit of many steps, to the fully blurred image",
    )

    def __post_init__(self) -> None:
        check_counts(steps=self.steps)
        check_numbers(max_sigma=1 if self.max_sigma is None else self.max_sigma)
        if self.max_sigma is not None and not 0 < self.max_sigma < math.inf:
            raise ValueError(f"max_sigma is a width above 0, in pixels, not {self.max_sigma!r}.")
        credits.resolve_credit(self.credit)
        check_score(self.score)

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return the credit of a walk from the fully blurred image to the image, for every sample."""
        shape = require_image(problem, self).shape[1:]
        widest = 50 * max(shape[1:]) / 224 if self.max_sigma is None else float(self.max_sigma)

        def at(images: Tensor, t: float) -> Tensor:
            sigma = math.sqrt(widest * (1 - t)) if self.sqrt else widest * (1 - t)
            return gaussian_blur(images.view(-1, *shape), sigma).flatten(1)

        def point(route: Route, t: float) -> Tensor:
            return at(route.end, t)

        plan = WalkPlan(
            path=CurvePath(int(self.steps), point),
            rule=Unlimited(),
            momentum=0.0,
            credit=credits.resolve_credit(self.credit),
            baselines={"to_image": at(problem.x, 0.0)},
            label=repr(replace(self, max_sigma=widest)),
        )
        return run_walks(with_score(problem, self.score, self, run), plan, run)


def gaussian_blur(images: Tensor, sigma: float) -> Tensor:
    """Return images (… h w) under a Gaussian of this σ, cut off at 4σ, padded with zeros; for σ below 1/8 unchanged.

    It is two products with small matrices, whatever the σ: on a GPU, a kernel of 401 weights costs no more than of 3.

    >>> dot = torch.zeros(1, 1, 5, 5, dtype=torch.float64)
    >>> dot[..., 2, 2] = 1
    >>> [round(gaussian_blur(dot, sigma).sum().item(), 3) for sigma in (0.0, 0.5, 50)]
    [1.0, 1.0, 0.002]
    """
    down, across = (_smoothing_matrix(size, sigma).to(images.dtype).to(images.device) for size in images.shape[-2:])
    return down @ images @ across


def _smoothing_matrix(size: int, sigma: float) -> Tensor:
    """Return a symmetric size × size matrix whose row i holds the weight of each pixel in the blurred pixel i."""
    reach = int(4 * sigma + 0.5)
    if reach == 0:
        return torch.eye(size, dtype=torch.float64)
    weights = torch.exp(-0.5 * (torch.arange(-reach, reach + 1, dtype=torch.float64) / sigma) ** 2)
    places = torch.arange(size)
    apart = places - places[:, None]
    inside = (weights / weights.sum())[apart.clamp(-reach, reach) + reach]
    return inside.masked_fill(apart.abs() > reach, 0.0)


METHODS = {"blurig": BlurIG()}
