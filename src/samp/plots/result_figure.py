"""A result as a figure of matplotlib: a row for each sample, with the photo, a glow over it and the map; or bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from samp.attribution import Attribution
from samp.plots.grid import GridCell
from samp.plots.page import GAP, LINE, MARGIN, SIZE, SMALL, WIDTH, Panel, fit_height, make_figure, wrap_text
from samp.plots.palette import INK, SERIES
from samp.plots.reading import Array, Photo, credit_of, photo_of
from samp.plots.result_pictures import check_sample, kept_photo
from samp.plots.result_view import BARS_OF_ONE, BARS_OF_SEVERAL, ask, describe_making, name_feature
from samp.plots.shades import Glow, Signed
from samp.plots.top import top_features
from samp.preview import MOST_SAMPLES

NAMES = 2.2  # inches: space of the names of features
BAR = 0.18  # inches: height of a line
FOR, AGAINST = SERIES[1], SERIES[0]


def draw_result(
    result: Attribution,
    inputs: Photo | Sequence[Photo] | None = None,
    *,
    classes: Sequence[str] | None = None,
    sample: int | None = None,
) -> Figure:
    """Draw the first samples of a result, or one: photo, glow and signed map of images, bars of anything else.

    - `inputs`: the photos of the samples, as the model was shown them: a batch or a list, or one for a single sample;
      None takes the small copies that `samp.explain` keeps.
    - `classes`: names of classes by their index, where the result knows none.

    >>> import samp, torch
    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 2)).eval()
    >>> len(draw_result(samp.explain(net, torch.rand(2, 3, 4, 4))).axes)
    6
    """
    if sample is not None:
        check_sample(result, sample)
    named = result if classes is None else result.with_names(classes=classes)
    count = len(result.gradients)
    samples = list(range(min(count, MOST_SAMPLES))) if sample is None else [range(count)[sample]]
    is_image = not isinstance(result.values, tuple) and result.map.ndim == 3
    rows = [_picture_row if is_image else _bar_row][0]
    panels: list[Panel] = []
    top = 0.0
    for number in samples:
        row = rows(named, number, _photo(named, inputs, number, count), top, len(samples))
        panels += row
        top = max(panel.top + panel.height for panel in row) + 2 * GAP
    return make_figure(panels, _caption(result, len(samples), count, is_image), below=0.05)


def _photo(result: Attribution, inputs: Any, sample: int, count: int) -> Array | None:
    """Return the pixels of a sample's photo (h w 3), or None if there is none."""
    if inputs is None:
        kept = kept_photo(result, sample)
        return None if kept is None or kept.shape[1:] != result.map.shape[1:] else photo_of(kept).pixels
    if isinstance(inputs, list | tuple):
        if len(inputs) != count:
            raise ValueError(f"there are {len(inputs)} inputs but {count} samples: give one for each.")
        return photo_of(inputs[sample]).pixels
    return photo_of(inputs, sample).pixels


def _picture_row(result: Attribution, sample: int, photo: Array | None, top: float, rows: int) -> list[Panel]:
    credit = credit_of(result, sample)
    blank = np.zeros((*credit.shape, 3))
    words = "\n".join(wrap_text(f"{ask(result, sample)}", 1.5, SIZE))
    cells = [GridCell(blank if photo is None else photo, credit, Signed(), "credit for and against", "")]
    if photo is not None:
        cells = [
            GridCell(photo, None, Signed(), "input", words),
            GridCell(photo, credit, Glow(), "credit for", ""),
            *cells,
        ]
    else:
        cells = [GridCell(blank, credit, Signed(), "credit for and against", words)]
    aside = LINE * (words.count("\n") + 1) + 0.06
    width = (WIDTH - 2 * MARGIN - aside - 2 * GAP) / 3
    height = fit_height(width, credit.shape)
    return [
        Panel(aside + column * (width + GAP), top + LINE + 0.06, width, height, cell)
        for column, cell in enumerate(cells)
    ]


def _bar_row(result: Attribution, sample: int, photo: Array | None, top: float, rows: int) -> list[Panel]:
    features = top_features(result, BARS_OF_ONE if rows == 1 else BARS_OF_SEVERAL, sample)

    def draw(axes: Axes) -> None:
        credit = [one["credit"] for one in features]
        places = range(len(features))
        axes.barh(places, credit, color=[FOR if one > 0 else AGAINST for one in credit], height=0.7)
        axes.set_yticks(list(places), [name_feature(one) for one in features])
        axes.invert_yaxis()
        axes.axvline(0, color=INK, linewidth=0.6)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(colors=INK, labelsize=SMALL, length=0)
        axes.set_title(ask(result, sample), size=SIZE, color=INK, loc="left", pad=3)

    return [Panel(NAMES, top + 0.22, WIDTH - 2 * MARGIN - NAMES - 0.2, BAR * max(len(features), 1) + 0.1, draw)]


def _caption(result: Attribution, drawn: int, count: int, is_image: bool) -> list[str]:
    scale = (
        f"Each map has a scale of its own. Glow: {Glow().rule()}. Map: {Signed().rule()}."
        if is_image
        else "Bars: credit of the features with the largest; orange for, blue against."
    )
    left = [f"{drawn} of {count} samples."] if drawn < count else []
    return [" ".join([scale, *left]), *describe_making(result)]
