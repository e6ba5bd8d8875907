"""Class activation maps: the channels of the last feature map, weighted by their effect on the score, and enlarged.

All three are the sum Σ_k w_k A_k over the channels A_k of one layer; they differ in the weights w_k. The layer is the
last one with a feature map unless it is named (see `_last_map`). Of a transformer, A_k are the k-th features of its
patch tokens, in rows and columns; class and register tokens are at no place of the image and left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from samp.attribution import Attribution
from samp.engine.batches import Batches
from samp.engine.driver import RunOptions
from samp.engine.problem import Problem
from samp.methods._common import MethodInfo, make_attribution, require_image, spread_over_channels
from samp.methods._feature_maps import LayerCall, features_and_gradient, unwrap_compiled
from samp.methods._last_map import find_layer_call
from samp.methods._token_maps import TokenGrid, check_grid

FAR = -10.0  # CAM's gradient is also taken at this multiple of the features, where a nonlinear head shows


@dataclass(frozen=True)
class CAM:
    """Class activation map (Zhou et al., CVPR 2016): w_k is the weight of channel k in the one linear layer.

    Only for nets of the form convolutions → global average pool → one linear layer, or with a max pool, as in the CNNs
    of the SAMP paper. There w_k is the score's gradient by the mean (or maximum) of A_k, so the weights need not be
    looked up in the model. The map is signed, as published; behind an average pool, its mean over the *layer's*
    positions is the score without its bias. `layer` is a module or its name; `None` takes the last with a feature map.
    A transformer has this form if its head is linear in the mean of the patch tokens, as Swin's is. `grid` is rows and
    columns of the patches where they cannot be found.

    >>> import samp
    >>> from torch import nn
    >>> net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 5))
    >>> result = samp.explain(net.eval(), torch.rand(2, 3, 8, 8), method=CAM())
    >>> result.map.shape, result.method
    (torch.Size([2, 8, 8]), "CAM(layer='1', grid=None)")
    """

    about: ClassVar[MethodInfo] = MethodInfo("Zhou et al., CVPR 2016", "1 gradient", "no")
    layer: str | nn.Module | None = None
    grid: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        check_grid(self.grid)

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return every sample's channels, weighted by the classifier's weights; raise ValueError for another head."""
        return _attribute(self, problem, run, _check_head)

    def weights(self, features: Tensor, gradient: Tensor) -> Tensor:
        return gradient.sum((2, 3))  # b k

    def finish(self, maps: Tensor) -> Tensor:
        return maps


@dataclass(frozen=True)
class GradCAM:
    """Grad-CAM (Selvaraju et al., ICCV 2017): w_k is the gradient by A_k, averaged over positions (Eq. 1).

    With `relu`, as published, only evidence for the class stays (Eq. 2). `layer` is a module or its name; `None` takes
    the last one with a feature map, as the paper does; of a transformer, the last block or normalisation on whose patch
    tokens the score depends. `grid` is rows and columns of the patches where they cannot be found.

    >>> import samp
    >>> from torch import nn
    >>> net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5)).eval()
    >>> result = samp.explain(net, torch.rand(2, 1, 8, 8), method=GradCAM())
    >>> result.map.shape, result.method
    (torch.Size([2, 8, 8]), "GradCAM(layer='1', relu=True, grid=None)")
    """

    about: ClassVar[MethodInfo] = MethodInfo("Selvaraju et al., ICCV 2017", "1 gradient", "no")
    layer: str | nn.Module | None = None
    relu: bool = True
    grid: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        check_grid(self.grid)

    def attribute(self, problem: Problem, run: RunOptions) -> Attribution:
        """Return every sample's channels, weighted by `weights`."""
        return _attribute(self, problem, run)

    def weights(self, features: Tensor, gradient: Tensor) -> Tensor:
        return gradient.mean((2, 3))  # b k

    def finish(self, maps: Tensor) -> Tensor:
        return maps.relu() if self.relu else maps


