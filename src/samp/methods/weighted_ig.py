"""Weighted IG: Integrated Gradients from several baselines, weighted by how well each ranks features (2025)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, cast

import torch
from torch import Tensor

from samp.attribution import Attribution
from samp.baselines import InputBaselines, Uniform, black, evaluate_baseline, label_baseline, white, wrap_tensors
from samp.checks import check_counts, check_numbers
from samp.engine.batches import Batches
from samp.engine.driver import RunOptions
from samp.engine.problem import Problem
from samp.errors import NonFiniteError
from samp.methods._classes import has_softmax
from samp.methods._common import MethodInfo, with_score
from samp.methods.ig import IG


@dataclass(frozen=True)
class CornerMean:
    """Images of one colour, the mean of each image's four corners (a tenth of its height); zero for other inputs.

    >>> CornerMean()(torch.eye(4)[None, None]).unique().tolist(), CornerMean()(torch.ones(1, 2)).tolist()
    ([0.5], [[0.0, 0.0]])
    """

    def __call__(self, x: Tensor) -> Tensor:
        if x.ndim != 4:
            return torch.zeros_like(x)
        size = max(int(0.1 * x.shape[2]), 1)
        rows = torch.cat([x[..., :size, :], x[..., -size:, :]], -2)
        corners = torch.cat([rows[..., :size], rows[..., -size:]], -1)
        return corners.mean((2, 3), keepdim=True).expand_as(x)


@dataclass(frozen=True)
class WeightedIG:
    """Σ w_b · IG from baseline b: a baseline weighs the more, the fewer of its first features halve the score.

    For each baseline, features are ranked by the size of their credit, and set to `fill` from the largest on; d_b is
    the number at which the score has fallen to `ratio` of the image's, found by halving intervals, and w_b is
    (1/d_b) / Σ 1/d. The score is the class's probability where the target is a class, else the target.

    Our reading of the paper and of code by one of its authors, which was not run: that code takes a single random
    point of each line for its integral, and here it is `IG` with `steps` parts. Its further choice of a part of the
    baselines is not here.

    - `baselines`: theirs are white, black and uniform noise, in pixels before normalising.
    - `fill`: theirs is the mean colour of the corners; for inputs that are no images, zero.

    The values sum to Σ w_b (f(image) − f(baseline b)), with the error of `IG`: the result's `score_change` is that sum.

    >>> import samp
    >>> net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3)).eval()
    >>> result = samp.explain(net, torch.rand(2, 6), target=0, method=WeightedIG(steps=40))
    >>> bool((result.residual.abs() < 1e-2).all()), [len(w) for w in result.details["baseline_weights"]]
    (True, [3, 3])
    """

    steps: int = 50
    baselines: tuple[InputBaselines, ...] = (black, white, Uniform())
    ratio: float = 0.5
    fill: InputBaselines = CornerMean()
    about: ClassVar[MethodInfo] = MethodInfo(
        paper="Tran Duc Tuan Kien et al., Weighted Integrated Gradients for Feature Attribution, 2025 (our reading)",
        cost="steps + 1 gradients and about log₂(features) forwards for each baseline",
        complete="in the limit of many steps, to the weighted mean over the baselines",
    )

    def __post_init__(self) -> None:
        check_counts(steps=self.steps)
        check_numbers(ratio=self.ratio)
        if not 0 < self.ratio < 1:
            raise ValueError(f"ratio is a share of the score between 0 and 1, not {self.ratio!r}.")
        if not isinstance(self.baselines, tuple) or not self.baselines:
            raise ValueError(f"baselines is a tuple of at least one baseline, not {self.baselines!r}.")
        object.__setattr__(self, "baselines", tuple(map(wrap_tensors, self.baselines)))
        object.__setattr__(self, "fill", wrap_tensors(self.fill))

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return the weighted mean of every sample's walks; `details` has the weights, one row per sample.

        Raises NonFiniteError with the result if a score was not finite for some baseline.
        """
        batches = Batches(run.batch_size, problem.x.shape[1], problem.x.device)
        problem = problem.with_target(batches)
        walks, failure = self._walk(problem, run)
        judged = with_score(problem, "probability", self, run) if has_softmax(problem) else problem
        blank = problem.flatten(evaluate_baseline(self.fill, problem.inputs, run.seed))
        needed = [self._features_needed(judged, walk, blank, batches) for walk in walks]
        counts, forwards = torch.stack([count for count, _ in needed]), sum(calls for _, calls in needed)
        weights = counts.to(problem.x.dtype).reciprocal()
        weights = weights / weights.sum(0)  # baselines b
        label = replace(self, baselines=tuple(map(label_baseline, self.baselines)), fill=label_baseline(self.fill))
        details = {"baseline_weights": weights.T.tolist(), "forwards": forwards}
        result = _blend(walks, weights, repr(label), details)
        if failure:
            raise NonFiniteError(str(failure), result)
        return result

    def _walk(self, problem: Problem, run: RunOptions) -> tuple[list[Attribution], NonFiniteError | None]:
        """Return the walk from each baseline, and the first error of samples whose score was not finite, if any."""
        walks, failure = [], None
        for baseline in self.baselines:
            try:
                walks.append(IG(int(self.steps), baseline=baseline).attribute(problem, replace(run, tape_bytes=0)))
            except NonFiniteError as error:
                walks.append(error.result)
                failure = failure or error
        return walks, failure

    def _features_needed(
        self, problem: Problem, walk: Attribution, blank: Tensor, batches: Batches
    ) -> tuple[Tensor, int]:
        """Return how many of the first features halve the score (b, at least 1), and the forwards it took."""
        parts = walk.values if isinstance(walk.values, tuple) else (walk.values,)
        sizes = problem.features.pool(problem.flatten(parts).abs())
        rank = sizes.argsort(dim=1, descending=True, stable=True).argsort(dim=1)

        def scores(taken: Tensor) -> Tensor:
            def score(first: int, last: int) -> Tensor:
                samples = torch.arange(first, last, device=problem.x.device)
                gone = problem.features.select(samples).spread((rank[samples] < taken[samples, None]).to(blank))
                x = torch.where(gone > 0, blank[samples], problem.x[samples])
                return problem.score(problem.output(x, samples), samples)

            with torch.no_grad():
                return torch.cat(list(batches.map_slices(problem.batch, score)))

        low = torch.zeros(problem.batch, dtype=torch.long, device=problem.x.device)
        high, calls = torch.full_like(low, rank.shape[1]), 1
        wanted = self.ratio * scores(low)
        while bool((high - low > 1).any()):
            middle, calls = (low + high) // 2, calls + 1
            above = scores(middle) > wanted
            low, high = torch.where(above, middle, low), torch.where(above, high, middle)
        return high, calls


def _blend(walks: list[Attribution], weights: Tensor, label: str, details: dict[str, object]) -> Attribution:
    """Return the weighted mean of results of the same samples: credit and score changes, but no walk."""

    def mean(tensors: list[Tensor]) -> Tensor:
        stacked = torch.stack(tensors)
        return (stacked * weights.view(*weights.shape, *[1] * (stacked.ndim - 2)).to(stacked)).sum(0)

    first = walks[0]
    values = (
        mean([cast(Tensor, walk.values) for walk in walks])
        if isinstance(first.values, Tensor)
        else tuple(mean(list(parts)) for parts in zip(*(walk.values for walk in walks), strict=True))
    )
    return replace(
        first,
        values=values,
        group_values=mean([walk.group_values for walk in walks]),
        score_change={"to_image": mean([walk.score_change["to_image"] for walk in walks])},
        residual_by_direction={"to_image": mean([walk.residual_by_direction["to_image"] for walk in walks])},
        gradients=torch.stack([walk.gradients for walk in walks]).sum(0),
        method=label,
        details={**first.details, **details},
        scores={},
        order={},
        steps={},
        blind={},
        tapes={},
    )


METHODS = {"weightedig": WeightedIG()}
