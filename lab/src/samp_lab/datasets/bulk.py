"""A data set that is small enough to be one array."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from samp_lab.datasets.images import Entry, Images


@dataclass(frozen=True, eq=False)
class ArrayDataset:
    """All pictures of one part of a data set: `pixels` n h w or n h w c in bytes, and a class for each.

    >>> whole = ArrayDataset("tiny", "test", np.zeros((2, 4, 4), np.uint8), np.array([1, 0]), ("cat", "dog"))
    >>> [entry.id for entry in whole.images()]
    ['test/00000', 'test/00001']
    """

    name: str
    split: str
    pixels: NDArray[np.uint8]
    labels: NDArray[np.int64]
    classes: tuple[str, ...]
    free: bool = False
    credit: str = ""

    def __post_init__(self) -> None:
        if len(self.pixels) != len(self.labels):
            raise ValueError(
                f"{self.name} has {len(self.pixels)} pictures but {len(self.labels)} labels: "
                "one of its files is of another set, or cut off."
            )

    def images(self) -> Images:
        """Return the data set as pictures, each of which pickles with its own pixels only."""
        entries = [
            Entry(f"{self.split}/{number:05d}", label, partial(Image.fromarray, one))
            for number, (one, label) in enumerate(zip(self.pixels, self.labels.tolist(), strict=True))
        ]
        return Images(self.name, entries, self.classes, self.free, self.credit)
