"""Whole data sets: two workers against one, and whether rate and memory stay flat over thousands of images.

The slim MNIST net on small photos, so that the machinery around the net is measured. After each shard the memory of all
workers is recorded. A straight line is fitted through the means of ten stretches of equal length, and its
slope is given with a 95 % interval (Student's t, 8 degrees of freedom). A process that does nothing but gradients grows
a little too, by its allocator alone: the last row is such a one, with as many gradients of the same net and size, and a
leak is a slope that lies above that one's, interval and all.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from samp.batch.progress import RunProgress
from samp.batch.results import load
from samp.batch.run import run
from samp.models import mnist_slim
from samp_lab.bench.machine import describe_machine

SIDE, SHARD, STRETCHES = 28, 16, 10
STUDENT = 2.306  # 97.5 % of Student's t with 8 degrees of freedom
# Of what was done since all workers work, not counted: a worker's heap settles over its first thousand images or so.
# (Two workers held 475 MiB of their own at first, 489 after 900 images, 494 after 2,500 and 494 after 4,500.)
WARM_UP = 0.5


@dataclass(frozen=True)
class Slope:
    """A fitted slope per 1,000 images, and half of its 95 % interval."""

    per_thousand: float
    half: float

    @property
    def is_flat(self) -> bool:
        """Whether 0 lies in the interval."""
        return abs(self.per_thousand) <= self.half

    def excess_over(self, other: Slope) -> Slope:
        """Return by how much this slope is steeper; independent intervals add in quadrature.

        >>> Slope(2.0, 0.3).excess_over(Slope(1.5, 0.4))
        Slope(per_thousand=0.5, half=0.5)
        """
        return Slope(self.per_thousand - other.per_thousand, math.hypot(self.half, other.half))


@dataclass(frozen=True)
class RunMeasurement:
    """One run: images per second once all workers are busy, and the trends of rate and memory."""

    workers: int | None
    """None: bare gradients instead of a run."""
    images: int
    rate: float
    start: float
    """Seconds before the first shard was done."""
    memory: float
    """MiB of all workers together at the end."""
    memory_slope: Slope
    rate_slope: Slope


@dataclass
class ShardLog:
    """Counts, times and memory after each shard."""

    workers: int
    started: float = field(default_factory=time.perf_counter)
    images: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    ready: list[bool] = field(default_factory=list)

    def note(self, count: RunProgress) -> None:
        if count.done_count > (self.images[-1] if self.images else 0):  # a batch may be a whole shard
            self.images.append(count.done_count)
            self.seconds.append(time.perf_counter() - self.started)
            found = worker_pids(self.workers)
            self.memory.append(sum(map(resident_mebibytes, found)))
            self.ready.append(len(found) >= max(self.workers, 1) and not any(map(_is_starting, found)))

    def warm_up_notes(self) -> int:
        """Return how many notes come before all workers are busy and have reached their size."""
        first = self.ready.index(True) if True in self.ready else len(self.ready)
        return first + int(WARM_UP * (len(self.ready) - first))


def measure(images: int = 5000, workers: Sequence[int] = (1, 2), method: str = "samp++") -> list[RunMeasurement]:
    """Time a run over this many generated photos for each number of workers, and finally as many bare gradients.

    0 workers: in this process, without Ray.
    """
    with tempfile.TemporaryDirectory() as folder:
        photos = _write_photos(Path(folder) / "photos", images)
        outs = [Path(folder) / f"out-{count}" for count in workers]
        rows = [_measure_run(photos, out, images, count, method) for out, count in zip(outs, workers, strict=True)]
        gradients = float(np.nanmean(load(outs[0]).columns()["gradients"]))
    return [*rows, measure_bare_gradients(images, gradients)]


def measure_bare_gradients(images: int, gradients: float) -> RunMeasurement:
    """Time `gradients` gradients for each image and nothing else, in a process with one thread, like a worker."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        watch = pool.apply(_run_bare_gradients, (images, round(gradients)))
    return _summarise(watch, images, None)


