"""The smoke run: which small test bed stands in for which data set, so that all of it runs in two minutes."""

from __future__ import annotations

from collections.abc import Mapping

DIGITS = "digits/mnist-slim"
STAND_INS: Mapping[str, str] = {
    **dict.fromkeys(("mnist", "cifar10", "imagenet", "photos", "cub"), DIGITS),
    **dict.fromkeys(("mnist:even", "cifar10:even", "imagenet:even"), DIGITS),
    "mosaic": "digit-mosaic/mnist-slim-56",
    "counting": "counting",
    "counting-mixed": "counting-mixed",
}
"""Twenty digits and the slim net, both of which come with samp, so that it needs no data."""
LIMIT = 2
