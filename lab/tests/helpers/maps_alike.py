"""How far two maps agree: by pixels, by cells of 8 × 8 pixels, and by their Deletion and Insertion.

A path is chosen step by step, and two gradients that differ by rounding choose differently among pixels that matter
little; from there on the paths differ. So maps of large nets never agree pixel by pixel, not even two exact ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from samp.metrics.deletion_insertion import deletion_insertion
from samp.metrics.map_agreement import map_agreement
from samp.targets import Target

CELL = 8  # pixels a side


@dataclass(frozen=True)
class Agreement:
    """Means over images; changes of Deletion and Insertion are those from the first map to the second."""

    pixels: float
    """Spearman's correlation of pixels."""
    cells: float
    """Spearman's correlation of means over cells of 8 × 8 pixels."""
    overlap: float
    """Share of the highest tenth of pixels that both maps have in common."""
    deletion: float
    insertion: float

    def __str__(self) -> str:
        return (
            f"rank correlation {self.pixels:.3f} (cells {self.cells:.3f}), highest tenth {self.overlap:.0%} in common, "
            f"Deletion {self.deletion:+.4f}, Insertion {self.insertion:+.4f}"
        )


def measure_agreement(model: Callable[..., Any], x: Tensor, target: Target, first: Tensor, second: Tensor) -> Agreement:
    """Return how far two maps (b h w) of the same images agree.

    >>> import torch
    >>> model, x, map_ = torch.nn.Flatten().eval(), torch.rand(1, 3, 16, 16), torch.rand(1, 16, 16)
    >>> same = measure_agreement(model, x, 0, map_, map_)
    >>> round(same.cells, 6), same.overlap, same.insertion
    (1.0, 1.0, 0.0)
    """
    curves = [deletion_insertion(model, x, map_, target, "imagenet") for map_ in (first, second)]
    return Agreement(
        pixels=float(map_agreement(first, second).spearman.mean()),
        cells=float(map_agreement(first, second, CELL).spearman.mean()),
        overlap=float((top_tenth(first) & top_tenth(second)).sum() / top_tenth(first).sum()),
        deletion=float((curves[1].deletion - curves[0].deletion).mean()),
        insertion=float((curves[1].insertion - curves[0].insertion).mean()),
    )


def top_tenth(map_: Tensor) -> Tensor:
    """Return a mask (b n) of each map's highest tenth.

    >>> import torch
    >>> top_tenth(torch.arange(20.0)[None]).nonzero()[:, 1].tolist()
    [18, 19]
    """
    flat = map_.flatten(1)
    return flat >= flat.topk(max(flat.shape[1] // 10, 1)).values[:, -1:]
