"""GridPG, the grid pointing game (Böhle, Fritz & Schiele, CVPR 2021): photos side by side, one of each class.

A grid shows n × n photos of different classes, all recognised with confidence. A map that explains the class of one of
them should credit that cell. The score is the share of the positive credit inside it: 1 / n² by chance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from samp.checks import check_seed, check_whole, is_number
from samp.devices import widen
from samp.engine.problem import make_problem
from samp.metrics.explain_maps import ExplainMaps, class_scores, classes_of, image_problem, make_maps
from samp.metrics.maps import Maps, pixel_maps


@dataclass(frozen=True, eq=False)
class Grids:
    """Pictures of cells × cells photos; cells count from the upper left, along rows.

    >>> pictures = torch.rand(1, 3, 8, 8)
    >>> len(Grids(pictures, torch.tensor([[3, 1, 4, 2]]), torch.tensor([[0, 1, 2, 3]]), cells=2))
    1
    """

    images: Tensor
    """b c (cells·h) (cells·w)"""
    classes: Tensor
    """b cells²: the class of the photo in each cell; those of one grid differ."""
    photos: Tensor
    """b cells²: which of the given photos it is."""
    cells: int
    """How many photos are in a row of a grid."""

    def __len__(self) -> int:
        return len(self.images)

    def to(self, device: torch.device | str) -> Grids:
        """Return the same grids on another device."""
        return Grids(self.images.to(device), self.classes.to(device), self.photos.to(device), self.cells)


@dataclass(frozen=True, eq=False, repr=False)
class GridPointing:
    """What `grid_pointing` and `difull` return: how much of the positive credit is where it belongs.

    >>> result = GridPointing(torch.tensor([[0.5, 0.25, 0.75, torch.nan]]))
    >>> result.mean, result.undefined_count
    (0.5, 1)
    """

    PER_SAMPLE: ClassVar = ("share",)

    share: Tensor
    """b cells²: by explained cell; higher is better, 1 / cells² by chance, NaN for a map without positive credit."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Game, cells, classes, seed, device, dtype, versions."""

    @property
    def mean(self) -> float:
        """Over all cells whose map has positive credit."""
        return float(self.share.nanmean())

    @property
    def undefined_count(self) -> int:
        """How many maps had no positive credit and are left out of means."""
        return int(self.share.isnan().sum())

    def __repr__(self) -> str:
        grids, cells = self.share.shape
        return f"GridPointing({self.mean:.4f}, by chance {1 / cells:.4f}; {self.details.get('game')}, {grids} grids)"


def make_grids(
    model: nn.Module,
    images: Tensor,
    labels: Tensor | Iterable[int] | None = None,
    *,
    cells: int = 2,
    count: int | None = None,
    confidence: float = 0.0,
    seed: int = 0,
) -> Grids:
    """Return grids of the photos (b c h w) that the model recognises most confidently, each in its full size.

    As published, only photos whose predicted class is their label are taken, and those of the highest probability
    first; a grid never shows a class twice, and here no photo is shown twice.

    - `labels`: the class number of each photo; None takes the predicted ones.
    - `count`: how many grids; None makes as many as there are photos for.
    - `confidence`: the least probability of the class; Rao, Böhle & Schiele (CVPR 2022) take 0.99.
    - `seed`: of the places within each grid.

    Raises ValueError if there are too few such photos.

    >>> net = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()).eval()  # the colour is the class
    >>> grids = make_grids(net, torch.eye(4)[:, :, None, None].expand(4, 4, 5, 6), count=1)
    >>> grids.images.shape, sorted(grids.classes[0].tolist())
    (torch.Size([1, 4, 10, 12]), [0, 1, 2, 3])
    """
    side, wanted = check_whole("cells", cells, 2), None if count is None else check_whole("count", count, 1)
    if not is_number(confidence) or not 0 <= confidence <= 1:
        raise ValueError(f"confidence is a probability from 0 to 1, not {confidence!r}.")
    problem = image_problem(model, images, 0 if labels is None else _as_target(labels), seed)
    scores = class_scores(problem, seed)
    classes = scores.argmax(1) if labels is None else classes_of(problem)
    certainty = widen(scores).log_softmax(1).gather(1, classes[:, None])[:, 0]  # b; a probability would round to 1
    usable = (scores.argmax(1) == classes) & (certainty.exp() >= confidence)
    order = [photo for photo in certainty.argsort(descending=True, stable=True).tolist() if usable[photo]]
    chosen = _choose(order, classes.tolist(), side**2, wanted)
    if not chosen or len(chosen) < (wanted or 1):
        raise ValueError(
            f"{len(chosen)} of {wanted or 1} grids of {side} × {side} could be filled: {len(order)} of {len(images)} "
            f"photos, of {len({int(classes[photo]) for photo in order})} classes, are recognised with a probability of "
            f"at least {confidence:g}. Give more photos, or make fewer or smaller grids."
        )
    generator = torch.Generator().manual_seed(check_seed(seed))
    photos = torch.stack([torch.tensor(grid)[torch.randperm(side**2, generator=generator)] for grid in chosen])
    photos = photos.to(classes.device)
    return Grids(join_cells(problem.inputs[0][photos]), classes[photos], photos, side)


