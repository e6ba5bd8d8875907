"""Photos × methods side by side (the paper's Fig. gallery)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from samp.attribution import Attribution
from samp.checks import check_real
from samp.plots.page import GAP, LINE, MARGIN, SIZE, WIDTH, Panel, fit_height, frame_axes, make_figure, wrap_text
from samp.plots.reading import (
    Array,
    CreditMap,
    Photo,
    PhotoPixels,
    cost_words,
    credit_of,
    format_number,
    photo_of,
    samples_of,
)
from samp.plots.shades import Grey, Shade

NARROWEST = 0.85  # inches of a cell; with more columns the figure grows wider than a page
LOWEST = 0.75  # of a row with a label
GREY_MAPS = Grey()


@dataclass(frozen=True, eq=False)
class GridCell:
    """Draws a photo, or a map of it if there is one, with the texts above and beside it."""

    photo: Array
    credit: Array | None
    shade: Shade
    above: str
    beside: str

    def __call__(self, axes: Axes) -> None:
        if self.credit is None:
            axes.imshow(self.photo)
        else:
            self.shade.draw(axes, self.credit, self.photo)
        frame_axes(axes, self.above)
        axes.set_ylabel(self.beside, size=SIZE, labelpad=3)


def method_grid(
    photos: Sequence[Photo] | Tensor,
    results: Mapping[str, CreditMap],
    *,
    labels: Sequence[str] | None = None,
    shade: Shade = GREY_MAPS,
    title: str = "",
) -> Figure:
    """Draw one row per photo and one column per method (Fig. gallery); each map has a scale of its own.

    - `results`: {heading of the column: maps of all photos, in their order}.
    - `labels`: one per row, for instance the class explained.
    - `shade`: `Grey()`, `Signed()`, `Glow()` or `Outline()`.

    >>> import numpy as np
    >>> figure = method_grid([np.zeros((4, 4, 3))] * 2, {"a": np.ones((2, 4, 4)), "b": np.ones((2, 4, 4))})
    >>> len(figure.axes)
    6
    """
    labels = [] if labels is None else labels
    _check_kinds(photos, results, labels, shade)
    if not isinstance(title, str):
        raise TypeError(f"title is a string, not {type(title).__name__}.")
    pictures = [photo_of(photos[i]) for i in range(len(photos))]
    _check(len(pictures), results, labels)
    beside = ["\n".join(wrap_text(label, LOWEST, SIZE)) for label in labels] or [""] * len(pictures)
    aside = LINE * _lines(beside) + 0.06 * bool(labels)
    width = max((WIDTH - 2 * MARGIN - aside - len(results) * GAP) / (len(results) + 1), NARROWEST)
    above = ["\n".join(wrap_text(name, width, SIZE)) for name in ("photo", *results)]
    top, panels = LINE * _lines(above) + 0.06, []
    for row, picture in enumerate(pictures):
        height = max(fit_height(width, picture.pixels.shape), LOWEST if labels else 0.0)
        for column, credit in enumerate([None, *(credit_of(given, row) for given in results.values())]):
            words = (above[column] * (not row), beside[row] * (not column))
            cell = GridCell(picture.pixels, credit, shade, *words)
            panels.append(Panel(aside + column * (width + GAP), top, width, height, cell))
        top += height + GAP
    return make_figure(panels, [f"Each map has a scale of its own: {shade.rule()}.", *_notes(results, pictures)], title)


def _lines(texts: Sequence[str]) -> int:
    """The number of lines of the longest text; 0 where all are empty."""
    return max(text.count("\n") + bool(text) for text in texts)


def _notes(results: Mapping[str, CreditMap], pictures: Sequence[PhotoPixels]) -> list[str]:
    """How each column was made, then how the photos were scaled, each text once."""
    methods = [f"{name}: {_summary(given)}" for name, given in results.items() if isinstance(given, Attribution)]
    return methods + list(dict.fromkeys(picture.words for picture in pictures))


def _summary(result: Attribution) -> str:
    residual = result.residual.abs().max()
    misses = "no residual" if residual.isnan() else f"residual up to {format_number(float(residual))}"
    return f"{result.method}; {misses}; up to {cost_words(result, int(result.gradients.argmax()))}."


def _check_kinds(photos: object, results: object, labels: object, shade: object) -> None:
    """Raise TypeError, or ValueError for photos without an axis, if an argument is of the wrong kind."""
    if not isinstance(photos, Sequence | Tensor | np.ndarray) or isinstance(photos, str | bytes | range):
        raise TypeError(f"photos are a list of photos or a batch b c h w, not {type(photos).__name__}.")
    if isinstance(photos, Tensor):
        check_real(photos, "the batch of photos")
    if isinstance(photos, Tensor | np.ndarray) and not photos.ndim:
        raise ValueError("photos are a list of photos or a batch b c h w, but these have no axis.")
    if not isinstance(results, Mapping) or not all(isinstance(name, str) for name in results):
        raise TypeError("results is {heading: maps}, with strings as headings, and these are not.")
    if not isinstance(labels, Sequence) or isinstance(labels, str) or not all(isinstance(one, str) for one in labels):
        raise TypeError(f"labels is a list of strings, one for each photo, not {type(labels).__name__}.")
    if isinstance(shade, type) or not callable(getattr(shade, "rule", None)):
        raise TypeError(f"shade is Grey(), Signed(), Glow() or Outline(), not {shade!r}.")


def _check(count: int, results: Mapping[str, CreditMap], labels: Sequence[str]) -> None:
    if not count or not results:
        raise ValueError(f"a grid needs photos and results, and there are {count} and {len(results)}.")
    for name, given in results.items():
        if samples_of(given) != count:
            raise ValueError(f"{name!r} has maps of {samples_of(given)} samples but there are {count} photos.")
    if labels and len(labels) != count:
        raise ValueError(f"there are {len(labels)} labels but {count} photos: give one for each, or none.")
