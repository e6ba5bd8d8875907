"""SmoothGrad: the gradient, averaged over noisy copies of the input (Smilkov et al., 2017)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from samp.attribution import Attribution
from samp.checks import check_counts, check_numbers
from samp.engine.batches import Batches
from samp.engine.driver import RunOptions
from samp.engine.problem import Problem
from samp.methods._common import MethodInfo, make_attribution
from samp.methods._draws import add_rows, normal_draws
from samp.progress import open_bar


@dataclass(frozen=True)
class SmoothGrad:
    """The mean of ∂f/∂x at x + ε over `samples` draws of ε ~ N(0, σ²), with σ = `noise` · (max x − min x).

    Published: 50 draws, and 10 to 20 % noise; the default is 15 %. All samples of a batch get the same draws, scaled by
    their own range, so a sample's map does not depend on its neighbours. Values keep the gradient's sign; the paper's
    pictures show their absolute value, which is `magnitude=True`.

    >>> import samp
    >>> net = torch.nn.Linear(3, 1).eval()
    >>> result = samp.explain(net, torch.rand(2, 3), method=SmoothGrad(samples=4))
    >>> torch.allclose(result.values, net.weight.expand(2, 3)), int(result.gradients[0])
    (True, 4)
    """

    about: ClassVar[MethodInfo] = MethodInfo("Smilkov et al., 2017", "50 gradients", "no")
    samples: int = 50
    noise: float = 0.15
    magnitude: bool = False

    def __post_init__(self) -> None:
        check_counts(samples=self.samples)
        check_numbers(noise=self.noise)
        if not 0 <= self.noise < math.inf:
            raise ValueError(f"noise is a part of the input's range, at least 0, not {self.noise}.")

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return the mean gradient of every sample's noisy copies."""
        batches = Batches(run.batch_size, problem.x.shape[1], problem.x.device)
        problem = problem.with_target(batches)
        sigma = self.deviation(problem.x.amax(1, keepdim=True) - problem.x.amin(1, keepdim=True))  # b 1
        total = torch.zeros_like(problem.x)
        with open_bar(problem.batch * self.samples, "gradient", run.progress) as bar:
            for noise in normal_draws(self.samples, problem.x, run.seed):
                done = 0
                for gradient in _gradients(problem, noise, sigma, batches):
                    add_rows(total, gradient, done, len(noise))
                    done += len(gradient)
                    bar.update(len(gradient))
        values = total / self.samples
        return make_attribution(problem, values.abs() if self.magnitude else values, self, run, gradients=self.samples)

    def deviation(self, reach: Tensor) -> Tensor:
        """Return the standard deviation of the noise for samples whose values have this range."""
        return float(self.noise) * reach


def _gradients(problem: Problem, noise: Tensor, sigma: Tensor, batches: Batches) -> Iterator[Tensor]:
    """Yield the gradients of the rows (sample, noise) in batches, a sample's rows next to each other."""

    def work(first: int, last: int) -> Tensor:
        rows = torch.arange(first, last, device=problem.x.device)
        samples = rows // len(noise)
        x = problem.x[samples] + sigma[samples] * noise[rows % len(noise)]
        return problem.gradient(x, samples)

    return batches.map_slices(problem.batch * len(noise), work)


METHODS = {"smoothgrad": SmoothGrad()}
