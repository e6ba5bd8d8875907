"""Figures of maps side by side: rows of images, columns of methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from samp.methods import Method
from samp.metrics.statistics import Summary, summarise
from samp_lab.experiment import FigureContext
from samp_lab.figures.setup_figure import SetupFigure
from samp_lab.measurements.base import MethodMaps
from samp_lab.sections import Block, Grid
from samp_lab.setups import Setup
from samp_lab.store import Results

if TYPE_CHECKING:
    from samp_lab.figures.pages import Row, Tile

Pixels = np.ndarray[Any, Any]
WIDE = 7  # tiles side by side; an image with more of them goes on in the next row


def map_grid(
    name: str, title: str, columns: Mapping[str, str | Method], setups: tuple[str, ...], caption: str, *, most: int = 4
) -> SetupFigure:
    """The maps of several methods on the first images of a bed, with how concentrated each method's maps are.

    >>> from samp_lab.setups import parse_setup
    >>> grid = map_grid("shapley", "Shapley maps", {"IG": "ig"}, ("mnist",), "Maps.")
    >>> [cell.most for cell in grid.measurements([parse_setup("mnist")])]
    [4]
    """

    def cells(bed: Setup) -> dict[str, MethodMaps]:
        return {column: MethodMaps(bed, method, most) for column, method in columns.items()}

    def draw(sheet: FigureContext, bed: Setup, saved_as: str) -> None:
        there = {column: cell for column, cell in cells(bed).items() if sheet.has(cell)}
        maps = {column: sheet.arrays(cell)["map"].numpy() for column, cell in there.items()}
        draw_grid(sheet, bed, saved_as, maps, most)

    def tables(results: Results, bed: Setup) -> list[Block]:
        there = {column: cell for column, cell in cells(bed).items() if results.has(cell)}
        return [_concentration(results, bed, there)]

    return SetupFigure(name, title, setups, caption, lambda bed: list(cells(bed).values()), draw, tables_of=tables)


def draw_grid(sheet: FigureContext, bed: Setup, name: str, maps: Mapping[str, Pixels], most: int | None) -> None:
    """Maps (b h w) by the heading of their column, after the picture where it may be shown; one block per image.

    `most` is how many images the maps' cell asked for, of which maps may be given for the first ones alone.
    """
    from samp_lab.figures.pages import SCALE, Tile, tile_page

    photos, labels = sheet.pictures(bed, most), predicted_classes(sheet, bed, most)
    rows: list[Row] = []
    for image in range(len(next(iter(maps.values())))):
        tiles = [Tile(photos[image], "image")] if photos else []
        tiles += [Tile(credit[image], heading) for heading, credit in maps.items()]
        if len(tiles) > WIDE:
            rows += [[]] * bool(rows)  # a gap between images of several rows, each with its headings
        elif rows:
            tiles = [replace(tile, above="") for tile in tiles]  # those of the first row hold for all
        rows += _wrap_rows([replace(tiles[0], beside=labels[image]), *tiles[1:]])
    sheet.save(tile_page(rows, [SCALE]), name)


def _wrap_rows(tiles: Sequence[Tile]) -> list[Row]:
    """The tiles in rows, all as long as the first."""
    rows = [tiles[first : first + WIDE] for first in range(0, len(tiles), WIDE)]
    return [[*row, *[None] * (len(rows[0]) - len(row))] for row in rows]


def predicted_classes(sheet: FigureContext, bed: Setup, most: int | None) -> list[str]:
    """The name of the class that the net predicts for each image: the one explained."""
    net = sheet.workspace.net(bed.net)
    with torch.no_grad():
        found = net.net(sheet.workspace.prepare_images(bed, most).x.to(sheet.workspace.choice.device)).argmax(1)
    return [net.label(index) for index in found.tolist()]


def _concentration(results: Results, bed: Setup, cells: Mapping[str, MethodMaps]) -> Grid:
    rows = []
    for column, cell in cells.items():
        found = (summarise(results.numbers(cell, name)) for name in ("gini", "top10"))
        rows.append((column, *(format_with_deviation(summary) for summary in found)))
    heads = ("", "Gini coefficient of |credit|", "share of |credit| on the top 10 % of pixels")
    return Grid(heads, tuple(rows), f"Concentration, {bed.title}, the images shown")


def format_with_deviation(summary: Summary) -> str:
    """Mean ± standard deviation [interval of the mean].

    >>> format_with_deviation(summarise([0.25, 0.25]))
    '0.250 ± 0.000 [0.250, 0.250]'
    """
    mean, sd, low, high = (f"{value:.3f}" for value in (summary.mean, summary.sd, summary.low, summary.high))
    return f"{mean} ± {sd} [{low}, {high}]".replace("-", "−")
