"""Images that need no data folder: shipped with samp, or generated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.resources import as_file, files

from samp_lab.datasets.generated import coloured_shapes, mixed_shapes, mosaics_of
from samp_lab.datasets.idx import CREDIT, read_mnist
from samp_lab.datasets.images import Images


def digits() -> Images:
    """Return the first twenty digits of MNIST's test set, which come with samp.

    >>> digits().labels[:5]
    (7, 2, 1, 0, 4)
    """
    with as_file(files("samp") / "data" / "digits") as folder:
        return replace(read_mnist(folder, check=False).images(), free=True, credit=CREDIT)


BUILT_IN_IMAGES: dict[str, Callable[[], Images]] = {
    "digits": digits,
    "counting": coloured_shapes,
    "counting-mixed": mixed_shapes,
}
DERIVED_IMAGES: dict[str, tuple[str, Callable[[Images], Images]]] = {
    "mosaic": ("mnist", mosaics_of),
    "digit-mosaic": ("digits", mosaics_of),
}
"""Data sets made from the images of another one: its name, and how."""
