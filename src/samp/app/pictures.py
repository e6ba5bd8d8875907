"""What the app shows as it is made, as data URIs: points of walks, maps over the photo, and the parts of a result."""

from __future__ import annotations

import io

from PIL import Image
from torch import Tensor

from samp.html.embed import data_uri, encode_picture
from samp.html.facts import ExplainedPhoto
from samp.html.player.film import colours, jpeg
from samp.models import Classifier
from samp.plots.glow import glow
from samp.plots.region_view import blur_parts, enlarge, outline_region
from samp.plots.sheet import LARGE, PANEL, map_panel
from samp.region import Region

ROOM = (PANEL, PANEL)


def draw_point(point: Tensor, classifier: Classifier) -> str:
    """Return a point of a walk (c h w) as the model is shown it."""
    return jpeg(colours(point.detach().cpu()[None], classifier)[0])


def draw_map(photo: Image.Image, credit: Tensor) -> str:
    """Return credit (h w) over what the model is shown of the photo."""
    return quick_png(glow(photo, credit))


def draw_result(explained: ExplainedPhoto, region: Region) -> dict[str, str]:
    """Return the pictures of a result: what the model is shown, the outlined photo, the map and both parts."""
    classified = explained.classified
    seen = classified.crop.convert("RGB")
    alone, without = (enlarge(part, ROOM) for part in blur_parts(seen, region))
    return {
        "photo": data_uri(enlarge(seen, ROOM), "JPEG"),
        "overlay": data_uri(outline_region(classified.photo, region, LARGE, classified.crop_box), "JPEG"),
        "map": quick_png(map_panel(explained.result, 0, explained.signed)[0]),
        "glow": draw_map(seen, explained.result.map[0]),
        "region": data_uri(alone, "JPEG"),
        "rest": data_uri(without, "JPEG"),
    }


def quick_png(image: Image.Image) -> str:
    """Return the picture as a data URI of a PNG that is larger than need be, and made in a moment.

    >>> quick_png(Image.fromarray(np.zeros((1, 1, 3), np.uint8)))[:22]
    'data:image/png;base64,'
    """
    file = io.BytesIO()
    image.save(file, "PNG", compress_level=1)
    return encode_picture(file.getvalue(), "PNG")
