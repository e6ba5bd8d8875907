"""Two rivals as the authors' benchmark runs them, where no setting of samp's own methods says so."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from samp.attribution import Attribution
from samp.checks import check_counts, check_numbers
from samp.engine.batches import Batches
from samp.engine.driver import RunOptions
from samp.engine.problem import Problem
from samp.methods._common import MethodInfo, ScoreName, check_score, make_attribution, require_image, with_score
from samp.methods.blur_ig import gaussian_blur
from samp.methods.smoothgrad import SmoothGrad


@dataclass(frozen=True)
class SquaredNoise(SmoothGrad):
    """SmoothGrad whose noise has the standard deviation (`noise` · range)²: a variance taken for a deviation.

    >>> SquaredNoise(noise=0.5).deviation(torch.tensor(4.0))
    tensor(4.)
    """

    about: ClassVar[MethodInfo] = replace(SmoothGrad.about, implementation="ours, for the authors' reading")

    def deviation(self, reach: Tensor) -> Tensor:
        return super().deviation(reach) ** 2


@dataclass(frozen=True)
class DerivativeBlurIG:
    """Blur IG by the derivative of the blur, as PAIR's package has it: −Σ Δσ · ∂B(x, σ)/∂σ · ∇f(B(x, σ)), σ from 0 up.

    The derivative is a difference over `grad_step`. At σ = 0 it vanishes, since so narrow a blur changes nothing: the
    last part of the way, from a blur of `max_sigma`/`steps` to the image, gets no credit. `samp.methods.BlurIG` takes
    the difference of neighbouring blurs instead, which leaves nothing out.

    >>> import samp
    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 5)).eval()
    >>> int(samp.explain(net, torch.rand(1, 1, 8, 8), method=DerivativeBlurIG(steps=7)).gradients[0])
    7
    """

    about: ClassVar[MethodInfo] = MethodInfo(
        "Xu et al., CVPR 2020", "100 gradients", "no", "ours, for the authors' reading"
    )
    steps: int = 100
    max_sigma: float = 50.0
    grad_step: float = 0.01
    score: ScoreName = "probability"

    def __post_init__(self) -> None:
        check_counts(steps=self.steps)
        check_numbers(max_sigma=self.max_sigma, grad_step=self.grad_step)
        check_score(self.score)

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return the sum over all blurs of every sample."""
        shape = require_image(problem, self).shape[1:]
        problem = with_score(problem, self.score, self, run)
        batches = Batches(run.batch_size, problem.x.shape[1], problem.x.device)
        total = torch.zeros_like(problem.x)
        for step in range(self.steps):
            sigma = self.max_sigma * step / self.steps
            blurred, wider = (
                gaussian_blur(problem.x.double().view(-1, *shape), width).flatten(1)
                for width in (sigma, sigma + self.grad_step)
            )
            slope = (wider - blurred) / self.grad_step  # in float64: it is a small difference
            total -= (self.max_sigma / self.steps * slope).to(total) * _gradient(problem, blurred.to(total), batches)
        return make_attribution(problem, total, self, run, gradients=self.steps)


def _gradient(problem: Problem, x: Tensor, batches: Batches) -> Tensor:
    everyone = torch.arange(problem.batch, device=x.device)

    def work(first: int, last: int) -> Tensor:
        return problem.gradient(x[first:last], everyone[first:last])

    return torch.cat(list(batches.map_slices(problem.batch, work)))
