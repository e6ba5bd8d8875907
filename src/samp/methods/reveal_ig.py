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
from samp.engine.batches import Batches
from samp.engine.driver import RunOptions
from samp.engine.problem import Problem
from samp.methods._common import MethodInfo, make_attribution
from samp.methods._draws import add_rows, normal_draws
from samp.progress import open_bar

KEPT, WIDEST, HALVINGS, SEARCH_DRAWS = 0.95, 2.0, 15, 64  # of the search for sigma, as in the authors' code


@dataclass(frozen=True)
class RevealIG:
    """Integrated Gradients of the expected score under N(μ, σ²), from (baseline, `spread`) to (image, `sigma`).

    μ and log σ² go in straight lines, in `steps` parts with the gradient at the middle of each. What an element earns
    is E[∂f/∂x · (Δμ + Δlog σ · σ ε)]: by the mean that moves, and by the noise that shrinks.

    - `steps`, `draws`, `sigma`, `spread`: 50, 10, 0.25 and 1 are those of the authors' code for images
      (murphyka/Reveal-IG), and suit inputs that are normalised to mean 0 and deviation 1; for inputs from 0 to 1, say
      `baseline=0.5, spread=0.25, sigma=0.06`. Its other path, for tables, is not here.
    - `sigma=None` searches each sample's own, as theirs does on request: the most noise under which the mean score over
      64 draws keeps 95 % of the image's, by 15 halvings between 0 and 2; at least 1/256. `details` has it. Their draws
      are new ones in each halving, ours the same 64.
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
    sigma: float | None = 0.25
    spread: float = 1.0
    baseline: InputBaselines = black
    about: ClassVar[MethodInfo] = MethodInfo(
        paper="Murphy and Shrestha, Attribution via Distributional Paths for Information Revelation, 2026",
        cost="steps gradients and 2 forwards for each draw",
        complete="in the limit of many steps, to the change of the mean score over the draws",
    )

    def __post_init__(self) -> None:
        check_counts(steps=self.steps, draws=self.draws)
        sigma = 1.0 if self.sigma is None else self.sigma
        check_numbers(sigma=sigma, spread=self.spread)
        if not (0 < sigma < math.inf and 0 < self.spread < math.inf):
            raise ValueError(f"sigma and spread are deviations above 0, not {self.sigma!r} and {self.spread!r}.")
        if isinstance(self.baseline, tuple):
            raise ValueError("RevealIG walks to the image only: give one baseline, not a tuple of two.")
        object.__setattr__(self, "baseline", wrap_tensors(self.baseline))

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return the mean credit of every sample's draws."""
        batches = Batches(run.batch_size, problem.x.shape[1], problem.x.device)
        problem = problem.with_target(batches)
        mean = problem.flatten(evaluate_baseline(self.baseline, problem.inputs, run.seed))
        sigma = self._end_width(problem, batches, run.seed)
        total, change = torch.zeros_like(problem.x), torch.zeros_like(problem.x[:, :1])
        with open_bar(problem.batch * self.draws * self.steps, "gradient", run.progress) as bar:
            for noise in normal_draws(self.draws, problem.x, run.seed):

                def work(first: int, last: int, noise: Tensor = noise) -> tuple[Tensor, Tensor]:
                    rows = torch.arange(first, last, device=problem.x.device)
                    samples = rows // len(noise)
                    return self._reveal(problem, mean[samples], sigma[samples], samples, noise[rows % len(noise)])

                done = 0
                for credit, rise in batches.map_slices(problem.batch * len(noise), work):
                    add_rows(total, credit, done, len(noise))
                    add_rows(change, rise[:, None], done, len(noise))
                    done += len(credit)
                    bar.update(len(credit) * self.steps)
        label = replace(self, baseline=label_baseline(self.baseline))
        searched = 0 if self.sigma is not None else 1 + HALVINGS * SEARCH_DRAWS
        counts = {"gradients": self.steps * self.draws, "forwards": 2 * self.draws + searched}
        result = make_attribution(problem, total / self.draws, label, run, change=change[:, 0] / self.draws, **counts)
        return result if searched == 0 else replace(result, details={**result.details, "sigma": sigma[:, 0].tolist()})

    def _end_width(self, problem: Problem, batches: Batches, seed: int) -> Tensor:
        """Return the noise at the end of each sample's path (b 1)."""
        if self.sigma is not None:
            return torch.full_like(problem.x[:, :1], self.sigma)
        everyone = torch.arange(problem.batch, device=problem.x.device)
        clean = _scores(problem, batches, problem.x, everyone)
        low, high = torch.zeros_like(clean), torch.full_like(clean, WIDEST)
        for _ in range(HALVINGS):
            middle, total = (low + high) / 2, torch.zeros_like(clean)
            for noise in normal_draws(SEARCH_DRAWS, problem.x, seed):
                for one in noise:
                    total += _scores(problem, batches, problem.x + middle[:, None] * one, everyone)
            enough = total / SEARCH_DRAWS >= KEPT * clean
            low, high = torch.where(enough, middle, low), torch.where(enough, high, middle)
        return low.clamp(min=1 / 256)[:, None]

    def _reveal(
        self, problem: Problem, mean: Tensor, sigma: Tensor, samples: Tensor, noise: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the credit of these draws (r n) and the change of the score from their start to their end (r)."""
        away, shrinking = problem.x[samples] - mean, (sigma / self.spread).log()
        credit = torch.zeros_like(away)
        for k in range(int(self.steps)):
            t = (k + 0.5) / self.steps
            cloud = self.spread * (t * shrinking).exp() * noise
            credit += problem.gradient(mean + t * away + cloud, samples) * (away + shrinking * cloud)
        with torch.no_grad():
            first, last = (
                problem.score(problem.output(x, samples), samples)
                for x in (mean + self.spread * noise, mean + away + sigma * noise)
            )
        return credit / self.steps, (last - first).to(credit)


def _scores(problem: Problem, batches: Batches, x: Tensor, samples: Tensor) -> Tensor:
    """Return the scores at points x of these samples (b)."""

    def score(first: int, last: int) -> Tensor:
        return problem.score(problem.output(x[first:last], samples[first:last]), samples[first:last])

    with torch.no_grad():
        return torch.cat(list(batches.map_slices(len(x), score))).to(x)


METHODS = {"revealig": RevealIG()}
