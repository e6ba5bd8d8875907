"""RISE: the mean of random masks, weighted by the score that each of them leaves (Petsiuk et al., BMVC 2018)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from samp.attribution import Attribution
from samp.baselines import Baseline, black, evaluate_baseline, resolve_baseline, wrap_tensors
from samp.checks import check_counts, check_flag, check_numbers
from samp.engine.batches import Batches
from samp.engine.driver import RunOptions
from samp.engine.problem import Problem
from samp.methods._common import (
    MethodInfo,
    ScoreName,
    check_score,
    make_attribution,
    require_image,
    spread_over_channels,
    with_score,
)
from samp.progress import open_bar

PIXELS_AT_ONCE = 2**24  # of the masks in memory: 334 masks at 224 pixels


@dataclass(frozen=True)
class RISE:
    """S = 1/(N·p) Σ_i f(x ⊙ M_i) M_i (Eq. 6) over N random masks M_i.

    A mask is a grid of `cells` × `cells` zeros and ones, each 1 with probability `p`, enlarged bilinearly to one cell
    more than the image and cut out at a random shift. Published: 7 cells, p = 0.5, and 4,000 masks for VGG16 (8,000 for
    ResNet50). All samples see the same masks, so a sample's map does not depend on its neighbours.

    - `score`: "probability" is the published choice and the default: it is near 0 wherever a mask hides the object, so
      those masks drop out of the sum. A logit does not vanish there, and its offset times Σ M_i, the noise of the
      masks, enters the map. "logit" takes the score that the model returns: for models that already return
      probabilities, for regression, and for target functions.
    - `baseline`: the values where a mask is 0; black, as published.
    - `shift`: whether masks are shifted at random, as published; without it, the grid is enlarged to the image itself.

    >>> import samp
    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 5)).eval()
    >>> result = samp.explain(net, torch.rand(2, 1, 8, 8), method=RISE(masks=20, cells=3))
    >>> result.map.shape, result.details["forwards"]
    (torch.Size([2, 8, 8]), 20)
    """

    about: ClassVar[MethodInfo] = MethodInfo("Petsiuk et al., BMVC 2018", "4,000 forwards", "no")
    masks: int = 4000
    cells: int = 7
    p: float = 0.5
    score: ScoreName = "probability"
    baseline: Baseline = black
    shift: bool = True

    def __post_init__(self) -> None:
        check_counts(masks=self.masks, cells=self.cells)
        check_numbers(p=self.p)
        if not 0 < self.p <= 1:
            raise ValueError(f"p is a probability above 0, not {self.p}.")
        check_score(self.score)
        check_flag("shift", self.shift)
        object.__setattr__(self, "baseline", resolve_baseline(wrap_tensors(self.baseline)))

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return the mean of the masks, weighted by each sample's score under them."""
        image = require_image(problem, self)
        problem = with_score(problem, self.score, self, run)
        batches = Batches(run.batch_size, problem.x.shape[1], problem.x.device)
        baseline = problem.flatten(evaluate_baseline(self.baseline, problem.inputs, run.seed))
        total = problem.x.new_zeros(problem.batch, math.prod(image.shape[2:]))  # b hw
        with torch.no_grad(), open_bar(problem.batch * self.masks, "mask", run.progress) as bar:
            for masks in draw_masks(self, image.shape[2], image.shape[3], run.seed, problem.x):
                total += self._scores(problem, baseline, masks, batches) @ masks.flatten(1)
                bar.update(problem.batch * len(masks))
        maps = (total / (self.masks * self.p)).view(-1, *image.shape[2:])
        return make_attribution(problem, spread_over_channels(problem, maps), self, run, forwards=self.masks)

    def _scores(self, problem: Problem, baseline: Tensor, masks: Tensor, batches: Batches) -> Tensor:
        """Return every sample's score under every mask (b × masks), in batches of rows (sample, mask)."""
        channels, device = problem.inputs[0].shape[1], problem.x.device

        def work(first: int, last: int) -> Tensor:
            rows = torch.arange(first, last, device=device)
            samples = rows // len(masks)
            mask = masks[rows % len(masks)].flatten(1).repeat(1, channels)  # r n
            x = torch.lerp(baseline[samples], problem.x[samples], mask)
            score = problem.score(problem.output(x, samples), samples)
            return problem.count_failures(score, samples).to(x.dtype)

        return torch.cat(list(batches.map_slices(problem.batch * len(masks), work))).view(problem.batch, len(masks))


METHODS = {"rise": RISE()}


def draw_masks(method: RISE, height: int, width: int, seed: int, like: Tensor) -> Iterator[Tensor]:
    """Yield all masks of the method in blocks of k h w; they are drawn on the CPU, so the same for every device."""
    generator = torch.Generator().manual_seed(seed)
    grids = torch.rand(method.masks, 1, method.cells, method.cells, generator=generator) < method.p
    count = max(PIXELS_AT_ONCE // (height * width), 1)
    if not method.shift:
        for block in torch.split(grids, count):
            yield F.interpolate(block.to(like), (height, width), mode="bilinear", align_corners=False)[:, 0]
        return
    cell = [math.ceil(side / method.cells) for side in (height, width)]
    shifts = torch.stack([torch.randint(size, (method.masks,), generator=generator) for size in cell], 1)
    size = [(method.cells + 1) * side for side in cell]
    for block, shift in zip(torch.split(grids, count), torch.split(shifts, count), strict=True):
        large = F.interpolate(block.to(like), size, mode="bilinear", align_corners=False)[:, 0]
        down, right = shift.to(like.device)[:, :, None].unbind(1)  # k 1
        rows, columns = (s + torch.arange(n, device=like.device) for s, n in ((down, height), (right, width)))
        yield large[torch.arange(len(large), device=like.device)[:, None, None], rows[:, :, None], columns[:, None]]
