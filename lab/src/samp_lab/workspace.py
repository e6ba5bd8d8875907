"""The nets and images of a run, each loaded once and shared by all measurements."""

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
    """The settings of a run: where the data is, the device, how many images, and the seed that picks them.

    `part` is how many images are measured together; a run that is killed resumes with the part it was at.

    >>> ExperimentOptions(limit=3).count(None), ExperimentOptions().count(8)
    (3, 8)
    """

    data: Path | None = None
    weights: Path | None = None
    """A checkpoint for a net that comes without weights; by default it is looked for in the data folder."""
    device: str = "cpu"
    limit: int | None = None
    seed: int = 0
    part: int = 20
    models: Path | None = None
    """The folder for nets that are trained here."""
    trust: bool = False
    """Open checkpoints that hold more than tensors, and so may run code."""

    def __post_init__(self) -> None:
        for name in ("limit", "part"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} is a number of images of at least 1, not {value}.")

    def count(self, most: int | None) -> int:
        """Return how many images a measurement gets: `most`, or 100 for None, within the limit."""
        wanted = DEFAULT_COUNT if most is None else most
        return wanted if self.limit is None else min(wanted, self.limit)


@dataclass(frozen=True, eq=False)
class ImagePart:
    """Some images of a setup, as a measurement gets them: on the device, with the class the net predicts for each."""

    net: nn.Module
    classifier: Classifier
    x: Tensor  # b c h w
    target: Tensor  # b, the predicted class
    entries: tuple[Entry, ...]
    seed: int
    other_net: Callable[[str], tuple[nn.Module, Tensor]]
    """From the name of another net to that net and the same images, prepared for it."""

    def now(self) -> float:
        """Return the time in seconds, after waiting for the device to finish."""
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
    """The images of a setup that could be read, prepared for its net."""

    entries: tuple[Entry, ...]
    x: Tensor  # n c h w, on the CPU
    skipped: tuple[SkippedImage, ...]

    @cached_property
    def pixels_hash(self) -> str:
        """A hash of the net's inputs, which tells apart different pictures of the same name."""
        return hashlib.sha256(self.x.contiguous().numpy().data).hexdigest()[:32]


@dataclass(eq=False)
class Workspace:
    """The nets and images of one run."""

    options: ExperimentOptions
    _nets: dict[str, Classifier] = field(default_factory=dict)
    _images: dict[tuple[str, int], Images] = field(default_factory=dict)
    _ready: dict[tuple[Setup, int], PreparedImages] = field(default_factory=dict)
    _hashes: dict[str, str] = field(default_factory=dict)

    def net(self, name: str) -> Classifier:
        """Return the net of this name on the run's device, trained first if necessary."""
        if name not in self._nets:
            self._nets[name] = nets.load(name, self.options)
        return self._nets[name]

    def images(self, data: str, most: int | None) -> Images:
        """Return the images sampled from a data set, the same for every net and method of a run."""
        count = self.options.count(most)
        if (data, count) not in self._images:
            found = self._open_images(data)
            self._images[data, count] = found.sample(min(count, len(found)), self.options.seed)
        return self._images[data, count]

    def facts(self, setup: Setup, most: int | None, judge: str | None = None) -> dict[str, Any]:
        """Return what numbers depend on beside the measurement itself: images, weights, device, versions and seed.

        Unreadable images count because they shift the others from part to part; `judge` is a second net.
        """
        ready = self.prepare_images(setup, most)
        unread = [one.id for one in ready.skipped]
        more = {"judge": self._weights_hash(judge)} if judge else {}
        return {
            "images": self.images(setup.data, most).fingerprint(),
            "count": len(self.images(setup.data, most)),
            "pixels": ready.pixels_hash,
            "weights": self._weights_hash(setup.net),
            "device": torch.device(self.options.device).type,
            "precision": "float32",  # that of products too: TF32 moved single images by up to 0.1
            "seed": self.options.seed,
            "part": self.options.part,
            "samp": samp.__version__,
            "torch": torch.__version__,
            **({"unread": unread} if unread else {}),
            **more,
        }

    def prepare_images(self, setup: Setup, most: int | None) -> PreparedImages:
        """Return the images of a setup, read and prepared; those that cannot be read are in `skipped`."""
        key = (setup, self.options.count(most))
        if key not in self._ready:
            self._ready[key] = _prepare_all(self.images(setup.data, most), self.net(setup.net))
        return self._ready[key]

    def parts(self, setup: Setup, most: int | None) -> Iterator[tuple[int, Callable[[], ImagePart]]]:
        """Yield the number of each part and a function that makes it, so that cached parts are never made."""
        count = len(self.prepare_images(setup, most).entries)
        for number, first in enumerate(range(0, count, self.options.part)):
            yield number, partial(self._part, setup, most, first)

    def _part(self, setup: Setup, most: int | None, first: int) -> ImagePart:
        ready, classifier = self.prepare_images(setup, most), self.net(setup.net)
        last = first + self.options.part
        x = ready.x[first:last].to(self.options.device)
        with torch.no_grad():
            target = classifier.net(x).argmax(1)
        entries, seed = ready.entries[first:last], self.options.seed + first
        return ImagePart(classifier.net, classifier, x, target, entries, seed, partial(self._other_net, entries))

    def _other_net(self, entries: Sequence[Entry], name: str) -> tuple[nn.Module, Tensor]:
        classifier = self.net(name)
        x = torch.cat([classifier.prepare(entry.picture()) for entry in entries])
        return classifier.net, x.to(self.options.device)

    def _open_images(self, data: str) -> Images:
        name, _, half = data.partition(":")
        if half:
            images = self._open_images(name)
            return replace(images, name=data, entries=images.entries[HALVES[half] :: 2])
        if data in DERIVED_IMAGES:
            source, make = DERIVED_IMAGES[data]
            return make(self._open_images(source))
        return (
            BUILT_IN_IMAGES[data]() if data in BUILT_IN_IMAGES else open_dataset(data, nets.data_folder(self.options))
        )

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
