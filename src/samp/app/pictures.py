"""What the app shows as it is made, as data URIs: points of walks, maps over the photo, and the parts of a result."""

from __future__ import annotations

import io

from PIL import Image
from torch import Tensor

from samp.html.embed import data_uri, encode_picture
from samp.html.facts import ExplainedPhoto
from samp.html.player.film import JPEG_QUALITY, colours, jpeg
from samp.models import Classifier
from samp.plots.glow import glow
from samp.plots.region_view import blur_parts, enlarge, outline_region
from samp.plots.shading import drawable_map
from samp.plots.sheet import LARGE, PANEL, map_panel
from samp.region import Region, smooth_credit

ROOM = (PANEL, PANEL)
SCREEN = 960  # pixels: the longer side of a photo on the page
SIDE_PER_SIGMA = 150  # a map that is watched is blurred by a Gaussian whose σ is this part of its longer side
SHARP = 64  # pixels: the sides of maps that are not


def draw_point(point: Tensor, classifier: Classifier) -> str:
    """Return a point of a walk (c h w) as the model is shown it."""
    return jpeg(colours(point.detach().cpu()[None], classifier)[0])


def draw_photo(photo: Image.Image) -> str:
    """Return the whole photo, in a size for the screen.

    >>> draw_photo(Image.new("RGB", (2, 1)))[:23]
    'data:image/jpeg;base64,'
    """
    scale = min(1.0, SCREEN / max(photo.size))
    size = (max(1, round(scale * photo.width)), max(1, round(scale * photo.height)))
    return data_uri(photo.resize(size, reducing_gap=2.0), "JPEG")


def draw_map(photo: Image.Image, credit: Tensor) -> str:
    """Return credit (h w) over what the model is shown of the photo, a little blurred: single pixels are half chance.

    >>> import torch
    >>> draw_map(Image.new("RGB", (4, 4)), torch.eye(4))[:23]
    'data:image/jpeg;base64,'
    """
    sigma = max(credit.shape) / SIDE_PER_SIGMA if max(credit.shape) > SHARP else 0
    return data_uri(glow(photo, smooth_credit(credit.clamp(min=0), sigma)), "JPEG", JPEG_QUALITY)


def draw_result(explained: ExplainedPhoto, region: Region) -> dict[str, str]:
    """Return the pictures of a result: what the model is shown, the outlined photo, the map and both parts."""
    classified = explained.classified
    seen = classified.crop.convert("RGB")
    alone, without = (enlarge(part, ROOM) for part in blur_parts(seen, region))
    return {
        "photo": data_uri(enlarge(seen, ROOM), "JPEG"),
        "overlay": data_uri(outline_region(classified.photo, region, LARGE, classified.crop_box), "JPEG"),
        "map": quick_png(map_panel(explained.result, 0, explained.signed)[0]),
        "glow": data_uri(enlarge(glow(seen, drawable_map(explained.result)[0]), ROOM), "JPEG"),
        "region": data_uri(alone, "JPEG"),
        "rest": data_uri(without, "JPEG"),
    }


def quick_png(image: Image.Image) -> str:
    """Return the picture as a data URI of a PNG that is larger than need be, and made in a moment.

    >>> quick_png(Image.new("RGB", (1, 1)))[:22]
    'data:image/png;base64,'
    """
    file = io.BytesIO()
    image.save(file, "PNG", compress_level=1)
    return encode_picture(file.getvalue(), "PNG")
