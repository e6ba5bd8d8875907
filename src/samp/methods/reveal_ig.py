"""Reveal-IG: gradients along a path of distributions that close in on the image (Murphy and Shrestha, 2026)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from samp.attribution import Attribution
from samp.baselines import InputBaselines, black, evaluate_baseline, label_baseline, wrap_tensors
from samp.checks import check_counts, check_numbers
from samp.engine.driver import Batches, RunOptions
from samp.engine.problem import Problem
from samp.methods._common import MethodInfo, make_attribution
from samp.methods._draws import add_rows, normal_draws
from samp.progress import open_bar


@dataclass(frozen=True)
class RevealIG:
    """Integrated Gradients of the expected score under N(μ, σ²), from (baseline, `spread`) to (image, `sigma`).

    μ and log σ² go in straight lines, in `steps` parts with the gradient at the middle of each. What an element earns
    is E[∂f/∂x · (Δμ + Δlog σ · σ ε)]: by the mean that moves, and by the noise that shrinks.

    - `steps`, `draws`, `sigma`, `spread`: 50, 10, 0.25 and 1 are those of the authors' code for images
      (murphyka/Reveal-IG), and suit inputs that are normalised to mean 0 and deviation 1; for inputs from 0 to 1, say
      `baseline=0.5, spread=0.25, sigma=0.06`. Its search for each image's own `sigma`, and its other path for tables,
      are not here.
    - The authors draw ε anew at every step; here each of the `draws` keeps its ε along the whole path. The expectation
      is the same, and each draw is a path of its own, from noise to the image: so the values sum to the mean of
      f(image + σε) − f(baseline + spread · ε) over these draws, in the limit of many steps, and not only in
      expectation. That mean is the result's `score_change`. All samples of a batch get the same draws.

    >>> import samp
    >>> result = samp.explain(torch.nn.Linear(3, 1).eval(), torch.randn(2, 3), method=RevealIG(steps=40, draws=2))
    >>> bool((result.residual.abs() < 1e-3).all()), result.gradients.tolist()
    (True, [80, 80])
    """

    steps: int = 50
    draws: int = 10
    sigma: float = 0.25
    spread: float = 1.0
    baseline: InputBaselines = black
    about: ClassVar[MethodInfo] = MethodInfo(
        paper="Murphy and Shrestha, Attribution via Distributional Paths for Information Revelation, 2026",
        cost="steps gradients and 2 forwards for each draw",
        complete="in the limit of many steps, to the change of the mean score over the draws",
    )

    def __post_init__(self) -> None:
        check_counts(steps=self.steps, draws=self.draws)
        check_numbers(sigma=self.sigma, spread=self.spread)
        if not (0 < self.sigma < math.inf and 0 < self.spread < math.inf):
            raise ValueError(f"sigma and spread are deviations above 0, not {self.sigma!r} and {self.spread!r}.")
        if isinstance(self.baseline, tuple):
            raise ValueError("RevealIG walks to the image only: give one baseline, not a tuple of two.")
        object.__setattr__(self, "baseline", wrap_tensors(self.baseline))

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return the mean credit of every sample's draws."""
        batches = Batches(run.batch_size, problem.x.shape[1], problem.x.device)
        problem = problem.with_target(batches)
        mean = problem.flatten(evaluate_baseline(self.baseline, problem.inputs, run.seed))
        total, change = torch.zeros_like(problem.x), torch.zeros_like(problem.x[:, :1])
        with open_bar(problem.batch * self.draws * self.steps, "gradient", run.progress) as bar:
            for noise in normal_draws(self.draws, problem.x, run.seed):

                def work(first: int, last: int, noise: Tensor = noise) -> tuple[Tensor, Tensor]:
                    rows = torch.arange(first, last, device=problem.x.device)
                    samples = rows // len(noise)
                    return self._reveal(problem, mean[samples], samples, noise[rows % len(noise)])

                done = 0
                for credit, rise in batches.map_slices(problem.batch * len(noise), work):
                    add_rows(total, credit, done, len(noise))
                    add_rows(change, rise[:, None], done, len(noise))
                    done += len(credit)
                    bar.update(len(credit) * self.steps)
        label = replace(self, baseline=label_baseline(self.baseline))
        counts = {"gradients": self.steps * self.draws, "forwards": 2 * self.draws}
        return make_attribution(problem, total / self.draws, label, run, change=change[:, 0] / self.draws, **counts)

    def _reveal(self, problem: Problem, mean: Tensor, samples: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Return the credit of these draws (r n) and the change of the score from their start to their end (r)."""
        away, shrinking = problem.x[samples] - mean, math.log(self.sigma / self.spread)
        credit = torch.zeros_like(away)
        for k in range(int(self.steps)):
            t = (k + 0.5) / self.steps
            cloud = self.spread * math.exp(t * shrinking) * noise
            credit += problem.gradient(mean + t * away + cloud, samples) * (away + shrinking * cloud)
        with torch.no_grad():
            first, last = (
                problem.score(problem.output(x, samples), samples)
                for x in (mean + self.spread * noise, mean + away + self.sigma * noise)
            )
        return credit / self.steps, (last - first).to(credit)


METHODS = {"revealig": RevealIG()}
