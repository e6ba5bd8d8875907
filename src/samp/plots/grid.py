"""Photos × methods side by side (the paper's Fig. gallery)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from samp.attribution import Attribution
from samp.plots.page import GAP, LINE, MARGIN, SIZE, WIDTH, Panel, fitted, frame, page, wrapped
from samp.plots.reading import Array, CreditMap, Photo, Picture, cost_words, credit_of, number, photo_of, samples_of
from samp.plots.shades import Grey, Shade

NARROWEST = 0.85  # inches of a cell; with more columns the figure grows wider than a page
LOWEST = 0.75  # of a row with a label
GREY_MAPS = Grey()


@dataclass(frozen=True, eq=False)
class Cell:
    """A photo, or a map of it if there is one, with what stands above and beside it."""

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
        frame(axes, self.above)
        axes.set_ylabel(self.beside, size=SIZE, labelpad=3)


def method_grid(
    photos: Sequence[Photo] | Tensor,
    results: Mapping[str, CreditMap],
    *,
    labels: Sequence[str] = (),
    shade: Shade = GREY_MAPS,
    title: str = "",
) -> Figure:
    """One row per photo, one column per method (Fig. gallery); each map has a scale of its own.

    - `results`: by the heading of their column; each holds the maps of all photos, in their order.
    - `labels`: one per row, for instance the class explained.
    - `shade`: `Grey()`, `Signed()` or `Glow()`.

    >>> import numpy as np
    >>> figure = method_grid([np.zeros((4, 4, 3))] * 2, {"a": np.ones((2, 4, 4)), "b": np.ones((2, 4, 4))})
    >>> len(figure.axes)
    6
    """
    pictures = [photo_of(photos[i]) for i in range(len(photos))]
    _check(len(pictures), results, labels)
    beside = ["\n".join(wrapped(label, LOWEST, SIZE)) for label in labels] or [""] * len(pictures)
    aside = LINE * _lines(beside) + 0.06 * bool(labels)
    width = max((WIDTH - 2 * MARGIN - aside - len(results) * GAP) / (len(results) + 1), NARROWEST)
    above = ["\n".join(wrapped(name, width, SIZE)) for name in ("photo", *results)]
    top, panels = LINE * _lines(above) + 0.06, []
    for row, picture in enumerate(pictures):
        height = max(fitted(width, picture.pixels.shape), LOWEST if labels else 0.0)
        for column, credit in enumerate([None, *(credit_of(given, row) for given in results.values())]):
            words = (above[column] * (not row), beside[row] * (not column))
            cell = Cell(picture.pixels, credit, shade, *words)
            panels.append(Panel(aside + column * (width + GAP), top, width, height, cell))
        top += height + GAP
    return page(panels, [f"Each map has a scale of its own: {shade.rule()}.", *_notes(results, pictures)], title)


def _lines(texts: Sequence[str]) -> int:
    """Of the longest; 0 where all are empty."""
    return max(text.count("\n") + bool(text) for text in texts)


def _notes(results: Mapping[str, CreditMap], pictures: Sequence[Picture]) -> list[str]:
    """How each column was made, then what was done to the photos (the same words once)."""
    made = [f"{name}: {_summary(given)}" for name, given in results.items() if isinstance(given, Attribution)]
    return made + list(dict.fromkeys(picture.words for picture in pictures))


def _summary(result: Attribution) -> str:
    residual = result.residual.abs().max()
    misses = "no residual" if residual.isnan() else f"residual up to {number(float(residual))}"
    return f"{result.method}; {misses}; up to {cost_words(result, int(result.gradients.argmax()))}."


def _check(count: int, results: Mapping[str, CreditMap], labels: Sequence[str]) -> None:
    if not count or not results:
        raise ValueError(f"a grid needs photos and results, and there are {count} and {len(results)}.")
    for name, given in results.items():
        if samples_of(given) != count:
            raise ValueError(f"{name!r} has maps of {samples_of(given)} samples but there are {count} photos.")
    if labels and len(labels) != count:
        raise ValueError(f"there are {len(labels)} labels but {count} photos: give one for each, or none.")
