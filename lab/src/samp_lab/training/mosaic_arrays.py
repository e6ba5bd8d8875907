"""Mosaics: 2×2 digits of MNIST in one picture of 56×56, each with its digits as labels (docs/paper.md#mosaics)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from samp_lab.training.batches import Arrays

CLASSES = 10


def mosaics(
    images: NDArray[np.uint8], labels: NDArray[np.int64], count: int, seed: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return `count` mosaics of four random digits each, and their labels: 1 for each of the ten digits in a mosaic.

    >>> digits, names = np.stack([np.full((28, 28), value, np.uint8) for value in range(10)]), np.arange(10)
    >>> pictures, present = mosaics(digits, names, count=2, seed=0)
    >>> pictures.shape, set(pictures[0].ravel().tolist()) == set(present[0].nonzero()[0].tolist())
    ((2, 56, 56), True)
    """
    if images.ndim != 3 or len(images) != len(labels) or len(images) == 0:
        raise ValueError(
            f"mosaics are made of n h w digits with a label each, not {images.shape} with {labels.shape}: give MNIST."
        )
    chosen = np.random.default_rng(seed).integers(0, len(images), (count, 2, 2))
    height, width = images.shape[1:]
    pictures = images[chosen].transpose(0, 1, 3, 2, 4).reshape(count, 2 * height, 2 * width)  # n 2 h 2 w -> n 2h 2w
    present = np.zeros((count, CLASSES), np.int64)
    np.put_along_axis(present, labels[chosen].reshape(count, 4), 1, axis=1)
    return pictures, present


def mosaic_arrays(digits: Arrays, count: int, seed: int, tests: int = 2000) -> Arrays:
    """Return mosaics of the training digits to train on, and of the test digits to test on.

    >>> grey, label = np.zeros((3, 28, 28), np.uint8), np.arange(3)
    >>> mosaic_arrays(Arrays(grey, label, grey, label), count=5, seed=0, tests=4).size
    (5, 4)
    """
    images, labels = mosaics(digits.images, digits.labels, count, seed)
    test_images, test_labels = mosaics(digits.test_images, digits.test_labels, tests, seed + 1)
    return Arrays(images, labels, test_images, test_labels)
