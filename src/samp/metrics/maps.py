"""Reading maps: by groups of a problem (b g), by pixels (b h w), or by their own features (b d).

Every reader takes an `Attribution`, tensors or arrays, and raises an error that says what a map should be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from samp.attribution import Attribution
from samp.checks import check_dense
from samp.engine.problem import Problem
from samp.groups import Segments, check_map_layout
from samp.targets import Target, explained_target

Maps = Attribution | Tensor | np.ndarray | Sequence[Any]


def group_values(problem: Problem, maps: Maps) -> Tensor:
    """b g: the credit of each feature of the problem, which is the sum over its elements, in float32 or wider.

    Maps have the shape of the inputs (a tuple for a tuple), or b h w for b c h w images (each channel then holds an
    equal part), or b g: one value per feature. They may lie on any device; a list for one input holds one map a sample.

    >>> from samp.engine.problem import make_problem
    >>> problem = make_problem(torch.nn.Flatten(), torch.rand(2, 3, 4, 4), target=0)
    >>> group_values(problem, torch.ones(2, 3, 4, 4))[0, 0], group_values(problem, np.ones((2, 4, 4)))[0, 0]
    (tensor(3.), tensor(1., dtype=torch.float64))
    """
    given = maps.values if isinstance(maps, Attribution) else maps
    several = isinstance(given, tuple) or (isinstance(given, list) and not problem.one_input)
    parts = [as_float_tensor(part) for part in (given if several else [given])]
    by_group = len(parts) == 1 and parts[0].shape == (problem.batch, problem.features.count)
    if by_group and parts[0].shape != problem.inputs[0].shape:  # n groups of n elements are ambiguous
        values = parts[0].to(problem.x.device)
    else:
        values = problem.features.pool(_elements(problem, parts))
    return check_finite(values)


def pixel_maps(given: Maps) -> Tensor:
    """b h w in float32 or wider, summed over channels; raise ValueError for maps of anything but images.

    >>> pixel_maps(torch.ones(2, 3, 4, 5)).shape, pixel_maps(np.ones((2, 4, 5))).dtype
    (torch.Size([2, 4, 5]), torch.float64)
    """
    maps = as_float_tensor(given.map if isinstance(given, Attribution) else given)
    check_map_layout(maps.shape)
    maps = maps.sum(1) if maps.ndim == 4 else maps
    if maps.ndim != 3 or not maps.numel():
        raise ValueError(f"maps have shape b h w or b c h w, not {tuple(maps.shape)}: give a single map a batch axis.")
    return check_finite(maps)


def feature_values(maps: Maps) -> Tensor:
    """b d: the values of each sample's features: pixels of images, groups of an `Attribution`, else elements.

    >>> feature_values(torch.ones(2, 3, 4, 4)).shape, feature_values(torch.ones(2, 5)).shape
    (torch.Size([2, 16]), torch.Size([2, 5]))
    """
    values = as_float_tensor(maps.group_values if isinstance(maps, Attribution) else maps)
    check_map_layout(values.shape)
    values = values.sum(1) if values.ndim == 4 else values
    if values.ndim < 2 or not values.numel():
        raise ValueError(f"maps have shape b h w, b c h w or b d, not {tuple(values.shape)}: add the batch axis.")
    return check_finite(values.flatten(1))


def resolve_target(maps: Maps, target: Target) -> Target:
    """Return the target, or, where it is None, the classes or margins that an `Attribution` explains."""
    explained = maps.details.get("target") if target is None and isinstance(maps, Attribution) else None
    if explained is None:
        return target
    known = explained_target(explained)
    if known is None:
        raise ValueError("the attribution explains a function of the output, which it does not hold: pass target=….")
    return known


def ranks(problem: Problem, values: Tensor) -> Tensor:
    """b g: each feature's rank by descending value, from 0; ties by index, features without elements last.

    >>> from samp.engine.problem import make_problem
    >>> problem = make_problem(torch.nn.Flatten(), torch.rand(1, 4), target=0)
    >>> ranks(problem, torch.tensor([[1.0, 3.0, 1.0, 2.0]])).tolist()
    [[2, 0, 3, 1]]
    """
    if isinstance(problem.features, Segments):
        values = values.masked_fill(problem.features.sizes == 0, -torch.inf)
    order = values.argsort(dim=1, descending=True, stable=True)
    places = torch.arange(order.shape[1], dtype=torch.int32, device=order.device).expand_as(order)
    return torch.empty_like(places, memory_format=torch.contiguous_format).scatter_(1, order, places)


def as_float_tensor(given: object) -> Tensor:
    """Return a tensor, an array or a list of these as a detached tensor of float32 or wider.

    >>> as_float_tensor(torch.ones(1, dtype=torch.float16)), as_float_tensor(np.ones(1))
    (tensor([1.]), tensor([1.], dtype=torch.float64))
    """
    try:
        stacked = isinstance(given, list) and len(given) > 0 and not isinstance(given[0], float | int)
        tensor = torch.stack([as_float_tensor(one) for one in given]) if stacked else _as_tensor(given)  # type: ignore[attr-defined]  # a list
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"a map is a tensor, an array or an Attribution, not {type(given).__name__}.") from error
    check_dense(tensor, "a map")
    if tensor.is_complex():
        raise TypeError("a map holds real numbers, but this one is complex: take .real or .abs() of it.")
    return tensor.detach().to(torch.promote_types(tensor.dtype, torch.float32))


def _as_tensor(given: object) -> Tensor:
    # arrays are copied: torch takes none that is flipped or of foreign byte order, and warns of read-only ones
    if isinstance(given, np.ndarray) and given.dtype.kind in "biuf":
        given = np.array(given, dtype=given.dtype.newbyteorder("="), order="C")
    return torch.as_tensor(given)


def check_finite(maps: Tensor) -> Tensor:
    """Return the maps (b …); raise ValueError if one holds NaN or Inf.

    >>> check_finite(torch.tensor([[1.0], [torch.nan]]))
    Traceback (most recent call last):
    ValueError: the map of sample 1 holds NaN or Inf: see where they come from, or replace them with torch.nan_to_num.
    """
    bad = ~torch.isfinite(maps).flatten(1).all(1)
    if bad.any():
        raise ValueError(
            f"the map of sample {int(bad.nonzero()[0])} holds NaN or Inf: see where they come from, "
            "or replace them with torch.nan_to_num."
        )
    return maps


def _elements(problem: Problem, parts: Sequence[Tensor]) -> Tensor:
    """b n: the maps laid out as the inputs are."""
    if len(parts) != len(problem.inputs):
        raise ValueError(f"there are maps for {len(parts)} inputs, but the model takes {len(problem.inputs)}.")
    fitted = [_reshape_to_input(part, x) for part, x in zip(parts, problem.inputs, strict=True)]
    return torch.cat([part.to(problem.x.device).reshape(problem.batch, -1) for part in fitted], 1)


def _reshape_to_input(part: Tensor, x: Tensor) -> Tensor:
    """The map in the shape of its input."""
    if part.shape == x.shape:
        return part
    if x.ndim == 4 and part.ndim == 4 and part.shape[1] == 1:
        part = part[:, 0]
    if x.ndim == 4 and part.shape == (len(x), *x.shape[2:]):
        return (part / x.shape[1])[:, None].expand(x.shape)
    per_pixel = f", or {(len(x), *x.shape[2:])} with one value per pixel" if x.ndim == 4 else ""
    raise ValueError(
        f"the maps have shape {tuple(part.shape)} but the input has {tuple(x.shape)}: "
        f"give them that shape{per_pixel}; enlarge small maps first."
    )
