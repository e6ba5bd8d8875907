"""The photos that a linear head is trained on: which are held out, and the crops that are taken of each.

A photo is on one side of the split with all of its crops. The crops of a photo depend on its name and the seed alone,
so that another photo beside it changes nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from samp.images import crop_centre
from samp.models import imagenet_classes
from samp_lab.datasets import Entry, Images, open_dataset

SIDE = 224
EVERY, VALIDATION, HELD_OUT = 4, 1, 3
"""Of every four photos of a data set, in the order of their names, the last is held out; settings were chosen on the
second, which is trained on in the end."""
PHOTO_SETS = ("imagenet", "coco", "voc", "cub", "photos")
"""What the head of 1,000 classes is distilled on."""
SMALLEST, FLATTEST = 0.25, 3 / 4  # share of the photo's area, and of height to width, that a random crop has at least


@dataclass(frozen=True, eq=False)
class Photo:
    """A photo of a split: its name with that of its data set, its class if known, and how much of it is seen."""

    name: str
    label: int | None
    entry: Entry
    fold: int
    """0 … 3: its place in its data set, modulo `EVERY`."""
    margin: float | None = 0.875
    """As in `Classifier`: of the middle that is taken without a random crop."""

    def views(self, crops: int, seed: int) -> Iterator[NDArray[np.uint8]]:
        """Yield the middle of the photo and so many random crops of it, each 224 224 3 in bytes."""
        picture = self.entry.picture().convert("RGB")
        yield np.array(crop_centre(picture, SIDE, self.margin, Image.Resampling.BICUBIC))
        for number in range(crops):
            yield np.array(crop_at_random(picture, f"{seed} {number} {self.name}"))


@dataclass(frozen=True, eq=False)
class PhotoSplit:
    """Photos to train on and photos that are held out, with the names of their classes."""

    train: Sequence[Photo]
    held_out: Sequence[Photo]
    classes: tuple[str, ...]


def crop_at_random(photo: Image.Image, key: str) -> Image.Image:
    """Return a crop of the photo drawn by the hash of a text, mirrored by chance: a quarter of its area or more.

    >>> crop_at_random(Image.new("RGB", (60, 40)), "0 0 cat").size
    (224, 224)
    """
    draw = np.random.default_rng(np.frombuffer(hashlib.sha256(key.encode()).digest(), np.uint32))
    area = photo.width * photo.height * draw.uniform(SMALLEST, 1)
    ratio = np.exp(draw.uniform(np.log(FLATTEST), -np.log(FLATTEST)))
    width, height = min(np.sqrt(area * ratio), photo.width), min(np.sqrt(area / ratio), photo.height)
    left, top = draw.uniform(0, photo.width - width), draw.uniform(0, photo.height - height)
    crop = photo.resize((SIDE, SIDE), Image.Resampling.BICUBIC, box=(left, top, left + width, top + height))
    return crop.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if draw.random() < 0.5 else crop


def split_photos(data: str, folder: Path) -> PhotoSplit:
    """Return the split of a head's data: "cifar10", "cub", or "all-photos" for those of all `PHOTO_SETS`.

    CIFAR-10 is split as published. Of CUB's species, the first photo is trained on and the others are held out. Of all
    photos together, every fourth of each data set is held out.
    """
    if data == "cifar10":
        train, held_out = (open_dataset(name, folder) for name in ("cifar10-train", "cifar10"))
        return PhotoSplit(_make_photos(train), _make_photos(held_out), held_out.classes)
    if data == "cub":
        return split_by_species(open_dataset("cub", folder))
    if data == "all-photos":
        return split_all_photos({name: open_dataset(name, folder) for name in PHOTO_SETS})
    raise ValueError(f"no head is trained on {data!r}: there are cifar10, cub and all-photos.")


def split_by_species(images: Images) -> PhotoSplit:
    """Return the first photo of each class to train on, and the others to test on.

    >>> birds = [Entry(name, label, lambda: Image.new("RGB", (4, 4))) for name, label in (("a", 0), ("b", 0), ("c", 1))]
    >>> split = split_by_species(Images("cub", birds, ("tit", "owl")))
    >>> [photo.name for photo in split.train], [photo.name for photo in split.held_out]
    (['cub/a', 'cub/c'], ['cub/b'])
    """
    first = {entry.label: entry.id for entry in reversed(images.entries)}
    photos = _make_photos(images)
    train = [photo for photo in photos if first[photo.label] == photo.entry.id]
    return PhotoSplit(train, [photo for photo in photos if first[photo.label] != photo.entry.id], images.classes)


def split_all_photos(sets: Mapping[str, Images]) -> PhotoSplit:
    """Return every fourth photo of each data set as held out; only photos of ImageNet have one of its classes.

    >>> some = Images("coco", [Entry(name, 3, lambda: Image.new("RGB", (4, 4))) for name in "abcdef"])
    >>> split = split_all_photos({"coco": some})
    >>> [photo.name for photo in split.held_out], len(split.train), split.train[0].label
    (['coco/d'], 5, None)
    """
    train: list[Photo] = []
    held_out: list[Photo] = []
    for name, images in sets.items():
        for number, entry in enumerate(images):
            photo = _make_photo(name, entry, number)
            photo = photo if name == "imagenet" else replace(photo, label=None)  # a class of its own data set
            (held_out if photo.fold == HELD_OUT else train).append(photo)
    return PhotoSplit(train, held_out, imagenet_classes())


def _make_photos(images: Images) -> list[Photo]:
    return [_make_photo(images.name, entry, number) for number, entry in enumerate(images)]


def _make_photo(data: str, entry: Entry, number: int) -> Photo:
    return Photo(f"{data}/{entry.id}", entry.label, entry, number % EVERY)
