"""Whole runs: which part of the rate of `samp.explain` is left when photos are read and maps are written beside it.

A run explains shards of the size that is timed alone here, so that what differs is what a run adds: decoding and
cutting photos, feeding the net, the numbers of each map, and files. Its rate is that from the first shard's end to the
last one's, since the first also loads the model and, where it is fast, compiles it.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn

import samp
from samp.bench.machine import describe
from samp.models import Classifier
from samp.runs.door import run
from samp.runs.models import Model
from samp.runs.summary import Count
from samp.speed import Speed

KINDS, SIZE = 64, (500, 375)  # photos that differ, and their pixels: ImageNet's usual ones


@dataclass(frozen=True)
class Settings:
    """What is run: so many photos in shards, by a method at a speed."""

    images: int = 256
    shard: int = 64
    method: str = "coupled"
    speed: Speed = "exact"
    device: str = "cpu"
    repeats: int = 3

    def __post_init__(self) -> None:
        if self.images < 3 * self.shard:
            raise ValueError(f"{self.images} images are no three shards of {self.shard}: take more, or smaller shards.")


@dataclass(frozen=True)
class Whole:
    """Images/s of the method alone and of a whole run."""

    settings: Settings
    alone: float
    whole: float


def measure(net: nn.Module, settings: Settings, side: int = 224) -> Whole:
    """Time the method on one shard in memory, then a run of all."""
    classifier = Classifier(net.eval(), "net", side, 0.5, 0.25, ())
    with tempfile.TemporaryDirectory() as folder:
        photos = write_photos(Path(folder) / "photos", settings.images)
        whole = _run_rate(classifier, photos, Path(folder) / "out", settings)
        alone = _alone_rate(classifier, photos, settings)
    return Whole(settings, alone, whole)


def write_photos(folder: Path, count: int) -> Path:
    """So many JPEGs of about 110 kB: soft colours with grain; every 64th is the same file.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in sorted(write_photos(Path(folder) / "photos", 2).iterdir())]
    ['000000.jpg', '000001.jpg']
    """
    folder.mkdir()
    draw = np.random.default_rng(0)
    for number in range(count):
        place = folder / f"{number:06}.jpg"
        if number >= KINDS:
            place.symlink_to(folder / f"{number % KINDS:06}.jpg")
            continue
        soft = Image.fromarray(draw.integers(0, 256, (6, 8, 3), dtype=np.uint8)).resize(SIZE, Image.Resampling.BICUBIC)
        grain = draw.normal(0, 12, (SIZE[1], SIZE[0], 1))
        Image.fromarray((np.asarray(soft) + grain).clip(0, 255).astype(np.uint8)).save(place, quality=90)
    return folder


def _run_rate(classifier: Classifier, photos: Path, out: Path, settings: Settings) -> float:
    told: list[tuple[float, int]] = []

    def tell(count: Count) -> None:
        if count.done:
            told.append((time.perf_counter(), count.done))

    run(
        photos,
        out=out,
        model=Model(classifier, device=settings.device),
        method=settings.method,
        target=0,
        speed=settings.speed,
        shard_size=settings.shard,
        tell=tell,
    )
    (began, first), (ended, last) = told[0], told[-1]
    return (last - first) / (ended - began)


def _alone_rate(classifier: Classifier, photos: Path, settings: Settings) -> float:
    paths = sorted(photos.iterdir())[: settings.shard]
    x = torch.cat([classifier.prepare(samp.photos.read(path)) for path in paths]).to(settings.device)
    net = classifier.net.to(settings.device)

    def work() -> float:
        started = time.perf_counter()
        samp.explain(net, x, target=0, method=settings.method, speed=settings.speed).map.sum().item()  # waits
        return time.perf_counter() - started

    work()
    return len(x) / statistics.median(work() for _ in range(settings.repeats))


def table(found: Whole) -> str:
    """Both rates, their ratio, and where this was."""
    asked = found.settings
    return "\n".join(
        [
            "| method | speed | images | a shard | alone, images/s | a whole run, images/s | of it |",
            "|---|---|---|---|---|---|---|",
            f"| {asked.method} | {asked.speed} | {asked.images} | {asked.shard} "
            f"| {found.alone:.2f} | {found.whole:.2f} | **{found.whole / found.alone:.1%}** |",
            "",
            describe(torch.device(asked.device)),
        ]
    )
