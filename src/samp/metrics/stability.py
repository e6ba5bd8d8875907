"""Stability: does the same image get the same map again, after rounding, and by another seed?

What differs between two runs that ask the same question says nothing about the model. A map may be stable as a
picture of regions and not of pixels, so agreement is measured at several resolutions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from samp.checks import check_list, check_numbers, check_seed, check_whole
from samp.engine.problem import Problem
from samp.lookup import look_up
from samp.metrics.explain_maps import ExplainMaps, classes_of, image_problem, make_maps
from samp.metrics.map_agreement import map_agreement
from samp.targets import Target

POOLS = (1, 4, 14)


def draw_uniform(shape: Sequence[int], generator: torch.Generator) -> Tensor:
    """Noise from −1 to 1, as rounding errors are."""
    return 2 * torch.rand(*shape, generator=generator, dtype=torch.float64) - 1


def draw_gaussian(shape: Sequence[int], generator: torch.Generator) -> Tensor:
    """Noise of standard deviation 1."""
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


KINDS = {"rounding": draw_uniform, "gaussian": draw_gaussian}


@dataclass(frozen=True, eq=False, repr=False)
class Stability:
    """How far two maps of the same image agree, at each resolution (b k; higher is better, 1 is the same map).

    >>> Stability(torch.tensor([[0.5, 0.9]]), torch.tensor([[0.4, 0.8]]), (1, 14), {"differs": "seed 1"})
    Stability(1 px 0.5000, 14 px 0.9000 over 1 samples; seed 1)
    """

    PER_SAMPLE: ClassVar = ("pearson", "spearman")

    pearson: Tensor
    """b k: of the maps averaged over squares of so many pixels; NaN where a map is constant."""
    spearman: Tensor
    pools: tuple[int, ...]
    """k: the sides of the squares; 1 is per pixel."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What differed, target, seed, device, dtype, versions."""

    def __repr__(self) -> str:
        means = [f"{pool} px {value:.4f}" for pool, value in zip(self.pools, self.pearson.nanmean(0), strict=True)]
        return f"Stability({', '.join(means)} over {len(self.pearson)} samples; {self.details.get('differs')})"


def stability(
    model: nn.Module,
    images: Tensor,
    explain_maps: ExplainMaps,
    target: Target = None,
    *,
    noise: float = 1e-6,
    kind: str = "rounding",
    pools: Sequence[int] = POOLS,
    seed: int = 0,
) -> Stability:
    """Return the agreement of each image's map with the map of the image plus noise, explained with the same seed.

    - `explain_maps`: (model, images, target, seed) → b h w, such as `samp.metrics.explain_maps_by("ig")`.
    - `target`: one class per image; None is the class predicted for the *clean* image, for both maps.
    - `noise`: its size relative to the image's span (largest − smallest value). 1e-6 is the rounding of float32, and
      1e-3 less than a photo's own levels of grey.
    - `kind`: "rounding" (uniform in ± noise) or "gaussian" (its standard deviation).
    - `pools`: the agreement is measured after averaging over so many × so many pixels.

    Every image gets the same pattern of noise, so that its result does not depend on the batch.

    >>> from samp.metrics import explain_maps_by
    >>> net = nn.Sequential(nn.Flatten(), nn.Linear(48, 5)).eval()
    >>> result = stability(net, torch.rand(2, 3, 4, 4), explain_maps_by("ig"), pools=(1, 2))
    >>> result.pearson.shape, bool((result.pearson > 0.999).all())
    (torch.Size([2, 2]), True)
    """
    check_numbers(noise=noise)
    if not 0 < noise < 1:
        raise ValueError(f"noise is a share of the image's span, above 0 and below 1, not {noise!r}.")
    draw = look_up(kind, KINDS, "kind of noise")
    sizes, seed = _check_pools(pools), check_seed(seed)
    problem = image_problem(model, images, target, seed)
    (clean,), classes = problem.inputs, classes_of(problem)
    span = clean.flatten(1).amax(1) - clean.flatten(1).amin(1)  # b
    pattern = draw(clean.shape[1:], torch.Generator().manual_seed(seed)).to(clean.device, clean.dtype)  # c h w
    noisy = clean + noise * span.view(-1, 1, 1, 1) * pattern
    first, second = (make_maps(explain_maps, model, x, classes, seed) for x in (clean, noisy))
    return _measure(problem, first, second, sizes, f"{kind} noise of {noise:g}", seed)


def seed_stability(
    model: nn.Module,
    images: Tensor,
    explain_maps: ExplainMaps,
    target: Target = None,
    *,
    pools: Sequence[int] = POOLS,
    seed: int = 0,
    other_seed: int | None = None,
) -> Stability:
    """Return the agreement of each image's maps of two seeds (`seed` and, by default, the next).

    1 for a method without randomness. Other arguments: as in `stability`.

    >>> from samp.metrics import explain_maps_by
    >>> net = nn.Sequential(nn.Flatten(), nn.Linear(48, 5)).eval()
    >>> seed_stability(net, torch.rand(1, 3, 4, 4), explain_maps_by("ig"), pools=(1,)).pearson.tolist()
    [[1.0]]
    """
    sizes, seed = _check_pools(pools), check_seed(seed)
    other = check_seed(seed + 1 if other_seed is None else other_seed, "other_seed")
    problem = image_problem(model, images, target, seed)
    classes = classes_of(problem)
    first, second = (make_maps(explain_maps, model, problem.inputs[0], classes, one) for one in (seed, other))
    return _measure(problem, first, second, sizes, f"seed {other}", seed)


def _measure(
    problem: Problem, first: Tensor, second: Tensor, pools: tuple[int, ...], differs: str, seed: int
) -> Stability:
    found = [map_agreement(first, second, pool) for pool in pools]
    details = {**problem.describe(), "differs": differs, "pools": pools, "seed": seed}
    pearson, spearman = (torch.stack([getattr(one, name) for one in found], 1) for name in Stability.PER_SAMPLE)  # b k
    return Stability(pearson, spearman, pools, details)


def _check_pools(pools: Sequence[int]) -> tuple[int, ...]:
    sizes = tuple(check_whole("a pool", one, 1) for one in check_list("pools", pools))
    if not sizes:
        raise ValueError("pools is empty: give at least one, such as 1 for single pixels.")
    return sizes
