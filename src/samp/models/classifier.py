"""A net together with the preprocessing that turns a photo into its input."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

from samp.baselines import Colour
from samp.images import centre_box, crop_centre
from samp.lookup import look_up
from samp.models.cropping import Box, ResizeThenCrop

# The preprocessing of most ImageNet nets: torchvision's mean and std of pixels in [0, 1].
IMAGENET: Mapping[str, Any] = {
    "size": 224,
    "mean": (0.485, 0.456, 0.406),
    "std": (0.229, 0.224, 0.225),
    "channels": "rgb",
}
IMAGENET_GREY: Mapping[str, Any] = {**IMAGENET, "mean": 0.449, "std": 0.226, "channels": "grey"}  # their averages
LARGEST_SIDE = 8192  # pixels a side: even a small net takes gigabytes for more
SUGGESTED, NEAR = 12, 3  # most classes that a message suggests: with a word in common, and spelled alike
_WORD = re.compile(r"\w+")
PALETTES = {"rgb": "RGB", "bgr": "RGB", "grey": "L"}  # Pillow's mode behind each order of channels


@dataclass(frozen=True, eq=False)
class Classifier:
    """A net, and how a photo becomes its input: its centre at `size` pixels, (pixel − mean) / std of pixels in [0, 1].

    Raises ValueError for channels, numbers or sizes that do not fit together.

    >>> tiny = Classifier(nn.Flatten(), "flat", size=2, mean=0.5, std=0.5, classes=("dark",))
    >>> tiny.prepare(Image.new("RGB", (4, 4), "white")).flatten().tolist()[:3]
    [1.0, 1.0, 1.0]
    >>> tiny.label(0), tiny.label(7)
    ('dark', 'class 7')
    """

    net: nn.Module
    name: str
    size: int | tuple[int, int]
    """Height and width in pixels, or one number for both."""
    mean: float | tuple[float, ...]
    std: float | tuple[float, ...]
    classes: tuple[str, ...]
    """Names in the order of the net's outputs; may be empty."""
    channels: str = "rgb"
    """"rgb", "bgr" or "grey" (one channel)."""
    margin: float | None = 0.875
    """Share of the photo's shorter side that is taken; None takes the whole photo, squeezed into the size."""
    resample: str = "bicubic"
    """How the photo is resized: "nearest", "bilinear", "bicubic", "lanczos", "box" or "hamming"."""
    resizing: ResizeThenCrop | None = None
    """How the package of the net resizes and crops, to the pixel; None does both in one step, by `margin`."""
    assumed: tuple[str, ...] = ()
    """Which of size, mean, std and channels were neither given nor in the metadata, and so are ImageNet's."""

    def __post_init__(self) -> None:
        count = 1 if look_up(self.channels, PALETTES, "order of channels") == "L" else 3
        for name, value in (("mean", self.mean), ("std", self.std)):
            if isinstance(value, tuple) and len(value) not in (1, count):
                raise ValueError(f"{name} has {len(value)} numbers but {self.channels} has {count}: give 1 or {count}.")
        if not bool((torch.tensor(self.std) > 0).all()):
            raise ValueError(f"std is what pixels are divided by and above 0, not {self.std}.")
        if min(self.shape) < 1 or max(self.shape) > LARGEST_SIDE:
            raise ValueError(
                f"a size is from 1 to {LARGEST_SIDE:,} pixels, not {self.size}: give what the model takes."
            )

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the input."""
        return (self.size, self.size) if isinstance(self.size, int) else self.size

    def crop(self, photo: Image.Image) -> Image.Image:
        """Return the part of a photo that the net sees, at its size and in its colours."""
        filtering = look_up(self.resample.upper(), Image.Resampling.__members__, "way to resize")
        photo = photo.convert(PALETTES[self.channels])
        if self.resizing is not None:
            return self.resizing.crop(photo, self.shape, filtering)
        return crop_centre(photo, self.shape, self.margin, filtering)

    def crop_box(self, photo_size: tuple[int, int]) -> Box:
        """Return left, top, right and bottom of that part, in pixels of the photo (width, height)."""
        if self.resizing is not None:
            return self.resizing.box(photo_size, self.shape)
        return centre_box(photo_size, self.shape, self.margin)

    def prepare(self, photo: Image.Image) -> Tensor:
        """Return the input for one photo, 1 c h w."""
        return self.to_input(torch.from_numpy(np.atleast_3d(np.array(self.crop(photo))))[None])

    def to_input(self, pixels: Tensor) -> Tensor:
        """Return the input (b c h w) for cropped photos (b h w c, 8 bits), on the device of those.

        >>> Classifier(nn.Flatten(), "flat", 1, 0.5, 0.25, ()).to_input(torch.full((1, 1, 1, 3), 255)).flatten()
        tensor([2., 2., 2.])
        """
        pixels = pixels.permute(0, 3, 1, 2) / 255
        pixels = pixels.flip(1) if self.channels == "bgr" else pixels
        mean, std = (torch.tensor(value).to(pixels).view(-1, 1, 1) for value in (self.mean, self.std))
        return ((pixels - mean) / std).contiguous()

    @property
    def depth(self) -> int:
        """The channels of the input."""
        return 1 if self.channels == "grey" else 3

    def to_pixels(self, x: Tensor) -> Tensor:
        """Return inputs of the net (b c h w) as pixels from 0 to 1, grey or RGB: the inverse of `to_input`.

        What lies outside black and white is clipped. Raises ValueError for another number of channels.

        >>> Classifier(nn.Flatten(), "flat", 1, 0.5, 0.25, ()).to_pixels(torch.tensor([9.0, 1, -9]).view(1, 3, 1, 1))
        tensor([[[[1.0000]],
        <BLANKLINE>
                 [[0.7500]],
        <BLANKLINE>
                 [[0.0000]]]])
        """
        if x.ndim != 4 or x.shape[1] != self.depth:
            raise ValueError(f"{self.name} takes b × {self.depth} × h × w, not {tuple(x.shape)}.")
        mean, std = (torch.tensor(value).to(x).view(-1, 1, 1) for value in (self.mean, self.std))
        pixels = (x.detach() * std + mean).clamp(0, 1)
        return pixels.flip(1) if self.channels == "bgr" else pixels

    def colour(self, name: str) -> Colour:
        """Return the baseline that is "black" or "white" as a photo has it; raise ValueError for another name.

        >>> Classifier(nn.Flatten(), "flat", 1, (0.5, 0.5, 0.25), 0.25, ()).colour("black")
        Colour(name='black', values=(-2.0, -2.0, -1.0))
        """
        level = look_up(name, {"black": 0, "white": 255}, "colour")
        pixel = self.to_input(torch.full((1, 1, 1, self.depth), level)).flatten()
        # the fewest digits that give the same float32, as the repr is what results show
        return Colour(name, tuple(float(str(value)) for value in pixel.numpy()))

    def label(self, index: int) -> str:
        """Return the name of this class, or "class NUMBER" if it has none."""
        return self.classes[index] if index < len(self.classes) else f"class {index}"

    def index(self, target: str, outputs: int) -> int:
        """Return the index of the class of this name or number; raise ValueError with similar classes if there is none.

        >>> Classifier(nn.Flatten(), "flat", 2, 0.5, 0.5, ("cat", "dog")).index("Dog", outputs=2)
        1
        """
        if target.removeprefix("-").isdecimal():
            if not 0 <= int(target) < outputs:
                raise ValueError(f"target {target} is out of range: the model's output goes from 0 to {outputs - 1}.")
            return int(target)
        names = [_plain(name) for name in self.classes]
        matches = [index for index, name in enumerate(names) if name == _plain(target)]
        if len(matches) > 1:
            raise ValueError(f"{target!r} is the name of classes {' and '.join(map(str, matches))}: give the number.")
        if not matches:
            # A single class with that word in its name is not taken either: only what was named is explained.
            raise ValueError(f"{self.name} has no class {target!r}: {suggest_classes(target, self.classes)}")
        return matches[0]

    def with_outputs(self, outputs: int) -> Classifier:
        """Return this classifier for a known number of outputs: 1,000 without names get those of ImageNet.

        Raises ValueError if there are names for another number of outputs.

        >>> Classifier(nn.Flatten(), "flat", 2, 0.5, 0.5, ()).with_outputs(1000).label(281)
        'tabby'
        """
        if self.classes and len(self.classes) != outputs:
            raise ValueError(
                f"there are {len(self.classes)} class names but {self.name} has {outputs} outputs: "
                "give a file with one name a line for each output as `classes`."
            )
        return replace(self, classes=imagenet_classes()) if not self.classes and outputs == 1000 else self


def suggest_classes(target: str, classes: Sequence[str]) -> str:
    """Return a question that suggests classes with their numbers, or the advice to give a number.

    Suggested are classes with the same words, else with words spelled alike, else with names spelled alike.

    >>> suggest_classes("cat", ["castle", "Persian cat", "tiger cat", "cathedral"])
    "did you mean 'Persian cat' (1) or 'tiger cat' (2)?"
    >>> suggest_classes("catle", ["castle", "Persian cat"])
    "did you mean 'castle' (0)?"
    """
    similar = _classes_with_words(target, classes) or _classes_spelled_like(target, classes)
    named = [f"{classes[index]!r} ({index})" for index in similar[:SUGGESTED]]
    if not named:
        return "give a number."
    named += [f"{len(similar) - SUGGESTED} others"] if len(similar) > SUGGESTED else []
    return f"did you mean {' or '.join(filter(None, [', '.join(named[:-1]), named[-1]]))}?"


def _classes_with_words(target: str, classes: Sequence[str]) -> list[int]:
    """Return the classes that have every word of the target, else those that have a similar word for each."""
    words = [set(_WORD.findall(_plain(name))) for name in classes]
    target_words = _WORD.findall(_plain(target))
    every = set[str]().union(*words)
    same = [{word} for word in target_words]
    similar = [set(difflib.get_close_matches(word, every, SUGGESTED, 0.8)) for word in target_words]
    matches = (
        [i for i, own in enumerate(words) if target_words and all(near & own for near in wanted)]
        for wanted in (same, similar)
    )
    return next(filter(None, matches), [])


def _classes_spelled_like(target: str, classes: Sequence[str]) -> list[int]:
    names = [_plain(name) for name in classes]
    near = difflib.get_close_matches(_plain(target), names, NEAR, 0.6)
    return [index for name in dict.fromkeys(near) for index, own in enumerate(names) if own == name]


def suggest_names(name: str, names: Iterable[str]) -> str:
    """Return a question that suggests the most similar names, or "" if none is similar.

    >>> suggest_names("tabbby", ["tabby", "tiger", "cab"])
    "did you mean 'tabby'?"
    """
    near = difflib.get_close_matches(name, list(names), 3, 0.6)
    return f"did you mean {' or '.join(map(repr, near))}?" if near else ""


def imagenet_classes() -> tuple[str, ...]:
    """Return the names of the 1,000 ImageNet classes, in the order of their index.

    >>> imagenet_classes()[281], len(imagenet_classes())
    ('tabby', 1000)
    """
    return tuple((files("samp") / "data" / "imagenet_classes.txt").read_text(encoding="utf-8").splitlines())


def _plain(name: str) -> str:
    return name.casefold().replace("_", " ").strip()
