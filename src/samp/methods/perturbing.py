"""What perturbation methods share: the regions they switch, and the scores of one sample's perturbed points."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from numbers import Integral
from typing import Any

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from samp.baselines import make
from samp.batches import Batches
from samp.follow import Run
from samp.groups import Grouping, Patches, Segments, bind
from samp.problem import Problem

MOST_PIXELS = 1024  # images of more pixels are explained in patches
PATCHES_PER_SIDE = 14
Score = Callable[[Tensor], Tensor]


class Asked:
    """A problem as Captum is asked about it: scores of one sample's points, in batches, counted."""

    def __init__(self, problem: Problem, run: Run, baseline: Any, expected: int) -> None:
        self.batches = Batches(run.batch_size, problem.x.shape[1], problem.x.device)
        self.problem = problem.settled(self.batches)
        self.baseline = problem.flatten(make(baseline, problem.inputs, run.seed))
        self.seed, self.rows = run.seed, 0
        self.bar = tqdm(total=problem.batch * expected, unit="forward", disable=not run.progress)

    @property
    def forwards(self) -> int:
        """Spent on each sample."""
        return self.rows // self.problem.batch

    def score(self, sample: int, count: int, points: Callable[[int, int], Tensor]) -> Tensor:
        """count: the scores of this sample's points(first, last) (r n)."""

        def work(first: int, last: int) -> Tensor:
            x = points(first, last)
            samples = torch.full((len(x),), sample, device=x.device)
            return self.problem.score(self.problem.output(x, samples), samples).to(x.dtype)

        with torch.no_grad():
            scores = torch.cat(list(self.batches.over(count, work)))
        self.rows += count
        self.bar.update(count)
        return scores

    def by_groups(self, groups: Grouping, explain: Callable[[Score, int, Tensor], Tensor]) -> Tensor:
        """b n: each sample's values of its groups, from an explanation of switches (1 g, on the CPU, as draws are)."""
        ones = torch.ones(1, groups.count, dtype=self.problem.x.dtype)

        def one(sample: int) -> Tensor:
            here = groups.select(torch.tensor([sample], device=self.problem.x.device))
            x, baseline = self._ends(sample)

            def score(switches: Tensor) -> Tensor:
                def points(first: int, last: int) -> Tensor:
                    on = switches[first:last].to(x.device) > 0.5  # r g
                    return here.where(on, *(end.expand(len(on), -1).contiguous() for end in (x, baseline)))

                return self.score(sample, len(switches), points).cpu()

            return explain(score, self.batches.size, ones)

        values = self._each(one).to(self.problem.x)  # b g
        return groups.spread(values / groups.pool(torch.ones_like(self.problem.x)).clamp(min=1))

    def by_points(self, explain: Callable[[Score, int, Tensor, Tensor], Tensor]) -> Tensor:
        """b *d: what an explanation of each sample itself (1 n) gives."""

        def one(sample: int) -> Tensor:
            def score(x: Tensor) -> Tensor:
                return self.score(sample, len(x), lambda first, last: x[first:last])

            return explain(score, self.batches.size, *self._ends(sample))

        return self._each(one)

    def change(self) -> Tensor:
        """b: f(image) − f(baseline)."""
        both = [torch.cat(self._ends(sample)) for sample in range(self.problem.batch)]
        pairs = [self.score(i, 2, lambda first, last, ends=ends: ends[first:last]) for i, ends in enumerate(both)]  # type: ignore[misc]  # bound early
        return torch.stack([pair[0] - pair[1] for pair in pairs])

    def _ends(self, sample: int) -> tuple[Tensor, Tensor]:
        return self.problem.x[sample : sample + 1], self.baseline[sample : sample + 1]

    def _each(self, one: Callable[[int], Tensor]) -> Tensor:
        """The explanations of all samples, each with random numbers from the seed on."""
        values = []
        with self.bar:
            for sample in range(self.problem.batch):
                with torch.random.fork_rng([]):
                    torch.default_generator.manual_seed(self.seed)
                    values.append(one(sample).detach())
        return torch.cat(values)


def superpixels(image: Tensor, count: int) -> Segments:
    """About this many SLIC segments of each b c h w image, on its values stretched to 0 … 1."""
    slic = import_module("skimage.segmentation").slic
    pixels = image.detach().movedim(1, -1).cpu().double().numpy()
    stretched = [(one - one.min()) / (np.ptp(one) or 1.0) for one in pixels]
    labels = [slic(one, n_segments=count, start_label=0, channel_axis=-1) for one in stretched]
    ids = torch.from_numpy(np.stack(labels)).long().to(image.device)  # b h w
    ids = ids[:, None].expand(image.shape).reshape(len(image), -1)
    return Segments.of(ids, f"{count} SLIC superpixels")


def patch_side(problem: Problem) -> int | None:
    """The side of patches, for images in more pixels than can be explained one by one."""
    if not problem.paper_settings or problem.features.count <= MOST_PIXELS:
        return None
    return -(-max(problem.inputs[0].shape[2:]) // PATCHES_PER_SIDE)


def in_patches(problem: Problem, patch: int | None) -> Grouping:
    """Patches of this side, or the problem's own groups."""
    return problem.features if patch is None else bind(Patches(patch), problem.inputs)


def check_counts(**counts: int | None) -> None:
    """A sentence for the first of these that is neither a whole number of at least 1 nor left open."""
    for name, value in counts.items():
        if value is not None and not (isinstance(value, Integral) and value >= 1):
            raise ValueError(f"{name} is a whole number of at least 1, not {value!r}.")
