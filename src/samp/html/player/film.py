"""A walk as a film: the points that are shown, how far each pixel has come in them, and their packing in a small file.

Where every pixel stays on the straight line between its start and its end (SAMP, SAMP++, IG), a point of the walk is
its two ends and one fraction per pixel: the browser redraws it from those, exactly. Points of other paths (BlurIG,
GuidedIG, IG2, Spectral IG) are sent as JPEGs.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from samp.attribution import Attribution, Direction
from samp.html.embed import data_uri
from samp.models import Classifier

Bytes = NDArray[np.uint8]
TOLERANCE = 2  # of 255 levels: what rounding both ends and the fraction to 8 bits may add up to
FINE, COARSE = 255, 15  # levels of a fraction: where the picture is made of it, and where only the map is
JPEG_QUALITY = 80
GIVE = "give the classifier that was explained."


@dataclass(frozen=True, eq=False)
class Film:
    """Some points of one walk, the first and the last among them."""

    direction: Direction
    steps: Tensor  # k, the number of each point in the walk
    points: Tensor  # k c h w, as the model is fed
    pixels: Bytes  # k h w 3, as they are shown
    progress: Tensor  # k h w, the fraction of its way that each pixel has gone

    @cached_property
    def is_straight(self) -> bool:
        """Whether the ends and the fractions suffice to redraw every picture."""
        start, end = self.pixels[0].astype(np.float32), self.pixels[-1].astype(np.float32)
        fractions = quantise(self.progress, FINE).astype(np.float32)[..., None] / FINE  # k h w 1
        return all(
            np.abs(start + part * (end - start) - picture).max() <= TOLERANCE
            for part, picture in zip(fractions, self.pixels, strict=True)
        )

    @property
    def levels(self) -> int:
        """The number that stands for a fraction of 1."""
        return FINE if self.is_straight else COARSE

    @property
    def fractions(self) -> Bytes:
        """k h w: `progress` in levels."""
        return quantise(self.progress, self.levels)

    @property
    def way(self) -> Tensor:
        """k: the fraction of the way gone by all pixels together."""
        behind, ahead = distances(self.points)
        return fraction(behind.sum((1, 2)), ahead.sum((1, 2)))

    @property
    def photo(self) -> Bytes:
        """h w 3: the end of the walk that is the image itself."""
        picture: Bytes = self.pixels[-1 if self.direction == "to_image" else 0]
        return picture

    @property
    def photo_point(self) -> Tensor:
        """1 c h w: the same, as the model is fed."""
        return self.points[-1:] if self.direction == "to_image" else self.points[:1]

    @property
    def baseline(self) -> Bytes:
        """h w 3: the other end."""
        picture: Bytes = self.pixels[0 if self.direction == "to_image" else -1]
        return picture


def make_film(result: Attribution, direction: Direction, classifier: Classifier, frames: int, sample: int = 0) -> Film:
    """Return at most `frames` points of one recorded walk, evenly spread over its steps."""
    tape = result.tapes[direction][sample]
    if not isinstance(tape.points, Tensor) or tape.points.ndim != 4:
        raise ValueError("the player shows the path of one b c h w image input: this result is of other inputs.")
    places = evenly_spaced(tape.steps, frames)
    points = tape.points[places]
    return Film(direction, tape.steps[places], points, colours(points, classifier), progress_fraction(points))


def evenly_spaced(steps: Tensor, most: int) -> list[int]:
    """Return the places of the steps nearest to `most` even parts of the walk, each place once.

    >>> evenly_spaced(torch.arange(0, 101, 2), 5), evenly_spaced(torch.arange(3), 60)
    ([0, 12, 25, 37, 50], [0, 1, 2])
    """
    wanted = torch.linspace(0, float(steps[-1]), most)
    return sorted(set((steps[:, None] - wanted).abs().argmin(0).tolist()))


def progress_fraction(points: Tensor) -> Tensor:
    """Return k h w: the distance of each pixel from its start, over that plus its distance from its end.

    On the straight line between the two this is the fraction of its way that the pixel has gone.

    >>> progress_fraction(torch.tensor([0.0, 1.0, 4.0]).view(3, 1, 1, 1)).flatten().tolist()
    [0.0, 0.25, 1.0]
    """
    return fraction(*distances(points))


def distances(points: Tensor) -> tuple[Tensor, Tensor]:
    """Return k h w each: the L1 distance of every pixel from the first point and from the last, over its channels."""
    behind, ahead = ((points - end).abs().sum(1, dtype=torch.float64) for end in (points[0], points[-1]))
    return behind, ahead


def fraction(behind: Tensor, ahead: Tensor) -> Tensor:
    """Return what lies behind as a share of the whole; 1 where start and end are the same."""
    return torch.where(behind + ahead > 0, behind / (behind + ahead), 1.0)


def colours(points: Tensor, classifier: Classifier) -> Bytes:
    """Return k h w 3: inputs of the model (k c h w) as pixels; what lies outside black and white is clipped.

    >>> net = Classifier(torch.nn.Flatten(), "flat", size=1, mean=0.5, std=0.25, classes=())
    >>> colours(torch.tensor([-2.0, 0.0, 9.0]).view(1, 3, 1, 1), net).tolist()
    [[[[0, 128, 255]]]]
    """
    mean, std = (torch.tensor(value, dtype=torch.float64).view(-1, 1, 1) for value in (classifier.mean, classifier.std))
    channels = points.shape[1]
    if channels not in (1, 3):
        raise ValueError(f"the player shows images of 1 or 3 channels, not of {channels}.")
    if {len(mean), len(std)} - {1, channels}:
        raise ValueError(f"{classifier.name} is not fed images of {channels} channels, as this result has: {GIVE}")
    shown = points.double() * std + mean
    shown = shown.flip(1) if classifier.channels == "bgr" else shown
    levels = (shown.clamp(0, 1) * 255).round().byte().movedim(1, -1).numpy()
    return np.ascontiguousarray(np.broadcast_to(levels, (*levels.shape[:3], 3)))


def quantise(fractions: Tensor, levels: int) -> Bytes:
    """Return fractions in [0, 1] as whole numbers from 0 to `levels`.

    >>> quantise(torch.tensor([0.0, 0.5, 1.0]), 255).tolist()
    [0, 128, 255]
    """
    return (fractions * levels).round().byte().numpy()


def jpeg(picture: Bytes) -> str:
    """Return the picture (h w 3) as a data URI."""
    return data_uri(Image.fromarray(picture), "JPEG", JPEG_QUALITY)


def pack_blocks(blocks: Sequence[tuple[Bytes, int]]) -> str:
    """Return all blocks one after the other, deflated, in base64.

    Each comes with a stride: a byte is stored as its difference to the one that many before, which is mostly 0 for
    the same pixel a frame earlier.

    >>> zlib.decompress(base64.b64decode(pack_blocks([(np.array([3, 5, 4, 5], np.uint8), 2)]))).hex()
    '03050100'
    """
    return base64.b64encode(zlib.compress(b"".join(_differences(*block) for block in blocks), 9)).decode()


def _differences(block: Bytes, stride: int) -> bytes:
    flat = block.ravel()
    differences: Bytes = np.concatenate([flat[:stride], flat[stride:] - flat[:-stride]])
    return differences.tobytes()
