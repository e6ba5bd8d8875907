"""The edges of the image: a baseline of comparisons that does not look at the model (Adebayo et al., NeurIPS 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from samp.attribution import Attribution
from samp.engine.driver import RunOptions
from samp.engine.problem import Problem
from samp.methods._common import MethodInfo, make_attribution, require_image, spread_over_channels
from samp.methods.random_map import check_scores


@dataclass(frozen=True)
class Sobel:
    """The edge detector to beat: √(gx² + gy²) by Sobel's 3 × 3 filters, averaged over channels.

    Gradients are per pixel (a ramp of slope 1 gives 1), and border pixels are repeated outside. The model scores each
    sample once, so that a target or model without a score raises as for any other method; the map does not depend on
    the score.

    >>> import samp
    >>> ramp = torch.arange(5.0).expand(1, 1, 4, 5)
    >>> samp.explain(torch.nn.Flatten().eval(), ramp, target=0, method=Sobel()).map[0, 0].tolist()
    [0.5, 1.0, 1.0, 1.0, 0.5]
    """

    about: ClassVar[MethodInfo] = MethodInfo("Adebayo et al., NeurIPS 2018", "nothing", "no")

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return the strength of the edge at every pixel of every sample."""
        image = require_image(problem, self)
        problem = check_scores(problem, run)
        return make_attribution(problem, spread_over_channels(problem, edge_strength(image)), self, run)


def edge_strength(images: Tensor) -> Tensor:
    """b h w: √(gx² + gy²) of each pixel of b c h w images, averaged over channels, in float32 or wider.

    >>> edge_strength(torch.ones(1, 3, 2, 2)).max().item()
    0.0
    """
    wide = images.detach().to(torch.promote_types(images.dtype, torch.float32))
    padded = F.pad(wide, (1, 1, 1, 1), mode="replicate")  # b c h+2 w+2
    across = _smooth(_derive(padded, 3), 2)
    down = _smooth(_derive(padded, 2), 3)
    return torch.hypot(across, down).mean(1)


def _derive(x: Tensor, axis: int) -> Tensor:
    """(−1, 0, 1) / 2 along the axis; not by a convolution, which a GPU rounds to 10 bits."""
    inner = x.shape[axis] - 2
    return (x.narrow(axis, 2, inner) - x.narrow(axis, 0, inner)) / 2


def _smooth(x: Tensor, axis: int) -> Tensor:
    """(1, 2, 1) / 4 along the axis."""
    inner = x.shape[axis] - 2
    return (x.narrow(axis, 0, inner) + 2 * x.narrow(axis, 1, inner) + x.narrow(axis, 2, inner)) / 4


METHODS = {"sobel": Sobel()}
