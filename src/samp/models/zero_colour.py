"""The colours that a model sees."""

from __future__ import annotations

import colorsys

import torch

from samp.models import Classifier

MOST_HUE = 0.1  # between the largest and the smallest channel of what still passes for grey: ImageNet's mean does


def zero_colour(classifier: Classifier) -> str:
    """Return the colour, in hex, that the model sees where its input is 0: what "zero" baselines are made of.

    >>> zero_colour(Classifier(torch.nn.Identity(), "net", 4, (0.5, 0.25, 1.0), 0.5, (), channels="bgr"))
    '#FF4080'
    """
    mean = torch.tensor(classifier.mean).reshape(-1).expand(3).clamp(0, 1)
    levels = (255 * (mean.flip(0) if classifier.channels == "bgr" else mean)).round().int().tolist()
    return "#" + "".join(f"{level:02X}" for level in levels)


def name_zero(classifier: Classifier) -> str:
    """Return the colour that the model sees where its input is 0, in a word, where it is without hue, and in hex.

    >>> net = torch.nn.Identity()
    >>> name_zero(Classifier(net, "net", 4, (0.485, 0.456, 0.406), 0.226, ()))
    'mid-grey #7C7468'
    """
    colour = zero_colour(classifier)
    return f"{name_grey(colour)} {colour}".strip()


def name_grey(colour: str) -> str:
    """Return "black", "white" or a kind of grey for a colour in hex that is nearly without hue, else "".

    >>> name_grey("#7F7F7F"), name_grey("#FF4080")
    ('mid-grey', '')
    """
    red, green, blue = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    _, light, _ = colorsys.rgb_to_hls(red, green, blue)
    if max(red, green, blue) - min(red, green, blue) > MOST_HUE:
        return ""
    words = ((0.02, "black"), (0.35, "dark grey"), (0.65, "mid-grey"), (0.98, "light grey"), (1.01, "white"))
    return next(word for most, word in words if light < most)
