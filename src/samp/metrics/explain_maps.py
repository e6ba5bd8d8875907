"""Explaining again: judges that change the image, the weights or the class need the method, not one finished map.

They take any callable `explain_maps(model, images, target, seed)` that returns one map per image (b h w), for the
class numbers `target` (b); `explain_maps_by` makes one of a method of this library.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from samp.checks import check_seed
from samp.engine.batches import Batches, BatchSize
from samp.engine.problem import Problem, make_problem
from samp.explain import explain
from samp.isolation import isolate
from samp.methods import Method, resolve_method
from samp.metrics.maps import pixel_maps
from samp.model_output import extract_scores
from samp.targets import Model, Target, TargetIndex

ExplainMaps = Callable[[nn.Module, Tensor, Tensor, int], Tensor]
"""(model, images b c h w, target b, seed) → maps b h w."""
FEATURE_GRID = "feature_grid"  # the layer of a model of several cells that has the feature maps of all of them


def explain_maps_by(method: str | Method = "consensus", **settings: Any) -> ExplainMaps:
    """Return a callable (model, images, target, seed) → maps (b h w) that explains by this method.

    - `method`: as in `samp.explain`; an unknown name raises ValueError here.
    - `settings`: further arguments of `samp.explain`, such as `batch_size` or `speed`.

    >>> net = nn.Sequential(nn.Flatten(), nn.Linear(48, 5)).eval()
    >>> explain_maps = explain_maps_by("ig")
    >>> explain_maps(net, torch.rand(2, 3, 4, 4), torch.tensor([1, 2]), 0).shape
    torch.Size([2, 4, 4])
    """
    chosen = resolve_method(method)

    def explain_maps(model: nn.Module, images: Tensor, target: Tensor, seed: int) -> Tensor:
        return explain(model, images, target=target, method=_at_feature_grid(chosen, model), seed=seed, **settings).map

    return explain_maps


def make_maps(explain_maps: ExplainMaps, model: nn.Module, images: Tensor, target: Tensor, seed: int) -> Tensor:
    """b h w: the maps that the callable gives; raise TypeError or ValueError if they are no maps of these images.

    >>> give_images = lambda model, images, target, seed: images  # channels are summed
    >>> make_maps(give_images, nn.Identity(), torch.ones(1, 3, 1, 2), torch.zeros(1), 0)
    tensor([[[3., 3.]]])
    """
    if not callable(explain_maps):
        raise TypeError(
            "explain_maps is a callable (model, images, target, seed) -> b h w maps, not "
            f"{type(explain_maps).__name__}: pass samp.metrics.explain_maps_by({explain_maps!r})."
        )
    maps = pixel_maps(explain_maps(model, images, target, seed))
    wanted = (len(images), *images.shape[2:])
    if maps.shape != wanted:
        raise ValueError(
            f"explain_maps returned maps of shape {tuple(maps.shape)} for images of shape {tuple(images.shape)}: "
            f"return {wanted}, one value per pixel; enlarge small maps first."
        )
    return maps


def image_problem(model: Model, images: Tensor, target: Target, seed: int, batch_size: BatchSize = "auto") -> Problem:
    """Return the checked problem of these b c h w images with the class of each; raise an error for anything else.

    >>> net = nn.Sequential(nn.Flatten(), nn.Linear(4, 5)).eval()
    >>> classes_of(image_problem(net, torch.rand(3, 1, 2, 2), 4, seed=0)).tolist()
    [4, 4, 4]
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"the model is explained again, so it is an nn.Module, not {type(model).__name__}.")
    with torch.inference_mode(False):
        problem = make_problem(model, images, target)
        if not problem.one_input or problem.inputs[0].ndim != 4:
            shapes = ", ".join(str(tuple(x.shape)) for x in problem.inputs)
            raise ValueError(f"this takes one b c h w tensor of images, not {shapes}.")
        problem.check_layout()
        if callable(target):
            raise TypeError("the target is one class number per image, not a function: pass numbers, or None.")
        with isolate(problem.model, problem.x.device, check_seed(seed)):
            return problem.with_target(Batches(batch_size, problem.x.shape[1], problem.x.device))


def class_scores(problem: Problem, seed: int) -> Tensor:
    """b k: the model's output for the images of a problem of `image_problem`; raise ValueError unless it is b k.

    >>> net = nn.Sequential(nn.Flatten(), nn.Linear(4, 5)).eval()
    >>> class_scores(image_problem(net, torch.rand(3, 1, 2, 2), 0, seed=0), seed=0).shape
    torch.Size([3, 5])
    """
    everyone = torch.arange(problem.batch, device=problem.x.device)
    batches = Batches("auto", problem.x.shape[1], problem.x.device)

    def work(first: int, last: int) -> Tensor:
        return extract_scores(problem.output(problem.x[first:last], everyone[first:last]))

    with isolate(problem.model, problem.x.device, check_seed(seed)), torch.no_grad():
        scores = torch.cat(list(batches.map_slices(problem.batch, work)))
    if scores.ndim != 2 or scores.shape[1] < 2:
        raise ValueError(f"the model gave shape {tuple(scores.shape)}: it should give b × classes.")
    return scores


def classes_of(problem: Problem) -> Tensor:
    """b: the class numbers that a problem of `image_problem` explains; raise ValueError for larger indices."""
    index = problem.objective.index if isinstance(problem.objective, TargetIndex) else torch.empty(0, 0)
    if index.shape[1] != 1:
        raise ValueError(f"the target is one class number per image, not {index.shape[1]} numbers.")
    return index[:, 0]


def _at_feature_grid(method: Method, model: nn.Module) -> Method:
    """Return the method; one that looks into a layer of its own choice looks into the features of all cells."""
    if FEATURE_GRID in dict(model.named_children()) and getattr(method, "layer", "") is None:
        return replace(method, layer=FEATURE_GRID)  # type: ignore[type-var]  # methods are dataclasses
    return method
