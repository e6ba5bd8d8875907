"""DiFull (Rao, Böhle & Schiele, CVPR 2022): the grid pointing game where credit in other cells is provably wrong.

The model sees each cell of a grid by itself, and has a head for each cell. No pixel of another cell can change such a
score, so a faithful map has all its credit in the cell: unlike in GridPG, the right answer is 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch
from torch import Tensor, nn

from samp.metrics.explain_maps import FEATURE_GRID, ExplainMaps
from samp.metrics.grid_pointing import GridPointing, Grids, check_grids, join_cells, play_grids, split_cells


class SeparateCells(nn.Module):
    """A classifier that sees the cells of a grid apart: b × (cells² · classes), the scores of cell after cell.

    The net runs on all cells as one batch. Its last feature maps pass a layer `feature_grid` that holds those of all
    cells side by side (b k (cells·h) (cells·w)): class activation maps are computed there, over the whole grid, as
    published.

    >>> net = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()).eval()
    >>> SeparateCells(net, 2)(torch.arange(4.0).view(1, 1, 2, 2)).tolist()
    [[0.0, 1.0, 2.0, 3.0]]
    """

    def __init__(self, net: nn.Module, cells: int) -> None:
        super().__init__()
        self.net, self.cells = net, cells
        self.add_module(FEATURE_GRID, nn.Identity())
        self.train(net.training)

    def forward(self, images: Tensor) -> Tensor:
        """b c (cells·h) (cells·w) -> b (cells²·classes)."""
        parts = split_cells(images, self.cells).flatten(0, 1)
        with self._joined_features(parts):
            scores: Tensor = self.net(parts)
        return scores.reshape(len(images), -1)

    def _joined_features(self, parts: Tensor) -> AbstractContextManager[None]:
        """Return a context in which the last feature map of the net passes `feature_grid`."""
        grid: nn.Module = getattr(self, FEATURE_GRID)
        if not grid._forward_hooks:  # nobody looks
            return nullcontext()
        name, call = _last_feature_map(self.net, parts[:1])

        def join(output: Tensor) -> Tensor:
            joined = grid(join_cells(output.reshape(-1, self.cells**2, *output.shape[1:])))
            return split_cells(joined, self.cells).flatten(0, 1)

        return _replace_output(self.net.get_submodule(name), call, join)


def difull(model: nn.Module, grids: Grids, explain_maps: ExplainMaps, *, seed: int = 0) -> GridPointing:
    """Return the share of each map's positive credit that lies in the one cell which the explained score can see.

    1 for every method that credits only what has a gradient. Methods that choose a layer of their own (Grad-CAM) are
    computed on the feature maps of the whole grid. Arguments: as in `grid_pointing`.

    >>> from samp.metrics import explain_maps_by, make_grids
    >>> net = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()).eval()
    >>> grids = make_grids(net, torch.eye(4)[:, :, None, None].expand(4, 4, 5, 6))
    >>> difull(net, grids, explain_maps_by("saliency")).mean
    1.0
    """
    check_grids(grids)
    apart = SeparateCells(model, grids.cells)
    with torch.no_grad():
        scores: Tensor = model(split_cells(grids.images[:1], grids.cells)[0])
    offsets = scores.shape[1] * torch.arange(grids.cells**2, device=grids.classes.device)
    return play_grids("DiFull", apart, grids, grids.classes + offsets, explain_maps, seed)


def _last_feature_map(net: nn.Module, cell: Tensor) -> tuple[str, int]:
    """Return the name of the module that gives the last b k h w map, and which of its calls that is (from 1)."""
    calls = {name: 0 for name, _ in net.named_modules()}
    last: list[tuple[str, int]] = []

    def note(name: str) -> Callable[..., None]:
        def hook(module: nn.Module, inputs: object, output: object) -> None:
            calls[name] += 1
            if isinstance(output, Tensor) and output.ndim == 4 and math.prod(output.shape[2:]) > 1:
                last.append((name, calls[name]))

        return hook

    handles = [module.register_forward_hook(note(name)) for name, module in net.named_modules()]
    try:
        with torch.no_grad():
            net(cell)
    finally:
        for handle in handles:
            handle.remove()
    if not last:
        raise ValueError(f"{type(net).__name__} has no b k h w feature map: take a method that needs none.")
    return last[-1]


@contextmanager
def _replace_output(module: nn.Module, call: int, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    calls = 0

    def hook(module: nn.Module, inputs: object, output: Tensor) -> Tensor | None:
        nonlocal calls
        calls += 1
        return change(output) if calls == call else None

    handle = module.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()