@dataclass(frozen=True)
class GradCAMPlusPlus(GradCAM):
    """Grad-CAM++ (Chattopadhay et al., WACV 2018): w_k = Σ α ReLU(g) with α = g² / (2g² + ΣA_k g³) (Eq. 10, 19).

    g is the gradient of the score. The paper explains exp(score), whose gradient is exp(score)·g; that factor is the
    same for all pixels of a sample and left out, since it overflows for large scores. Positions with g = 0 get α = 0.

    >>> import samp
    >>> from torch import nn
    >>> net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5)).eval()
    >>> samp.explain(net, torch.rand(2, 1, 8, 8), method=GradCAMPlusPlus()).map.shape
    torch.Size([2, 8, 8])
    """

    about: ClassVar[MethodInfo] = MethodInfo("Chattopadhay et al., WACV 2018", "1 gradient", "no")

    def weights(self, features: Tensor, gradient: Tensor) -> Tensor:
        # numerator and denominator divided by g², so that small gradients do not underflow
        below = 2 + features.sum((2, 3), keepdim=True) * gradient
        alpha = torch.where((gradient == 0) | (below == 0), 0, 1 / below)
        return (alpha * gradient.relu()).sum((2, 3))  # b k


METHODS: dict[str, CAM | GradCAM] = {"cam": CAM(), "gradcam": GradCAM(), "gradcam++": GradCAMPlusPlus()}


def _attribute(
    method: CAM | GradCAM, problem: Problem, run: RunOptions, check: Callable[[Problem, LayerCall], None] | None = None
) -> Attribution:
    image = require_image(problem, method)
    batches = Batches(run.batch_size, problem.x.shape[1], problem.x.device)
    problem = replace(problem.with_target(batches), model=unwrap_compiled(problem.model))
    place = find_layer_call(problem, method.layer, type(method).__name__, method.grid)
    if check:
        check(problem, place)

    def work(first: int, last: int) -> Tensor:
        samples = torch.arange(first, last, device=problem.x.device)
        features, gradient = map(place.layout.to_maps, features_and_gradient(problem, place, samples))
        maps = (method.weights(features, gradient)[:, :, None, None] * features).sum(1, keepdim=True)  # b 1 h w
        return F.interpolate(method.finish(maps), image.shape[2:], mode="bilinear", align_corners=False)[:, 0]

    maps = torch.cat(list(batches.map_slices(problem.batch, work)))  # b h w
    grid = place.layout.grid if isinstance(place.layout, TokenGrid) else None
    method = replace(method, layer=place.name, grid=grid)
    return make_attribution(problem, spread_over_channels(problem, maps), method, run, gradients=1)


def _check_head(problem: Problem, place: LayerCall) -> None:
    """Raise ValueError unless the score is linear in each channel's mean, or in its maximum, at all feature values.

    The gradient is then the same at all positions, or zero at all but one, and its sum is the channel's weight.
    """
    first = torch.zeros(1, dtype=torch.long, device=problem.x.device)
    _, gradient = features_and_gradient(problem, place, first)
    here, there = (place.layout.to_maps(g) for g in (gradient, features_and_gradient(problem, place, first, FAR)[1]))
    tolerance = 1e-3 * float(here.abs().max())  # rounding, also that of a half-precision net
    averaged = torch.allclose(here, here.mean((2, 3), keepdim=True).expand_as(here), 0, tolerance)
    maximal = bool(((here.abs() > tolerance).sum((2, 3)) <= 1).all())
    same = torch.allclose(here.sum((2, 3)), there.sum((2, 3)), 0, tolerance * (here[0, 0].numel() if averaged else 1))
    if not ((averaged or maximal) and same):
        raise ValueError(
            f"CAM needs a global average or max pool and one linear layer behind {place.name!r}, and this net has "
            "something else there: use method='gradcam', which needs neither."
        )
    if bool((place.layout.others(gradient).abs() > tolerance).any()):
        raise ValueError(
            f"CAM shows all that the head behind {place.name!r} sums up, but this one also takes class tokens, which "
            "are at no place of the image: use method='gradcam', which shows the patches alone."
        )