def table(rows: Sequence[RunMeasurement]) -> str:
    """Return the rows as Markdown, with the machine below them.

    >>> run, bare = RunMeasurement(2, 2000, 50.0, 9.0, 700.0, *[Slope(0.1, 0.3)] * 2), Slope(0.1, 0.4)
    >>> print(table([run, RunMeasurement(None, 2000, 60.0, 0.1, 300.0, bare, bare)]).splitlines()[2])
    | 2 workers | 2000 | 50.0 | 1.00 | 9.0 | 700 | +0.10 ± 0.30 (flat) | +0.00 ± 0.50 (flat) | +0.10 ± 0.30 (flat) |
    """
    lines = [
        "| what | images | images/s | against first | start s | MiB | memory, MiB per 1,000 images "
        "| above that of bare gradients | rate, images/s per 1,000 images |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    floor = next((row.memory_slope for row in rows if row.workers is None), None)
    for row in rows:
        above = "–" if floor is None or row.workers is None else _format_slope(row.memory_slope.excess_over(floor))
        lines.append(
            f"| {_row_name(row)} | {row.images} | {row.rate:.1f} | {row.rate / rows[0].rate:.2f} | {row.start:.1f} "
            f"| {row.memory:.0f} | {_format_slope(row.memory_slope)} | {above} | {_format_slope(row.rate_slope)} |"
        )
    return "\n".join([*lines, "", describe_machine("cpu")])


def fit_slope(x: Sequence[float], y: Sequence[float]) -> Slope:
    """Return the slope of y over x per 1,000, through the means of ten stretches.

    >>> fit_slope(range(100), [0.5 * i for i in range(100)])
    Slope(per_thousand=500.0, half=0.0)
    """
    xs, ys = (np.array([part.mean() for part in np.array_split(np.asarray(v, float), STRETCHES)]) for v in (x, y))
    centred = xs - xs.mean()
    slope = float((centred * ys).sum() / (centred**2).sum())
    rest = ys - ys.mean() - slope * centred
    error = float(np.sqrt((rest**2).sum() / (STRETCHES - 2) / (centred**2).sum()))
    return Slope(round(1000 * slope, 6), round(1000 * STUDENT * error, 6))


def worker_pids(workers: int) -> list[int]:
    """Return the ids of the workers below this process, or its own without workers (Linux).

    >>> worker_pids(0) == [os.getpid()]
    True
    """
    if not workers:
        return [os.getpid()]
    return [pid for pid in _descendants(os.getpid()) if "MapBatches(_Actor)" in _read(f"/proc/{pid}/cmdline")]


def resident_mebibytes(pid: int) -> float:
    """Return the resident memory of a process in MiB; 0 if it has ended.

    >>> resident_mebibytes(os.getpid()) > 1
    True
    """
    pages = _read(f"/proc/{pid}/statm").split()
    return int(pages[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20 if pages else 0.0


def _measure_run(photos: Path, out: Path, images: int, workers: int, method: str) -> RunMeasurement:
    watch = ShardLog(workers)
    run(photos, out=out, model="mnist_slim", method=method, shard_size=SHARD, workers=workers, on_progress=watch.note)
    return _summarise(watch, images, workers)


def _run_bare_gradients(images: int, gradients: int) -> ShardLog:
    """Run the control: for each shard of images, this many gradients of a batch of them."""
    torch.set_num_threads(1)
    net, watch = mnist_slim().net, ShardLog(0)
    for done in range(SHARD, images + 1, SHARD):
        for _ in range(gradients):
            x = torch.rand(SHARD, 1, SIDE, SIDE, requires_grad=True)
            torch.autograd.grad(net(x).amax(1).sum(), x)
        watch.note(RunProgress(images, explained=done))
    return watch


def _summarise(watch: ShardLog, images: int, workers: int | None) -> RunMeasurement:
    first = watch.warm_up_notes()
    done, seconds = watch.images[first:], watch.seconds[first:]
    if len(done) < 2 * STRETCHES:
        raise ValueError(f"{images} images are too few to fit a line: take {6 * STRETCHES * SHARD} at least.")
    return RunMeasurement(
        workers=workers,
        images=images,
        rate=(done[-1] - done[0]) / (seconds[-1] - seconds[0]),
        start=watch.seconds[0],
        memory=watch.memory[-1],
        memory_slope=fit_slope(done, watch.memory[first:]),
        rate_slope=_rate_slope(done, seconds),
    )


def _rate_slope(done: Sequence[int], seconds: Sequence[float]) -> Slope:
    """Return the slope of the rate over twenty stretches, because single shards come in bursts."""
    marks = np.linspace(0, len(done) - 1, 2 * STRETCHES + 1).astype(int)
    images, times = np.asarray(done, float)[marks], np.asarray(seconds)[marks]
    rates = np.diff(images) / np.maximum(np.diff(times), 1e-9)
    return fit_slope((images[:-1] + np.diff(images) / 2).tolist(), rates.tolist())


def _row_name(row: RunMeasurement) -> str:
    if row.workers is None:
        return "bare gradients"
    return f"{row.workers} worker{'s' * (row.workers > 1)}" if row.workers else "no workers"


def _format_slope(slope: Slope) -> str:
    verdict = "flat" if slope.is_flat else "rising" if slope.per_thousand > 0 else "falling"
    return f"{slope.per_thousand:+.2f} ± {slope.half:.2f} ({verdict})"


def _write_photos(folder: Path, count: int) -> Path:
    folder.mkdir()
    noise = np.random.default_rng(0)
    for i in range(count):
        Image.fromarray(noise.integers(0, 255, (SIDE, SIDE), dtype=np.uint8)).save(folder / f"{i:06d}.png")
    return folder


def _descendants(pid: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:  # as in `_read`
        return []
    children = [int(word) for task in tasks for word in _read(f"{task}/children").split()]
    return children + [below for child in children for below in _descendants(child)]


def _is_starting(pid: int) -> bool:
    return ".__init__" in _read(f"/proc/{pid}/cmdline")


def _read(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:  # the process is gone, or this is not Linux
        return ""
