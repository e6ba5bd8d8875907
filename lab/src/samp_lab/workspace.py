"""The lab: nets and images, read once and kept on the device for all cells that ask for them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import samp
from samp.models import Classifier
from samp_lab import nets
from samp_lab.datasets import Entry, Images, open_dataset
from samp_lab.datasets.built_in import BUILT_IN_IMAGES, DERIVED_IMAGES
from samp_lab.setups import HALVES, Setup
from samp_lab.training.outcome import weights_hash

DEFAULT_COUNT = 100  # images per data set, as in the paper


@dataclass(frozen=True)
class ExperimentOptions:
    """What a run is told: where data lies, which device, how many images, and the seed that picks them.

    `part` is how many images are measured together; a run that is killed goes on with the part it was at.

    >>> ExperimentOptions(limit=3).count(None), ExperimentOptions().count(8)
    (3, 8)
    """

    data: Path | None = None
    weights: Path | None = None
    """A checkpoint for the nets that come without weights; else they are looked for in the data folder."""
    device: str = "cpu"
    limit: int | None = None
    seed: int = 0
    part: int = 20
    models: Path | None = None
    """Where trained nets are kept; the results' own folder if left out."""
    trust: bool = False
    """Open checkpoints that hold more than tensors, and so may run code."""

    def __post_init__(self) -> None:
        for name in ("limit", "part"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} is a number of images of at least 1, not {value}.")

    def count(self, most: int | None) -> int:
        """How many images a cell gets: as many as it wants, no more than the limit."""
        wanted = DEFAULT_COUNT if most is None else most
        return wanted if self.limit is None else min(wanted, self.limit)


@dataclass(frozen=True, eq=False)
class ImagePart:
    """Some images of a bed as a cell gets them: on the device, with the class the net predicts for each."""

    net: nn.Module
    classifier: Classifier
    x: Tensor  # b c h w
    target: Tensor  # b, the predicted class
    entries: tuple[Entry, ...]
    seed: int
    other_net: Callable[[str], tuple[nn.Module, Tensor]]
    """Another net of the lab, and the same images as it takes them."""

    def now(self) -> float:
        """The clock, once the device has done all it was told to."""
        if self.x.device.type == "cuda":
            torch.cuda.synchronize(self.x.device)
        return time.perf_counter()


@dataclass(frozen=True)
class SkippedImage:
    """An image that could not be read, and why."""

    id: str
    why: str


@dataclass(frozen=True, eq=False)
class PreparedImages:
    """The images of a bed that could be read, prepared for its net."""

    entries: tuple[Entry, ...]
    x: Tensor  # n c h w, on the CPU
    skipped: tuple[SkippedImage, ...]

    @cached_property
    def pixels_hash(self) -> str:
        """Of what the net is shown, so that other pictures of the same names are told apart."""
        return hashlib.sha256(self.x.contiguous().numpy().data).hexdigest()[:32]


@dataclass(eq=False)
class Workspace:
    """Nets and images for the cells of one run."""

    choice: ExperimentOptions
    _nets: dict[str, Classifier] = field(default_factory=dict)
    _images: dict[tuple[str, int], Images] = field(default_factory=dict)
    _ready: dict[tuple[Setup, int], PreparedImages] = field(default_factory=dict)
    _hashes: dict[str, str] = field(default_factory=dict)

    def net(self, name: str) -> Classifier:
        """The net of this name on the run's device, trained first where it has to be."""
        if name not in self._nets:
            self._nets[name] = nets.load(name, self.choice)
        return self._nets[name]

    def images(self, data: str, most: int | None) -> Images:
        """The images chosen from a data set, the same for every net and method of a run."""
        count = self.choice.count(most)
        if (data, count) not in self._images:
            found = self._open_images(data)
            self._images[data, count] = found.sample(min(count, len(found)), self.choice.seed)
        return self._images[data, count]

    def facts(self, bed: Setup, most: int | None, judge: str | None = None) -> dict[str, Any]:
        """What the numbers of a bed depend on beside what the cell asks: images, weights, device, versions, seed.

        Images that cannot be read shift the others from part to part, and a net that judges has weights of its own.
        """
        ready = self.prepare_images(bed, most)
        unread = [one.id for one in ready.skipped]
        more = {"judge": self._weights_hash(judge)} if judge else {}
        return {
            "images": self.images(bed.data, most).fingerprint(),
            "count": len(self.images(bed.data, most)),
            "pixels": ready.pixels_hash,
            "weights": self._weights_hash(bed.net),
            "device": torch.device(self.choice.device).type,
            "seed": self.choice.seed,
            "part": self.choice.part,
            "samp": samp.__version__,
            "torch": torch.__version__,
            **({"unread": unread} if unread else {}),
            **more,
        }

    def prepare_images(self, bed: Setup, most: int | None) -> PreparedImages:
        """The images of a bed, read and prepared; one that cannot be read is left out and named."""
        key = (bed, self.choice.count(most))
        if key not in self._ready:
            self._ready[key] = _prepare_all(self.images(bed.data, most), self.net(bed.net))
        return self._ready[key]

    def parts(self, bed: Setup, most: int | None) -> Iterator[tuple[int, Any]]:
        """Number and maker of each part: the part is made only if it is asked for."""
        count = len(self.prepare_images(bed, most).entries)
        for number, first in enumerate(range(0, count, self.choice.part)):
            yield number, lambda first=first: self._part(bed, most, first)

    def _part(self, bed: Setup, most: int | None, first: int) -> ImagePart:
        ready, classifier = self.prepare_images(bed, most), self.net(bed.net)
        last = first + self.choice.part
        x = ready.x[first:last].to(self.choice.device)
        with torch.no_grad():
            target = classifier.net(x).argmax(1)
        entries, seed = ready.entries[first:last], self.choice.seed + first
        return ImagePart(classifier.net, classifier, x, target, entries, seed, partial(self._other_net, entries))

    def _other_net(self, entries: Sequence[Entry], name: str) -> tuple[nn.Module, Tensor]:
        classifier = self.net(name)
        x = torch.cat([classifier.prepare(entry.picture()) for entry in entries])
        return classifier.net, x.to(self.choice.device)

    def _open_images(self, data: str) -> Images:
        name, _, half = data.partition(":")
        if half:
            images = self._open_images(name)
            return replace(images, name=data, entries=images.entries[HALVES[half] :: 2])
        if data in DERIVED_IMAGES:
            source, make = DERIVED_IMAGES[data]
            return make(self._open_images(source))
        return BUILT_IN_IMAGES[data]() if data in BUILT_IN_IMAGES else open_dataset(data, nets.data_folder(self.choice))

    def _weights_hash(self, name: str) -> str:
        if name not in self._hashes:
            self._hashes[name] = weights_hash(self.net(name).net.state_dict())
        return self._hashes[name]


def _prepare_all(images: Images, classifier: Classifier) -> PreparedImages:
    entries, tensors, skipped = [], [], []
    for entry in images.entries:
        try:
            tensors.append(classifier.prepare(entry.picture()))
            entries.append(entry)
        except (OSError, ValueError) as error:
            skipped.append(SkippedImage(entry.id, " ".join(str(error).split())))
    if not tensors:
        raise ValueError(f"none of the {len(images.entries)} images of {images.name} could be read: {skipped[0].why}")
    return PreparedImages(tuple(entries), torch.cat(tensors), tuple(skipped))
