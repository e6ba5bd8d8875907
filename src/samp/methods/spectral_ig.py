"""Spectral IG: the difference to the baseline enters from its largest singular value to its smallest (KDD 2026)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from samp.attribution import Attribution
from samp.baselines import InputBaselines, black, evaluate_baseline, label_baseline, wrap_tensors
from samp.checks import check_counts, check_numbers
from samp.engine import credit as credits
from samp.engine.credit import Credit
from samp.engine.driver import RunOptions, WalkPlan, run_walks
from samp.engine.fixed_paths import CurvePath
from samp.engine.paths import Unlimited
from samp.engine.problem import Problem
from samp.engine.walk import Route
from samp.methods._common import MethodInfo, require_image

NARROWEST = 1e-8  # the smallest width of a window, as in the authors' code


@dataclass(frozen=True)
class SpectralIG:
    """Integrated Gradients from coarse to fine: x⁰ + Σ wⱼ(t) σⱼ uⱼ vⱼᵀ, where x − x⁰ = Σ σⱼ uⱼ vⱼᵀ in each channel.

    The weight wⱼ rises linearly from 0 to 1 over a window of `width` of the path. The stronger the component, the
    earlier its window opens: at (1 − `width`) · (1 − σⱼ/σ₁), with σ₁ the largest of its channel. Between two windows
    the path may stand still: such a step earns nothing. With `width` 1 all components enter together, and that is IG.

    - `steps`, `width`, `credit`: 199 parts (200 points), 0.4 and the gradient before each part are those of the
      authors' code (leekwoon/sig). Theirs explains the class's probability; the score here is `target`'s, as for every
      method: for theirs, pass `target=lambda output: output.softmax(1)[:, c]`.
    - `baseline`: as in `SAMP`, one for the walk to the image. Ours is 0 in the space the model is fed; theirs is a
      black picture, which for a net of normalised inputs is −mean/std: `samp.baselines.Colour` makes it.

    Vectors of equal singular values are not unique: they depend on the linear algebra library.

    >>> import torch, samp
    >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval()
    >>> result = samp.explain(model, torch.rand(2, 1, 8, 8), method=SpectralIG(steps=10))
    >>> result.map.shape, bool((result.residual.abs() < 1e-5).all())
    (torch.Size([2, 8, 8]), True)
    """

    steps: int = 199
    width: float = 0.4
    credit: str | Credit = "left"
    baseline: InputBaselines = black
    about: ClassVar[MethodInfo] = MethodInfo(
        paper="Spectral Integrated Gradients, KDD 2026",
        cost="steps + 1 gradients, one SVD per channel",
        complete="in the limit of many steps",
    )

    def __post_init__(self) -> None:
        check_counts(steps=self.steps)
        check_numbers(width=self.width)
        if not 0 <= self.width <= 1:
            raise ValueError(f"width is a share of the path from 0 to 1, not {self.width!r}.")
        if isinstance(self.baseline, tuple):
            raise ValueError("SpectralIG walks to the image only: give one baseline, not a tuple of two.")
        credits.resolve_credit(self.credit)
        object.__setattr__(self, "baseline", wrap_tensors(self.baseline))

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return the credit of the spectral path of every sample; all decompositions are kept during the walks."""
        shape = require_image(problem, self).shape
        start = problem.flatten(evaluate_baseline(self.baseline, problem.inputs, run.seed))
        left, values, right = torch.linalg.svd((problem.x - start).view(shape), full_matrices=False)
        width = max(float(self.width), NARROWEST)
        opens = window_starts(values, width)

        def point(route: Route, t: float) -> Tensor:
            entered = ((t - opens) / width).clamp(0, 1) * values  # b c j
            some = route.sample
            moved: Tensor = (left[some] * entered[some][..., None, :]) @ right[some]
            return route.start + moved.flatten(1)

        plan = WalkPlan(
            path=CurvePath(int(self.steps), point),
            rule=Unlimited(),
            momentum=0.0,
            credit=credits.resolve_credit(self.credit),
            baselines={"to_image": start},
            label=repr(replace(self, baseline=label_baseline(self.baseline))),
        )
        return run_walks(problem, plan, run)


def window_starts(values: Tensor, width: float) -> Tensor:
    """Return where on the path the window of each singular value opens (… j); values fall along the last axis.

    >>> window_starts(torch.tensor([4.0, 2.0, 1.0, 0.0]), width=0.5).tolist()
    [0.0, 0.25, 0.375, 0.5]
    """
    largest = values[..., :1]
    strength = values / torch.where(largest > 0, largest, 1)  # of a channel without any difference: nothing enters
    return (1 - width) * (1 - strength)


METHODS = {"spectralig": SpectralIG()}
