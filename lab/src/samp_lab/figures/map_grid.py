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
from samp_lab.measurements.method_maps import MethodMaps
from samp_lab.readings import method_as_read
from samp_lab.sections import Block, Grid
from samp_lab.setups import Setup
from samp_lab.store import Results

if TYPE_CHECKING:
    from samp_lab.figures.pages import Row, Tile

Pixels = np.ndarray[Any, Any]
WIDE = 7  # tiles side by side; an image with more tiles continues in the next row


def map_grid(
    name: str, title: str, columns: Mapping[str, str | Method], setups: tuple[str, ...], caption: str, *, most: int = 4
) -> SetupFigure:
    """Return a figure of several methods' maps of the first images of a setup, with a table of their concentration.

    >>> from samp_lab.setups import parse_setup
    >>> grid = map_grid("shapley", "Shapley maps", {"IG": "ig"}, ("mnist",), "Maps.")
    >>> [measurement.most for measurement in grid.measurements([parse_setup("mnist")])]
    [4]
    """

    def measurements_by_column(setup: Setup) -> dict[str, MethodMaps]:
        return {column: MethodMaps(setup, method_as_read(method, setup), most) for column, method in columns.items()}

    def draw(context: FigureContext, setup: Setup, saved_as: str) -> None:
        there = {
            column: measurement
            for column, measurement in measurements_by_column(setup).items()
            if context.has(measurement)
        }
        maps = {column: context.arrays(measurement)["map"].numpy() for column, measurement in there.items()}
        draw_grid(context, setup, saved_as, maps, most)

    def tables(results: Results, setup: Setup) -> list[Block]:
        there = {
            column: measurement
            for column, measurement in measurements_by_column(setup).items()
            if results.has(measurement)
        }
        return [_concentration(results, setup, there)]

    return SetupFigure(
        name, title, setups, caption, lambda setup: list(measurements_by_column(setup).values()), draw, tables_of=tables
    )


def draw_grid(context: FigureContext, setup: Setup, name: str, maps: Mapping[str, Pixels], most: int | None) -> None:
    """Draw maps (b h w, by the heading of their column), after the picture where it may be shown; one block per image.

    `most` is that of the measurement of the maps, which may be of its first images alone.
    """
    from samp_lab.figures.pages import SCALE, Tile, tile_page

    photos, labels = context.pictures(setup, most), predicted_classes(context, setup, most)
    rows: list[Row] = []
    for image in range(len(next(iter(maps.values())))):
        tiles = [Tile(photos[image], "image")] if photos else []
        tiles += [Tile(credit[image], heading) for heading, credit in maps.items()]
        if len(tiles) > WIDE:
            rows += [[]] * bool(rows)  # a gap between images of several rows, each with its headings
        elif rows:
            tiles = [replace(tile, above="") for tile in tiles]  # the headings of the first row hold for all
        rows += _wrap_rows([replace(tiles[0], beside=labels[image]), *tiles[1:]])
    context.save(tile_page(rows, [SCALE]), name)


def _wrap_rows(tiles: Sequence[Tile]) -> list[Row]:
    """Return the tiles in rows, all as long as the first."""
    rows = [tiles[first : first + WIDE] for first in range(0, len(tiles), WIDE)]
    return [[*row, *[None] * (len(rows[0]) - len(row))] for row in rows]


def predicted_classes(context: FigureContext, setup: Setup, most: int | None) -> list[str]:
    """Return the name of the class that the net predicts for each image, which is the one explained."""
    net = context.workspace.net(setup.net)
    with torch.no_grad():
        classes = net.net(context.workspace.prepare_images(setup, most).x.to(context.workspace.options.device)).argmax(
            1
        )
    return [net.label(index) for index in classes.tolist()]


def _concentration(results: Results, setup: Setup, measurements: Mapping[str, MethodMaps]) -> Grid:
    rows = []
    for column, measurement in measurements.items():
        found = (summarise(results.numbers(measurement, name)) for name in ("gini", "top10"))
        rows.append((column, *(format_with_deviation(summary) for summary in found)))
    heads = ("", "Gini coefficient of |credit|", "share of |credit| on the top 10 % of pixels")
    return Grid(heads, tuple(rows), f"Concentration, {setup.title}, the images shown")


def format_with_deviation(summary: Summary) -> str:
    """Return "mean ± standard deviation [interval of the mean]".

    >>> format_with_deviation(summarise([0.25, 0.25]))
    '0.250 ± 0.000 [0.250, 0.250]'
    """
    mean, sd, low, high = (f"{value:.3f}" for value in (summary.mean, summary.sd, summary.low, summary.high))
    return f"{mean} ± {sd} [{low}, {high}]".replace("-", "−")
