"""What Deletion and Insertion add to the model's own forwards: against the bare calls, a plain loop, and Quantus.

The bare calls are those of the metric with the same inputs, recorded during a first run and replayed. The plain loop
evaluates the same points one at a time. Runs alternate, so that a machine that slows down slows all. Quantus'
PixelFlipping deletes scalars, not pixels, and so makes three times as many points; compare it by forwards per second.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from samp.baselines import resolve_baseline
from samp.engine.batches import BatchSize
from samp.metrics.deletion_insertion import deletion_insertion
from samp.metrics.protocols import PROTOCOLS
from samp_lab.bench.machine import describe_machine, synchronize

Work = Callable[[], object]
POINTS = 29  # of one curve, by the paper's protocol at 224 pixels
SLOW = 60.0  # seconds for a peer in all; it gets fewer images otherwise


@dataclass(frozen=True)
class TimingRow:
    """Seconds of one way to compute the scores, its forwards, and its ratio to the bare calls run beside it."""

    name: str
    forwards: int
    seconds: float
    ratio: str = "–"

    @property
    def rate(self) -> float:
        return self.forwards / self.seconds


class InputRecorder(nn.Module):
    """A net that keeps the input of every call, so that the same calls can be replayed."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net, self.calls = net, list[Tensor]()

    def forward(self, x: Tensor) -> Tensor:
        self.calls.append(x.clone())
        out: Tensor = self.net(x)
        return out


def measure(model: nn.Module, x: Tensor, batch_size: BatchSize, repeats: int) -> list[TimingRow]:
    """Time Deletion and Insertion of random maps of these images, bare calls, a plain loop, and Quantus."""
    maps = torch.rand(len(x), *x.shape[2:], generator=torch.Generator().manual_seed(1)).to(x.device)
    noted = InputRecorder(model).eval()
    deletion_insertion(noted, x, maps, 0, "imagenet", batch_size=batch_size)
    sizes = [len(points) for points in noted.calls]

    def ours() -> object:
        return deletion_insertion(model, x, maps, 0, "imagenet", batch_size=batch_size).difference.sum().item()

    @torch.no_grad()
    def bare() -> object:
        return torch.cat([model(points)[:, 0] for points in noted.calls]).sum().item()

    pairs = [_time_pair(ours, bare, x, number % 2 == 0) for number in range(repeats + 1)][1:]
    ratios, best = sorted(a / b for a, b in pairs), min(a for a, _ in pairs) / min(b for _, b in pairs)
    ratio = f"**{statistics.median(ratios):.3f}** ({ratios[0]:.3f}–{ratios[-1]:.3f}); best runs {best:.3f}"
    mine, other = (statistics.median(side) for side in zip(*pairs, strict=True))
    timed = [TimingRow("samp", sum(sizes), mine, ratio), TimingRow(f"bare calls of {max(sizes)}", sum(sizes), other)]
    shown = max(min(len(x), int(SLOW / (5 * other / len(x)))), 1)
    timed.append(_time_work("plain loop", shown * 2 * POINTS, lambda: _loop(model, x[:shown], maps[:shown]), x))
    return [*timed, *_quantus(model, x[:shown], maps[:shown])]


def table(rows: list[TimingRow], device: torch.device) -> str:
    """Return the rows as Markdown, with the machine below."""
    lines = ["| | forwards | seconds | forwards/s | ratio to bare (range) |", "|---|---|---|---|---|"]
    lines += [f"| {row.name} | {row.forwards} | {row.seconds:.3f} | {row.rate:.1f} | {row.ratio} |" for row in rows]
    return "\n".join([*lines, "", describe_machine(device)])


@torch.no_grad()
def _loop(model: nn.Module, x: Tensor, maps: Tensor) -> list[float]:
    """Return both curves of every image, one point at a time."""
    protocol, scores = PROTOCOLS["imagenet"], []
    for image, start, map_ in zip(x, resolve_baseline(protocol.start)(x), maps, strict=True):
        order = map_.flatten().argsort(descending=True, stable=True)
        black = torch.zeros_like(image)
        for count in protocol.counts(len(order)).tolist():
            changed = torch.zeros(len(order), dtype=torch.bool, device=x.device)
            changed[order[:count]] = True
            changed = changed.view_as(map_)
            for point in (torch.where(changed, black, image), torch.where(changed, image, start)):
                scores.append(model(point[None])[0, 0].item())
    return scores


def _quantus(model: nn.Module, x: Tensor, maps: Tensor) -> list[TimingRow]:
    """Time Quantus' PixelFlipping of the same maps; the row shows its error if it fails."""
    try:
        quantus: Any = import_module("quantus")
    except ImportError:
        return []
    step = x[0, 0].numel() // (POINTS - 1)  # it wants a divisor of the pixels, and changes that many scalars at a time
    metric = quantus.PixelFlipping(features_in_step=step, perturb_baseline="black", disable_warnings=True)
    given = {
        "x_batch": x.cpu().numpy(),
        "y_batch": np.zeros(len(x), dtype=int),
        "a_batch": maps[:, None].expand_as(x).cpu().numpy(),
        "device": str(x.device),
    }
    try:
        return [_time_work("Quantus PixelFlipping", x.numel() // step, lambda: metric(model=model, **given), x)]
    except Exception as error:  # a peer may fail in any way; the table shows how
        return [TimingRow(f"Quantus PixelFlipping: {type(error).__name__}", 0, float("nan"))]


def _time_pair(ours: Work, bare: Work, x: Tensor, ours_first: bool) -> tuple[float, float]:
    """Return the seconds of both, run in pairs whose order alternates."""
    if ours_first:
        return _seconds(ours, x), _seconds(bare, x)
    late = _seconds(bare, x)
    return _seconds(ours, x), late


def _time_work(name: str, forwards: int, work: Work, x: Tensor) -> TimingRow:
    work()
    return TimingRow(name, forwards, _seconds(work, x))


def _seconds(work: Work, x: Tensor) -> float:
    synchronize(x.device)
    started = time.perf_counter()
    work()
    synchronize(x.device)
    return time.perf_counter() - started
