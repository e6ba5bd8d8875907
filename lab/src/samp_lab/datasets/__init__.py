"""Data sets of the paper and folders of photos, in the layouts they usually come in.

`open_dataset(name, folder)` returns the pictures of a data set, each opened on use; `arrays(name, folder)` returns the
small data sets as arrays, to train on. Nothing is downloaded except by `samp_lab.datasets.download`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from samp.lookup import look_up
from samp_lab.datasets.bulk import ArrayDataset
from samp_lab.datasets.cifar10 import read_cifar10
from samp_lab.datasets.cub import open_cub
from samp_lab.datasets.detection import coco_classes, open_coco, open_voc
from samp_lab.datasets.folders import open_folder
from samp_lab.datasets.idx import read_idx, read_mnist
from samp_lab.datasets.imagenet import open_imagenet, open_photos
from samp_lab.datasets.images import Entry, Images
from samp_lab.datasets.locate import data_folder

__all__ = [
    "ARRAY_READERS",
    "READERS",
    "ArrayDataset",
    "Entry",
    "Images",
    "arrays",
    "coco_classes",
    "open_dataset",
    "read_idx",
]

ARRAY_READERS: Mapping[str, Callable[[Path, bool], ArrayDataset]] = {
    "mnist": read_mnist,
    "mnist-train": partial(read_mnist, split="train"),
    "cifar10": read_cifar10,
    "cifar10-train": partial(read_cifar10, split="train"),
}


def _open_arrays(name: str, folder: Path) -> Images:
    return ARRAY_READERS[name](folder, True).images()


READERS: Mapping[str, Callable[[Path], Images]] = {
    **{name: partial(_open_arrays, name) for name in ARRAY_READERS},
    "imagenet": open_imagenet,
    "photos": open_photos,
    "coco": open_coco,
    "voc": open_voc,
    "cub": open_cub,
    "folder": open_folder,
}


def open_dataset(name: str, folder: str | os.PathLike[str], check: bool = True) -> Images:
    """Return the pictures of a data set in this folder, or below it under its usual name.

    The content of MNIST and CIFAR-10 is compared with the published one; `check=False` accepts other data in their
    formats. Raises ValueError for an unknown name and FileNotFoundError where the data is missing.

    >>> from samp.images import example_photo
    >>> images = open_dataset("photos", example_photo().parent)
    >>> images[1].id, images[1].picture().size
    ('coffee.jpg', (480, 320))
    """
    reader = look_up(name, READERS, "data set")
    home = data_folder(folder)
    return ARRAY_READERS[name](home, check).images() if name in ARRAY_READERS else reader(home)


def arrays(
    name: str, folder: str | os.PathLike[str], check: bool = True
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return all pictures of MNIST (n 28 28) or CIFAR-10 (n 32 32 3) in bytes, and their classes.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as data:
    ...     _ = (Path(data) / "test_batch.bin").write_bytes(bytes([6, *[255] * 3072]))
    ...     pixels, labels = arrays("cifar10", data, check=False)
    >>> pixels.shape, labels
    ((1, 32, 32, 3), array([6]))
    """
    whole = look_up(name, ARRAY_READERS, "data set in arrays")(data_folder(folder), check)
    return whole.pixels, whole.labels
