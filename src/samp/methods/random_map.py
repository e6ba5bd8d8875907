"""A random map: the baseline of comparisons, which every method has to beat."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from samp.attribution import Attribution
from samp.engine.batches import Batches
from samp.engine.driver import RunOptions
from samp.engine.problem import Problem
from samp.methods._common import MethodInfo, make_attribution


@dataclass(frozen=True)
class RandomMap:
    """Every group gets a number drawn uniformly from 0 to 1, which its elements share in equal parts.

    The numbers depend on the seed and on the sample itself: two images get two maps, and an image gets the same map
    alone and at any position of any batch. The model scores each sample once, so that a target or model without a score
    raises as for any other method; the map does not depend on the score.

    >>> import samp
    >>> x = torch.rand(2, 3, 4, 4)
    >>> model = torch.nn.Flatten().eval()
    >>> both, second = (samp.explain(model, images, target=0, method=RandomMap()).map for images in (x, x[1:]))
    >>> torch.equal(both[1], second[0]), torch.equal(both[0], both[1])
    (True, False)
    """

    about: ClassVar[MethodInfo] = MethodInfo("(none)", "nothing", "no")

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return a random number for every group of every sample."""
        problem = check_scores(problem, run)
        groups = problem.features
        drawn = torch.stack([_draw(x, groups.count, run.seed) for x in problem.x.cpu()]).to(problem.x)  # b g
        sizes = groups.pool(torch.ones_like(problem.x)).clamp(min=1)  # b g
        return make_attribution(problem, groups.spread(drawn / sizes), self, run)


def check_scores(problem: Problem, run: RunOptions) -> Problem:
    """Return this problem with its target known; raises for a target or a model that no other method accepts.

    Every sample is scored once: to predict its class, or to try the given target.

    >>> from samp.engine.problem import make_problem
    >>> problem = check_scores(make_problem(torch.nn.Linear(3, 2).eval(), torch.ones(1, 3), target=1), RunOptions())
    >>> problem.objective
    output at [1]
    """
    batches = Batches(run.batch_size, problem.x.shape[1], problem.x.device)
    known = problem.objective is not None
    problem = problem.with_target(batches)
    if known:
        _score_once(problem, batches)
    return problem


def _score_once(problem: Problem, batches: Batches) -> None:
    all_samples = torch.arange(problem.batch, device=problem.x.device)

    def work(first: int, last: int) -> Tensor:
        samples = all_samples[first:last]
        return problem.count_failures(problem.score(problem.output(problem.x[samples], samples), samples), samples)

    with torch.no_grad():
        list(batches.map_slices(problem.batch, work))


def _draw(x: Tensor, count: int, seed: int) -> Tensor:
    """Return so many numbers from a generator that is seeded by the sample's bytes."""
    digest = hashlib.blake2b(x.contiguous().numpy().tobytes(), digest_size=7, key=str(seed).encode()).digest()
    return torch.rand(count, generator=torch.Generator().manual_seed(int.from_bytes(digest)), dtype=torch.float64)


METHODS = {"random": RandomMap()}
