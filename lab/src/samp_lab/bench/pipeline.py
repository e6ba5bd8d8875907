"""Whole runs: the share of the rate of `samp.explain` that remains when photos are read and maps are written.

A run explains shards of the size that is timed alone here, so that what differs is what a run adds: decoding and
cutting photos, feeding the net, the numbers of each map, and files. Its rate is that from the first shard's end to the
last one's, since the first also loads the model and, where it is fast, compiles it.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn

import samp
from samp.batch.models import Model
from samp.batch.progress import RunProgress
from samp.batch.run import run
from samp.fast import Speed
from samp.models import Classifier
from samp_lab.bench.machine import describe_machine

KINDS, SIZE = 64, (500, 375)  # photos that differ, and their pixels: ImageNet's usual ones


@dataclass(frozen=True)
class PipelineSettings:
    """The number of photos and of photos in a shard, the method and its speed."""

    images: int = 256
    shard: int = 64
    method: str = "consensus"
    speed: Speed = "exact"
    device: str = "cpu"
    repeats: int = 3

    def __post_init__(self) -> None:
        if self.images < 3 * self.shard:
            raise ValueError(f"{self.images} images are no three shards of {self.shard}: take more, or smaller shards.")


@dataclass(frozen=True)
class PipelineResult:
    """Images/s of whole runs, and of the method alone before and after each."""

    settings: PipelineSettings
    alone: Sequence[tuple[float, float]]
    whole: Sequence[float]

    @property
    def ratios(self) -> list[float]:
        """The rate of each run over that of the method alone just before and after it: the machine's speed may change.

        >>> PipelineResult(PipelineSettings(), [(1.0, 3.0)], [1.5]).ratios
        [0.75]
        """
        return [rate / statistics.mean(around) for rate, around in zip(self.whole, self.alone, strict=True)]


def measure(net: nn.Module, settings: PipelineSettings, side: int = 224) -> PipelineResult:
    """Time the method on one shard in memory, a whole run, and the method again, `repeats` times."""
    classifier = Classifier(net.eval(), "net", side, 0.5, 0.25, ())
    alone, whole = [], []
    with tempfile.TemporaryDirectory() as folder:
        photos = write_photos(Path(folder) / "photos", settings.images)
        before = _alone_rate(classifier, photos, settings)
        for number in range(settings.repeats):
            whole.append(_run_rate(classifier, photos, Path(folder) / f"out{number}", settings))
            after = _alone_rate(classifier, photos, settings)
            alone.append((before, after))
            before = after
    return PipelineResult(settings, alone, whole)


def write_photos(folder: Path, count: int) -> Path:
    """Write `count` JPEGs of about 110 kB: soft colours with grain; every 64th is the same file.

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


def _run_rate(classifier: Classifier, photos: Path, out: Path, settings: PipelineSettings) -> float:
    told: list[tuple[float, int]] = []

    def on_progress(count: RunProgress) -> None:
        if count.done_count:
            told.append((time.perf_counter(), count.done_count))

    run(
        photos,
        out=out,
        model=Model(classifier, device=settings.device),
        method=settings.method,
        target=0,
        speed=settings.speed,
        shard_size=settings.shard,
        on_progress=on_progress,
    )
    (began, first), (ended, last) = told[0], told[-1]
    return (last - first) / (ended - began)


def _alone_rate(classifier: Classifier, photos: Path, settings: PipelineSettings) -> float:
    paths = sorted(photos.iterdir())[: settings.shard]
    x = torch.cat([classifier.prepare(samp.images.read(path)) for path in paths]).to(settings.device)
    net = classifier.net.to(settings.device)

    def work() -> float:
        started = time.perf_counter()
        samp.explain(net, x, target=0, method=settings.method, speed=settings.speed).map.sum().item()  # waits
        return time.perf_counter() - started

    work()
    return len(x) / work()


def table(found: PipelineResult) -> str:
    """Return both rates and their ratio with its range as Markdown, with the machine."""
    asked, ratios = found.settings, found.ratios
    alone = statistics.median(rate for pair in found.alone for rate in pair)
    return "\n".join(
        [
            "| method | speed | images | a shard | alone, images/s | a whole run, images/s | ratio (range) |",
            "|---|---|---|---|---|---|---|",
            f"| {asked.method} | {asked.speed} | {asked.images} | {asked.shard} "
            f"| {alone:.2f} | {statistics.median(found.whole):.2f} "
            f"| **{statistics.median(ratios):.3f}** ({min(ratios):.3f}–{max(ratios):.3f}) |",
            "",
            describe_machine(torch.device(asked.device)),
        ]
    )
