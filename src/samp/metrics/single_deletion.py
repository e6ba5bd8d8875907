"""Single deletion score (Hesse, Schaub-Meyer & Roth, NeurIPS 2024): does a patch's credit predict the loss without it?

The image is cut into 4 × 4 patches. Each is removed alone, and Spearman's rank correlation of the patches' credit with
the drop of the target's logit is the score of a sample. The authors' in-domain variant (IDSDS) measures the same with a
net that was fine-tuned on pictures without a patch, so that these are nothing new to it: pass such a net as the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor

from samp.baselines import black
from samp.checks import check_whole
from samp.devices import widen
from samp.engine.batches import BatchSize
from samp.engine.inputs import as_tensors
from samp.metrics.correlations import spearman
from samp.metrics.fills import Fill, describe_fill
from samp.metrics.maps import Maps, pixel_maps, resolve_target
from samp.metrics.masked_forward import ScoringOptions, open_scorer
from samp.metrics.mu_fidelity import grid
from samp.metrics.score_spaces import ScoreSpace
from samp.targets import Model, Target

PATCHES = 4  # along each side, as published


@dataclass(frozen=True, eq=False)
class PatchDrops:
    """How far the score falls when each patch is removed alone; no map has a part in it, so maps can share it.

    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 2)).eval()
    >>> patch_drops(net, torch.rand(3, 1, 4, 4), 0, patches=2).drops.shape
    torch.Size([3, 4])
    """

    drops: Tensor
    """b p: f(image) − f(image without the patch)."""
    cells: Tensor
    """h w: the number of the patch that each pixel lies in."""
    details: Mapping[str, Any] = field(default_factory=dict)

    def correlate(self, maps: Maps) -> Tensor:
        """b: Spearman's correlation of the patches' credit with the drops; raises ValueError for maps of other shapes.

        >>> drops = PatchDrops(torch.tensor([[3.0, 1.0]]), torch.tensor([[0, 0, 1]]))
        >>> drops.correlate(torch.tensor([[[0.5, 1.0, 1.0]]])).tolist()
        [1.0]
        """
        heat, wanted = pixel_maps(maps), (len(self.drops), *self.cells.shape)
        if heat.shape != wanted:
            came = f"the maps have shape {tuple(heat.shape)} but the images {wanted}"
            raise ValueError(f"{came}: enlarge small maps first.")
        heat, cells = widen(heat.flatten(1)), self.cells.flatten().to(heat.device)
        members = torch.nn.functional.one_hot(cells, self.drops.shape[1]).to(heat.dtype)  # n p
        return spearman(heat @ members, self.drops.to(heat.device))


@dataclass(frozen=True, eq=False, repr=False)
class SingleDeletion:
    """What `sds` returns.

    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 2)).eval()
    >>> sds(net, torch.rand(1, 1, 4, 4), torch.ones(1, 4, 4))  # a constant map correlates with nothing
    SingleDeletion(nan over 1 samples, 1 undefined; 4 × 4 patches)
    """

    PER_SAMPLE: ClassVar = ("correlation",)

    correlation: Tensor
    """b: −1 … 1, higher is better; NaN where all patches have the same credit, or all drops are equal."""
    drops: Tensor
    """b p"""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Target, patches, fill, score space, forwards per sample, seed, device, dtype, versions."""

    @property
    def mean(self) -> float:
        """Over the samples whose correlation is defined."""
        return float(self.correlation.nanmean())

    @property
    def undefined_count(self) -> int:
        """How many samples are NaN and left out of means."""
        return int(self.correlation.isnan().sum())

    def __repr__(self) -> str:
        how = f"{self.details.get('patches')} × {self.details.get('patches')} patches"
        count = f"{len(self.correlation)} samples, {self.undefined_count} undefined"
        return f"SingleDeletion({self.mean:.4f} over {count}; {how})"


def sds(
    model: Model,
    inputs: Tensor,
    maps: Maps,
    target: Target = None,
    *,
    patches: int = PATCHES,
    fill: Fill = black,
    score: str | ScoreSpace = "logit",
    forward_args: object = (),
    batch_size: BatchSize = "auto",
    progress: bool = False,
    seed: int = 0,
) -> SingleDeletion:
    """Return the rank correlation of the patches' credit with the drop of the score when a patch is removed alone.

    As published: 4 × 4 patches, filled with 0 in the space the model is fed, drop of the target's logit, Spearman's
    correlation; a patch's credit is the signed sum over its pixels and channels. Sides that 4 does not divide have
    patches as equal as possible.

    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 1)).eval()
    >>> x = torch.rand(2, 1, 8, 8)
    >>> exact = net[1].weight.view(1, 8, 8) * x[:, 0]  # of a linear model
    >>> sds(net, x, exact, target=0).correlation.tolist()
    [1.0, 1.0]
    """
    drops = patch_drops(
        model,
        inputs,
        resolve_target(maps, target),
        patches=patches,
        fill=fill,
        score=score,
        settings=ScoringOptions(forward_args, batch_size, progress, seed),
    )
    return SingleDeletion(drops.correlate(maps), drops.drops, drops.details)


def patch_drops(
    model: Model,
    inputs: Tensor,
    target: Target = None,
    *,
    patches: int = PATCHES,
    fill: Fill = black,
    score: str | ScoreSpace = "logit",
    settings: ScoringOptions | None = None,
) -> PatchDrops:
    """Return the drop of the score for each patch, which takes patches² + 1 forwards a sample.

    Raises ValueError for anything but b c h w images.
    """
    side = check_whole("patches", patches, 2)
    model, inputs = as_tensors(model, inputs)
    shape = tuple(getattr(inputs, "shape", ()))
    if len(shape) != 4:
        raise ValueError(f"single deletion cuts one b c h w image input into patches, but the input has shape {shape}.")
    cells = grid(*shape[2:], cells=side)
    with open_scorer(model, inputs, target, cells, score, settings or ScoringOptions()) as scorer:
        count = scorer.problem.features.count
        groups = torch.arange(count, device=scorer.problem.x.device)

        def is_removed(samples: Tensor, numbers: Tensor) -> Tensor:
            return groups == numbers[:, None]  # the last number removes nothing

        scores = scorer.scores(scorer.make_masker(fill), count + 1, is_removed)
        details = scorer.describe(score, fill=describe_fill(fill), patches=side)
        return PatchDrops(scores[:, -1:] - scores[:, :-1], cells, details)
