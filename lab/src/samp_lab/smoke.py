"""The smoke run: every experiment end to end on two images of each data set, in about two minutes on two cores.

Small setups stand in for the real ones, so that it needs no data.
"""

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
"""By data set, the setup that stands in for it: digits and the slim net, both of which come with samp."""
LIMIT = 2
"""Images of each data set."""