def grid_pointing(model: nn.Module, grids: Grids, explain_maps: ExplainMaps, *, seed: int = 0) -> GridPointing:
    """Return the share of each map's positive credit that lies in the cell of the class it explains.

    Every grid is explained once for each of its classes. The model has to accept pictures of the grids' size, as nets
    with a global pool do; what it says of a grid's cells may depend on the other cells (`difull` rules that out).

    >>> from samp.metrics import explain_maps_by
    >>> net = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()).eval()
    >>> grids = make_grids(net, torch.eye(4)[:, :, None, None].expand(4, 4, 5, 6))
    >>> grid_pointing(net, grids, explain_maps_by("gradientxinput")).share.tolist()
    [[1.0, 1.0, 1.0, 1.0]]
    """
    check_grids(grids)
    return play_grids("GridPG", model, grids, grids.classes, explain_maps, seed)


def cell_shares(maps: Maps, cells: int) -> Tensor:
    """b cells²: the share of each map's positive credit in each cell; NaN for a map without any.

    >>> cell_shares(torch.tensor([[[3.0, -5.0], [1.0, 0.0]]]), 2).tolist()
    [[0.75, 0.0, 0.25, 0.0]]
    """
    values, side = pixel_maps(maps), check_whole("cells", cells, 1)
    if values.shape[1] % side or values.shape[2] % side:
        raise ValueError(f"maps of shape {tuple(values.shape)} are not made of {side} × {side} equal cells.")
    positive = widen(values).clamp(min=0)
    largest = positive.flatten(1).amax(1).view(-1, 1, 1)
    positive = positive / largest.where(largest > 0, 1)  # no sum overflows or vanishes
    by_cell = split_cells(positive[:, None], side).sum((2, 3, 4))  # b cells²
    return by_cell / by_cell.sum(1, keepdim=True)  # 0 / 0 is NaN


def split_cells(images: Tensor, cells: int) -> Tensor:
    """b cells² c h w: the cells of b c (cells·h) (cells·w) pictures, from the upper left along rows.

    >>> split_cells(torch.arange(4).view(1, 1, 2, 2), 2).flatten().tolist()
    [0, 1, 2, 3]
    """
    b, c, height, width = images.shape
    parts = images.reshape(b, c, cells, height // cells, cells, width // cells)
    return parts.permute(0, 2, 4, 1, 3, 5).reshape(b, cells**2, c, height // cells, width // cells)


def join_cells(parts: Tensor) -> Tensor:
    """b c (cells·h) (cells·w): the pictures of these cells (b cells² c h w), the inverse of `split_cells`.

    >>> join_cells(split_cells(torch.arange(16).view(1, 1, 4, 4), 2))[0, 0, 0].tolist()
    [0, 1, 2, 3]
    """
    b, count, c, height, width = parts.shape
    cells = round(count**0.5)
    rows = parts.reshape(b, cells, cells, c, height, width).permute(0, 3, 1, 4, 2, 5)
    return rows.reshape(b, c, cells * height, cells * width)


def play_grids(
    game: str, model: nn.Module, grids: Grids, targets: Tensor, explain_maps: ExplainMaps, seed: int
) -> GridPointing:
    """Explain every grid for each of these targets (b cells²), and return the shares in the targets' cells."""
    shares = []
    for cell in range(grids.cells**2):
        maps = make_maps(explain_maps, model, grids.images, targets[:, cell], check_seed(seed))
        shares.append(cell_shares(maps, grids.cells)[:, cell])
    described = make_problem(model, grids.images, 0).describe()
    details = {**described, "target": grids.classes.tolist(), "game": game, "cells": grids.cells, "seed": seed}
    return GridPointing(torch.stack(shares, 1), details)


def _choose(order: list[int], classes: list[int], size: int, count: int | None) -> list[list[int]]:
    """Return grids of `size` photos of different classes, the first photos of the order first; each is used once."""
    grids: list[list[int]] = []
    left = list(order)
    while count is None or len(grids) < count:
        grid: dict[int, int] = {}
        for photo in left:
            if len(grid) < size:
                grid.setdefault(classes[photo], photo)
        if len(grid) < size:
            break
        grids.append(list(grid.values()))
        left = [photo for photo in left if photo not in grids[-1]]
    return grids


def _as_target(labels: Tensor | Iterable[int]) -> Tensor | list[int]:
    return labels if isinstance(labels, Tensor) else list(labels)


def check_grids(grids: object) -> None:
    """Raise TypeError unless these are `Grids`."""
    if not isinstance(grids, Grids):
        raise TypeError(f"grids are made by samp.metrics.make_grids, not {type(grids).__name__}.")
