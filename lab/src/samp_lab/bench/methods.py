"""All methods side by side: seconds, model calls and memory, and beside them the same method of another library.

Peers are called directly with our settings, in the same run; the table shows the error of a peer that fails.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

import samp
from samp import methods
from samp.models.resnet import ResNet50
from samp_lab.bench.machine import describe_machine, peak_bytes, synchronize
from samp_lab.bench.peers import ADAPTERS, PEERS, Peer

SLOW = 4.0  # seconds after which a measurement is not repeated


@dataclass(frozen=True)
class MethodRow:
    """One method: seconds for all images, rows of model calls per image, peak memory in MiB."""

    name: str
    seconds: float
    gradients: float
    forwards: float
    memory: float | None
    peer: str


class CallCounter(nn.Module):
    """A net that counts its input samples, with and without a gradient."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net, self.gradients, self.forwards = net, 0, 0

    def forward(self, x: Tensor) -> Tensor:
        self.gradients += len(x) if torch.is_grad_enabled() else 0
        self.forwards += 0 if torch.is_grad_enabled() else len(x)
        out: Tensor = self.net(x)
        return out


def compare(names: Sequence[str], model: nn.Module, x: Tensor, target: int) -> list[MethodRow]:
    """Time each method on these images, and its peer where there is one."""
    return [_row(name, model, x, target) for name in names or methods.names()]


def _row(name: str, model: nn.Module, x: Tensor, target: int) -> MethodRow:
    counted = CallCounter(model).eval()

    def ours(net: nn.Module = model) -> None:
        samp.explain(net, x, target=target, method=name)

    first = _time_once(lambda: ours(counted), x.device)
    peak = peak_bytes(ours, x.device) if first < SLOW else 0
    return MethodRow(
        name=name,
        seconds=_seconds(ours, x.device, first),
        gradients=counted.gradients / len(x),
        forwards=counted.forwards / len(x),
        memory=peak / 2**20 if peak else None,
        peer=_peer(name, model, x, target),
    )


def _peer(name: str, model: nn.Module, x: Tensor, target: int) -> str:
    """Return the peer's seconds; libraries that take one image at a time get 2 images at most."""
    if name not in PEERS:
        return "–"
    library, call = PEERS[name]
    shown = x[:2] if library == "saliency" else x
    try:
        first = _time_once(lambda: call(model, shown, target), x.device)
        seconds = _seconds(lambda: call(model, shown, target), x.device, first)
    except Exception as error:  # a peer may fail in any way; the table shows how
        return f"{type(error).__name__} ({library})"
    each = f", {len(shown)} of {len(x)} images" if len(shown) < len(x) else ""
    return f"{seconds:.3f} ({library}{each})"


def _seconds(work: Callable[[], object], device: torch.device, first: float) -> float:
    """Return the shortest of three runs after a first one; or the first, warm-up included, if that was slow."""
    return first if first > SLOW else min(_time_once(work, device) for _ in range(3))


def _time_once(work: Callable[[], object], device: torch.device) -> float:
    synchronize(device)
    started = time.perf_counter()
    work()
    synchronize(device)
    return time.perf_counter() - started


def table(rows: Sequence[MethodRow], device: torch.device) -> str:
    """Return the rows as Markdown, with the machine below."""
    lines = [
        "| method | seconds | gradients/image | forwards/image | peak MiB | peer, seconds |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        memory = "–" if row.memory is None else f"{row.memory:.0f}"
        lines.append(
            f"| {row.name} | {row.seconds:.3f} | {row.gradients:.0f} | {row.forwards:.0f} | {memory} | {row.peer} |"
        )
    return "\n".join([*lines, "", describe_machine(device)])


def one_by_one(names: Sequence[str], model: nn.Module, x: Tensor, target: int) -> str:
    """Return a table of a batch against its images one by one, for methods that other libraries run image by image."""
    lines = ["| method | images | batch s | one by one s | times faster |", "|---|---|---|---|---|"]
    for name in names:

        def batch(name: str = name) -> None:
            samp.explain(model, x, target=target, method=name)

        def single(name: str = name) -> None:
            for image in x:
                samp.explain(model, image[None], target=target, method=name)

        batch()
        together, apart = _time_once(batch, x.device), _time_once(single, x.device)
        lines.append(f"| {name} | {len(x)} | {together:.3f} | {apart:.3f} | {apart / together:.1f} |")
    return "\n".join(lines)


def adapters(model: nn.Module, x: Tensor, target: int, repeats: int) -> str:
    """Return a table of our adapters against Captum itself with the same settings, in pairs of runs."""
    lines = ["| adapter | settings | ours s | Captum s | ratio (range) |", "|---|---|---|---|---|"]
    for name, (settings, call) in ADAPTERS.items():
        method: Any = replace(methods.resolve_method(name), **settings)  # type: ignore[type-var]  # every method is a dataclass

        def ours(method: Any = method) -> None:
            samp.explain(model, x, target=target, method=method)

        def theirs(call: Peer = call) -> None:
            call(model, x, target)

        pairs = [(_time_once(ours, x.device), _time_once(theirs, x.device)) for _ in range(repeats + 1)][1:]
        ratios = sorted(a / b for a, b in pairs)
        mine, other = (statistics.median(side) for side in zip(*pairs, strict=True))
        middle = f"**{statistics.median(ratios):.3f}** ({ratios[0]:.3f}–{ratios[-1]:.3f})"
        lines.append(f"| {name} | {settings or 'as published'} | {mine:.3f} | {other:.3f} | {middle} |")
    return "\n".join([*lines, "", describe_machine(x.device)])


def random_resnet(device: str) -> nn.Module:
    """Return a ResNet-50-shaped net with random weights."""
    torch.manual_seed(0)
    return ResNet50().to(device).eval()
