"""The colours that a model sees."""

from __future__ import annotations

import torch

from samp.models import Classifier


def zero_colour(classifier: Classifier) -> str:
    """Return the colour, in hex, that the model sees where its input is 0: what "black" baselines are made of.

    >>> zero_colour(Classifier(torch.nn.Identity(), "net", 4, (0.5, 0.25, 1.0), 0.5, (), channels="bgr"))
    '#FF4080'
    """
    mean = torch.tensor(classifier.mean).reshape(-1).expand(3).clamp(0, 1)
    levels = (255 * (mean.flip(0) if classifier.channels == "bgr" else mean)).round().int().tolist()
    return "#" + "".join(f"{level:02X}" for level in levels)
