"""What perturbation methods share: the regions that they switch off, and counted scores of perturbed points."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from samp.baselines import Baseline, evaluate_baseline
from samp.engine.batches import Batches
from samp.engine.driver import RunOptions
from samp.engine.problem import Problem
from samp.groups import Grouping, Patches, Segments, bind
from samp.groups.superpixels import cut_by_slic, quickshift_ids, spread_labels, stretch
from samp.progress import open_bar

MOST_PIXELS = 1024  # images of more pixels are explained in patches
PATCHES_PER_SIDE = 14
Score = Callable[[Tensor], Tensor]
"""The scores (r) of perturbed points, given by their switches (r g) or by themselves (r n)."""
ExplainSwitches = Callable[[Score, int, Tensor], Tensor]
"""From the score, the perturbations at once and switches that are all 1 (b g) to the value of each group (b g)."""
ExplainPoints = Callable[[Score, int, Tensor, Tensor], Tensor]
"""From the score, the perturbations at once, images and baselines (b n) to values of any shape."""


class CountedForward:
    """Scores of perturbed points of a problem, in batches, with a count of the forward passes spent.

    Captum passes rows in rounds of all its samples: row i is a point of sample i modulo their number.
    """

    def __init__(self, problem: Problem, run: RunOptions, baseline: Baseline, expected: int) -> None:
        self.batches = Batches(run.batch_size, problem.x.shape[1], problem.x.device)
        self.problem = problem.with_target(self.batches)
        self.baseline = problem.flatten(evaluate_baseline(baseline, problem.inputs, run.seed))
        self.samples = torch.arange(problem.batch, device=problem.x.device)
        self.rows = 0
        self.bar = open_bar(problem.batch * expected, "forward", run.progress)

    @property
    def forwards(self) -> int:
        """Forward passes spent on each sample."""
        return self.rows // self.problem.batch

    def rounds_per_batch(self, samples: Tensor) -> int:
        """Return how many perturbations of each of these samples make one batch."""
        return max(self.batches.size // len(samples), 1)

    def score(self, samples: Tensor, count: int, points: Callable[[slice, Tensor], Tensor]) -> Tensor:
        """Return the scores (`count`) of the points that `points(rows, samples of those rows)` makes (r n)."""

        def work(first: int, last: int) -> Tensor:
            whose = samples[torch.arange(first, last, device=samples.device) % len(samples)]
            x = points(slice(first, last), whose)
            score = self.problem.count_failures(self.problem.score(self.problem.output(x, whose), whose), whose)
            return torch.where(score.isfinite(), score, 0).to(x.dtype)  # Captum's fits refuse NaN and Inf

        with torch.no_grad():
            scores = torch.cat(list(self.batches.map_slices(count, work)))
        self.rows += count
        self.bar.update(count)
        return scores

    def explain_groups(self, groups: Grouping, explain: ExplainSwitches, one_by_one: bool = False) -> Tensor:
        """Return each element's equal share of its group's value (b n), from an explanation of switches (b g).

        The switches are on the device of the samples, so that the host never waits; one by one they are on the CPU, so
        that draws are the same on every device.
        """

        def explain_some(samples: Tensor) -> Tensor:
            def score(switches: Tensor) -> Tensor:
                def points(rows: slice, whose: Tensor) -> Tensor:
                    on = switches[rows].to(whose.device) > 0.5  # r g
                    return groups.select(whose).where(on, self.problem.x[whose], self.baseline[whose])

                return self.score(samples, len(switches), points).to(switches.device)

            device = torch.device("cpu") if one_by_one else samples.device
            ones = torch.ones(len(samples), groups.count, dtype=self.problem.x.dtype, device=device)
            return explain(score, self.rounds_per_batch(samples), ones)

        values = self._explain_all(explain_some, one_by_one).to(self.problem.x)  # b g
        return groups.spread(values / groups.pool(torch.ones_like(self.problem.x)).clamp(min=1))

    def explain_points(self, explain: ExplainPoints) -> Tensor:
        """Return what an explanation of the samples themselves (b n) returns (b *d)."""

        def explain_some(samples: Tensor) -> Tensor:
            def score(x: Tensor) -> Tensor:
                return self.score(samples, len(x), lambda rows, _: x[rows])

            return explain(score, self.rounds_per_batch(samples), self.problem.x, self.baseline)

        return self._explain_all(explain_some)

    def score_change(self) -> Tensor:
        """Return f(image) − f(baseline) (b)."""
        ends = torch.cat([self.problem.x, self.baseline])
        image, baseline = self.score(self.samples, len(ends), lambda rows, _: ends[rows]).chunk(2)
        return image - baseline

    def _explain_all(self, explain_some: Callable[[Tensor], Tensor], one_by_one: bool = False) -> Tensor:
        """Return the explanations of all samples, made one by one or all at once."""
        with self.bar:
            parts = torch.split(self.samples, 1 if one_by_one else self.problem.batch)
            return torch.cat([explain_some(samples).detach() for samples in parts])


def superpixels(image: Tensor, count: int | None) -> Segments:
    """Return about this many SLIC segments of each b c h w image, on its values stretched to 0 … 1.

    None finds segments by quickshift, with the settings of LIME's published code. Raises ImportError without
    scikit-image.
    """
    # grey values are not turned into colours, as `Superpixels` does: stored results of LIME have it so
    ids = quickshift_ids(image) if count is None else spread_labels(cut_by_slic(stretch(image), count), image)
    ids = ids.reshape(len(image), -1).to(image.device)
    return Segments.of(ids, "quickshift's superpixels" if count is None else f"{count} SLIC superpixels")


def patch_side(problem: Problem) -> int | None:
    """Return the side of patches for images of more than `MOST_PIXELS` pixels; None where pixels are explained."""
    if not problem.paper_settings or problem.features.count <= MOST_PIXELS:
        return None
    return -(-max(problem.inputs[0].shape[2:]) // PATCHES_PER_SIDE)


def patch_groups(problem: Problem, patch: int | None) -> Grouping:
    """Return patches of this side as groups, or the problem's own groups for None."""
    return problem.features if patch is None else bind(Patches(patch), problem.inputs)
