"""The judge: scores of samples some of whose features are hidden, by forwards batched over samples *and* points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from samp.baselines import Blurred, evaluate_baseline
from samp.checks import check_flag, check_seed
from samp.engine.driver import Batches, BatchSize, check_batch_size
from samp.engine.inputs import Inputs
from samp.engine.problem import Problem, make_problem
from samp.groups import Channels, Groups
from samp.isolation import isolate
from samp.metrics.score_spaces import ScoreSpace, get_score_space
from samp.progress import open_bar
from samp.targets import Target


@runtime_checkable
class Imputer(Protocol):
    """A fill that depends on what is left to see, such as `NoisyLinear`."""

    def impute(self, images: Tensor, missing: Tensor) -> Tensor:
        """r c h w images with the missing pixels (r h w) made up."""
        ...


@runtime_checkable
class ElementFill(Protocol):
    """A fill that depends on which elements are left to see, such as `RemainingMean`."""

    def fill_elements(self, x: Tensor, missing: Tensor) -> Tensor:
        """r n points with their missing elements (r n, bool) filled."""
        ...


class ImageFill:
    """Marks a fill that tells the channels of an image from its pixels, as `ChannelMeans` does."""


def depends_on_visible(fill: Any) -> bool:
    """Whether a fill is made of what is left to see, and so is no baseline.

    >>> depends_on_visible(0.0)
    False
    """
    return isinstance(fill, Imputer | ElementFill)


@dataclass(frozen=True)
class ScoringOptions:
    """What a metric hands on to the model, and how it goes about it; the batch size never changes its result."""

    forward_args: Any = ()
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
        """Tell the bar how many points of each sample will be scored in all, so that it need not start anew."""
        self.bar.total = self.problem.batch * points

    def make_masker(self, fill: Any) -> Masker:
        """The way from (which groups are missing: r g, samples: r) to points (r n) that show this fill there."""
        problem = self.problem
        if isinstance(fill, Imputer | ImageFill | Blurred):
            problem.check_layout()
        if isinstance(fill, Imputer):
            return _image_masker(problem, fill)
        if isinstance(fill, ElementFill):
            return _element_masker(problem, fill)
        filled = problem.flatten(evaluate_baseline(fill, problem.inputs, self.seed))  # b n
        room = RowBuffers(problem.x)

        def hide(missing: Tensor, samples: Tensor) -> Tensor:
            shown, hidden = room.gather(problem.x, samples, 0), room.gather(filled, samples, 1)
            return problem.features.select(samples).where(missing, hidden, shown, out=room.rows(len(samples), 2))

        return hide

    def scores(self, hide: Masker, points: int, missing: MissingMask) -> Tensor:
        """b × points: each sample's scores, where `missing(samples, numbers)` says which groups its points hide.

        Rows of all samples and points stand in one list, cut into batches; the host waits for none of them.
        """
        device = self.problem.x.device

        def work(first: int, last: int) -> Tensor:
            rows = torch.arange(first, last, device=device)
            samples, numbers = rows // points, rows % points
            scores = self._score(hide(missing(samples, numbers), samples), samples)
            self.bar.update(last - first)  # not before: what does not fit is done again
            return scores

        count = self.problem.batch * points
        self.bar.total = max(self.bar.total or 0, self.bar.n + count)
        with torch.no_grad():
            scores = torch.cat(list(self.batches.map_slices(count, work)))
        self.forwards += points
        return _check_finite(scores.view(self.problem.batch, points))

    def _score(self, x: Tensor, samples: Tensor) -> Tensor:
        output = self.problem.output(x, samples, give_away=True)  # points are made for one call each
        return self.problem.score(self.space(output), samples).to(x.dtype, copy=True)  # it may be a part of the points


class RowBuffers:
    """Memory for points that is used again by every batch: fresh memory would cost more than what is written to it."""

    def __init__(self, like: Tensor) -> None:
        self.like, self.buffers = like, dict[int, Tensor]()

    def rows(self, count: int, which: int) -> Tensor:
        """count n, of whatever was there before."""
        if which not in self.buffers or len(self.buffers[which]) < count:
            self.buffers[which] = self.like.new_empty(count, self.like.shape[1])
        return self.buffers[which][:count]

    def gather(self, x: Tensor, samples: Tensor, which: int) -> Tensor:
        """These rows of x; on a CPU, where looking costs nothing, those of a single sample are not written out."""
        if samples.device.type == "cpu" and bool((samples == samples[0]).all()):
            return x[int(samples[0])].expand(len(samples), -1)
        return torch.index_select(x, 0, samples, out=self.rows(len(samples), which))


def _check_finite(scores: Tensor) -> Tensor:
    """The scores (b × points) as they are; raises ValueError if a sample has one that is NaN or Inf."""
    failed = (~scores.isfinite()).any(1)
    if bool(failed.any()):
        raise ValueError(
            f"the model's score is NaN or Inf in samples {failed.nonzero().squeeze(1).tolist()} with features hidden: "
            "leave them out, or take float32 inputs or another fill."
        )
    return scores


Masker = Callable[[Tensor, Tensor], Tensor]
MissingMask = Callable[[Tensor, Tensor], Tensor]


@contextmanager
def open_scorer(
    model: Callable[..., Any],
    inputs: Inputs,
    target: Target,
    groups: Groups | None,
    score: str | ScoreSpace,
    settings: ScoringOptions,
) -> Iterator[MaskedScorer]:
    """A judge of these samples; the model and the caller's random state are left as they were found."""
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
