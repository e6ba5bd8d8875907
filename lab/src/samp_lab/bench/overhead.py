"""What samp adds to the model's own work: SAMP++ against the bare calls it makes, in one run.

The bare calls have the same number, batch sizes and input shape as those of the walk: they are recorded during a first
run and replayed. Runs alternate, so that a machine that slows down slows both.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

import samp
from samp.engine.batches import BatchSize
from samp.lookup import look_up
from samp_lab.bench.machine import describe_machine, peak_bytes, synchronize


@dataclass(frozen=True)
class Overhead:
    """One measured row; times are medians in seconds, `ratio` is the median of the pairs' ratios."""

    net: str
    images: int
    largest_batch: int
    calls: int
    gradients: float
    walk: float
    bare: float
    ratio: float
    spread: tuple[float, float]
    peak: str
    machine: str


class GradientCallRecorder(nn.Module):
    """A net that records the batch size of every call with a gradient."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net, self.calls = net, list[int]()

    def forward(self, x: Tensor) -> Tensor:
        if torch.is_grad_enabled():
            self.calls.append(len(x))
        out: Tensor = self.net(x)
        return out


def measure(net: str, images: int, batch_size: BatchSize, device: str, repeats: int) -> Overhead:
    """Explain `images` random images and replay the calls, `repeats` times each, after one warm-up of both."""
    model = load_net(net).to(device)
    x = torch.rand(images, 3, 224, 224, generator=torch.Generator().manual_seed(0)).to(device)
    watched = GradientCallRecorder(model).eval()
    gradients = samp.explain(watched, x, target=0, method="samp++", batch_size=batch_size).gradients.double().mean()
    calls = list(watched.calls)

    def walk() -> None:
        samp.explain(model, x, target=0, method="samp++", batch_size=batch_size)

    def bare() -> None:
        for rows in calls:
            leaf = x[:1].expand(rows, -1, -1, -1).clone().requires_grad_()
            torch.autograd.grad(model(leaf)[:, 0].sum(), leaf)

    bare()
    peaks = (peak_bytes(bare, device), peak_bytes(walk, device))
    pairs = [(_seconds(walk, device), _seconds(bare, device)) for _ in range(repeats)]
    ratios = [a / b for a, b in pairs]
    return Overhead(
        net=net,
        images=images,
        largest_batch=max(calls),
        calls=len(calls),
        gradients=float(gradients),
        walk=statistics.median(a for a, _ in pairs),
        bare=statistics.median(b for _, b in pairs),
        ratio=statistics.median(ratios),
        spread=(min(ratios), max(ratios)),
        peak=f"{peaks[1] / peaks[0]:.2f}" if peaks[0] else "–",
        machine=describe_machine(device),
    )


def table(row: Overhead) -> str:
    """Return the row as Markdown, with the machine below it."""
    low, high = row.spread
    return "\n".join(
        [
            "| net | images | largest batch | calls | gradients/image | SAMP++ s | bare s | ratio (range) | memory |",
            "|---|---|---|---|---|---|---|---|---|",
            f"| {row.net} | {row.images} | {row.largest_batch} | {row.calls} | {row.gradients:.1f} | {row.walk:.3f} "
            f"| {row.bare:.3f} | **{row.ratio:.3f}** ({low:.3f}–{high:.3f}) | {row.peak} |",
            "",
            row.machine,
        ]
    )


def load_net(name: str) -> nn.Module:
    """Return EfficientNet-Lite0 with its weights, or a ResNet-50-shaped net with random ones."""
    net: nn.Module = look_up(name, {"efficientnet-lite0": _lite0, "resnet50": _resnet50}, "net")()
    return net


def _lite0() -> nn.Module:
    from samp.models import efficientnet_lite0

    return efficientnet_lite0().net


def _resnet50() -> nn.Module:
    from samp.models.resnet import ResNet50

    torch.manual_seed(0)
    return ResNet50().eval()


def _seconds(work: Callable[[], None], device: str) -> float:
    synchronize(device)
    started = time.perf_counter()
    work()
    synchronize(device)
    return time.perf_counter() - started
