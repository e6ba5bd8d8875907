"""Scores of samples with some of their features hidden, by forwards batched over samples *and* points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from samp.baselines import Blurred, evaluate_baseline
from samp.checks import check_flag, check_seed
from samp.engine.batches import Batches, BatchSize, check_batch_size
from samp.engine.inputs import Inputs
from samp.engine.problem import Problem, make_problem
from samp.groups import Channels, Groups
from samp.isolation import isolate
from samp.metrics.fills import ElementFill, Fill, ImageFill, Imputer
from samp.metrics.score_spaces import ScoreSpace, get_score_space
from samp.progress import open_bar
from samp.targets import Model, Target


@dataclass(frozen=True)
class ScoringOptions:
    """How a metric calls the model; the batch size never changes its result."""

    forward_args: object = ()
    batch_size: BatchSize = "auto"
    progress: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        check_batch_size(self.batch_size)
        check_flag("progress", self.progress)
        object.__setattr__(self, "seed", check_seed(self.seed))


class MaskedScorer:
    """Scores a problem's samples with features hidden.

    >>> net = torch.nn.Linear(3, 2).eval()
    >>> with open_scorer(net, torch.rand(2, 3), 0, None, "logit", ScoringOptions()) as scorer:
    ...     nothing = lambda samples, numbers: torch.zeros(len(samples), 3).bool()
    ...     scorer.scores(scorer.make_masker(0.0), 4, nothing).shape
    torch.Size([2, 4])
    """

    def __init__(self, problem: Problem, space: ScoreSpace, settings: ScoringOptions) -> None:
        self.batches = Batches(settings.batch_size, problem.x.shape[1], problem.x.device)
        self.problem = problem.with_target(self.batches)
        self.space, self.seed, self.forwards = space, settings.seed, 0
        self.bar = open_bar(0, "forward", settings.progress)

    def expect(self, points: int) -> None:
        """Set the progress bar to the number of points of each sample that will be scored in all."""
        self.bar.total = self.problem.batch * points

    def make_masker(self, fill: Fill) -> Masker:
        """Return a function of (missing groups: r g, samples: r) that gives points (r n) which show this fill there."""
        problem = self.problem
        if isinstance(fill, Imputer | ImageFill | Blurred):
            problem.check_layout()
        if isinstance(fill, Imputer):
            return _image_masker(problem, fill)
        if isinstance(fill, ElementFill):
            return _element_masker(problem, fill)
        filled = problem.flatten(evaluate_baseline(fill, problem.inputs, self.seed))  # b n
        buffers = RowBuffers(problem.x)

        def hide(missing: Tensor, samples: Tensor) -> Tensor:
            visible, hidden = buffers.gather(problem.x, samples, 0), buffers.gather(filled, samples, 1)
            return problem.features.select(samples).where(missing, hidden, visible, out=buffers.rows(len(samples), 2))

        return hide

    def scores(self, hide: Masker, points: int, missing: MissingMask) -> Tensor:
        """b × points: each sample's scores; `missing(samples, numbers)` gives the groups hidden at these points.

        All points of all samples are rows of one list, which is cut into batches without waiting for the device.
        """
        device = self.problem.x.device

        def work(first: int, last: int) -> Tensor:
            rows = torch.arange(first, last, device=device)
            samples, numbers = rows // points, rows % points
            scores = self._score(hide(missing(samples, numbers), samples), samples)
            self.bar.update(last - first)  # not before: a batch that runs out of memory is done again
            return scores

        count = self.problem.batch * points
        self.bar.total = max(self.bar.total or 0, self.bar.n + count)
        with torch.no_grad():
            scores = torch.cat(list(self.batches.map_slices(count, work)))
        self.forwards += points
        return _check_finite(scores.view(self.problem.batch, points))

    def describe(self, score: str | ScoreSpace, **settings: object) -> dict[str, Any]:
        """What travels with a result: the problem, these settings, the score space, forwards per sample and seed."""
        return {
            **self.problem.describe(),
            **settings,
            "score": score if isinstance(score, str) else repr(score),
            "forwards": self.forwards,
            "seed": self.seed,
        }

    def _score(self, x: Tensor, samples: Tensor) -> Tensor:
        output = self.problem.output(x, samples, give_away=True)  # points are made for one call each
        return self.problem.score(self.space(output), samples).to(x.dtype, copy=True)  # it may be a part of the points


class RowBuffers:
    """Memory for points, reused by every batch: allocating it anew would cost more than writing to it."""

    def __init__(self, like: Tensor) -> None:
        self.like, self.buffers = like, dict[int, Tensor]()

    def rows(self, count: int, which: int) -> Tensor:
        """count n: the first rows of buffer number `which`, not initialised."""
        if which not in self.buffers or len(self.buffers[which]) < count:
            self.buffers[which] = self.like.new_empty(count, self.like.shape[1])
        return self.buffers[which][:count]

    def gather(self, x: Tensor, samples: Tensor, which: int) -> Tensor:
        """x[samples]; on a CPU, where the check costs nothing, rows of a single sample are a view."""
        if samples.device.type == "cpu" and bool((samples == samples[0]).all()):
            return x[int(samples[0])].expand(len(samples), -1)
        return torch.index_select(x, 0, samples, out=self.rows(len(samples), which))


def _check_finite(scores: Tensor) -> Tensor:
    """Return the scores (b × points); raise ValueError if one is NaN or Inf."""
    failed = (~scores.isfinite()).any(1)
    if bool(failed.any()):
        raise ValueError(
            f"the model's score is NaN or Inf in samples {failed.nonzero().squeeze(1).tolist()} with features hidden: "
            "leave them out, or take float32 inputs or another fill."
        )
    return scores


Masker = Callable[[Tensor, Tensor], Tensor]  # missing groups (r g), samples (r) → points (r n)
MissingMask = Callable[[Tensor, Tensor], Tensor]  # samples (r), numbers of points (r) → missing groups (r g)


@contextmanager
def open_scorer(
    model: Model,
    inputs: Inputs,
    target: Target,
    groups: Groups | None,
    score: str | ScoreSpace,
    settings: ScoringOptions,
) -> Iterator[MaskedScorer]:
    """Yield a scorer of these samples, and restore the model and the caller's random state afterwards."""
    with torch.inference_mode(False):
        problem = make_problem(model, inputs, target, groups, settings.forward_args)
        with isolate(problem.model, problem.x.device, settings.seed):
            scorer = MaskedScorer(problem, get_score_space(score), settings)
            with scorer.bar:
                yield scorer


def _element_masker(problem: Problem, fill: ElementFill) -> Masker:
    def hide(missing: Tensor, samples: Tensor) -> Tensor:
        return fill.fill_elements(problem.x[samples], problem.features.select(samples).spread(missing))

    return hide


def _image_masker(problem: Problem, fill: Imputer) -> Masker:
    if len(problem.inputs) != 1 or problem.inputs[0].ndim != 4:
        raise ValueError(f"{fill!r} fills one b c h w image input: pass a baseline for anything else.")
    shape = problem.inputs[0].shape[1:]

    def hide(missing: Tensor, samples: Tensor) -> Tensor:
        spread = problem.features.select(samples).spread(missing).view(-1, *shape)
        pixels = spread[:, 0]
        whole_pixels = isinstance(problem.features, Channels) and problem.features.channels == shape[0]
        if not whole_pixels and not bool((spread == pixels[:, None]).all()):
            raise ValueError(f"{fill!r} fills whole pixels: let each pixel's channels belong to one group.")
        return fill.impute(problem.x[samples].view(-1, *shape), pixels).flatten(1)

    return hide
