"""All methods side by side: seconds, model calls and memory, and beside them the same method of another library.

Peers are called directly, with the settings of ours, in the same run; a peer that fails is shown as failing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

import samp
from samp import methods
from samp.bench.machine import describe, peak_bytes, wait
from samp.bench.peers import PEERS
from samp.models.resnet import ResNet50

ENOUGH = 2.0  # seconds after which a measurement is not repeated


@dataclass(frozen=True)
class Row:
    """One method: seconds for all images together, rows of model calls per image, peak memory in MiB."""

    name: str
    seconds: float
    gradients: float
    forwards: float
    memory: float | None
    peer: str


class Counted(nn.Module):
    """A net that counts the samples it is shown, with and without a gradient."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net, self.gradients, self.forwards = net, 0, 0

    def forward(self, x: Tensor) -> Tensor:
        self.gradients += len(x) if torch.is_grad_enabled() else 0
        self.forwards += 0 if torch.is_grad_enabled() else len(x)
        out: Tensor = self.net(x)
        return out


def compare(names: Sequence[str], model: nn.Module, x: Tensor, target: int) -> list[Row]:
    """Time each method on these images, and its peer where there is one."""
    return [_row(name, model, x, target) for name in names or methods.names()]


def _row(name: str, model: nn.Module, x: Tensor, target: int) -> Row:
    counted = Counted(model).eval()
    samp.explain(counted, x, target=target, method=name)  # counts, and warms up

    def ours() -> None:
        samp.explain(model, x, target=target, method=name)

    peak = peak_bytes(ours, x.device)
    return Row(
        name=name,
        seconds=_seconds(ours, x.device),
        gradients=counted.gradients / len(x),
        forwards=counted.forwards / len(x),
        memory=peak / 2**20 if peak else None,
        peer=_peer(name, model, x, target),
    )


def _peer(name: str, model: nn.Module, x: Tensor, target: int) -> str:
    if name not in PEERS:
        return "–"
    library, call = PEERS[name]
    try:
        call(model, x, target)
        return f"{_seconds(lambda: call(model, x, target), x.device):.3f} ({library})"
    except Exception as error:  # a peer may fail in any way; the table says how
        return f"{type(error).__name__} ({library})"


def _seconds(work: Callable[[], object], device: torch.device) -> float:
    """The shortest of up to three runs; a long one is not repeated."""
    times: list[float] = []
    while len(times) < 3 and sum(times) < ENOUGH:
        wait(device)
        started = time.perf_counter()
        work()
        wait(device)
        times.append(time.perf_counter() - started)
    return min(times)


def table(rows: Sequence[Row], device: torch.device) -> str:
    """The rows as Markdown, with the machine below."""
    lines = [
        "| method | seconds | gradients/image | forwards/image | peak MiB | peer, seconds |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        memory = "–" if row.memory is None else f"{row.memory:.0f}"
        lines.append(
            f"| {row.name} | {row.seconds:.3f} | {row.gradients:.0f} | {row.forwards:.0f} | {memory} | {row.peer} |"
        )
    return "\n".join([*lines, "", describe(device)])


def one_by_one(names: Sequence[str], model: nn.Module, x: Tensor, target: int) -> str:
    """A batch against its images one after the other, for methods that other libraries take one image at a time."""
    lines = ["| method | images | batch s | one by one s | times faster |", "|---|---|---|---|---|"]
    for name in names:

        def batch(name: str = name) -> None:
            samp.explain(model, x, target=target, method=name)

        def single(name: str = name) -> None:
            for image in x:
                samp.explain(model, image[None], target=target, method=name)

        batch()
        together, apart = _seconds(batch, x.device), _seconds(single, x.device)
        lines.append(f"| {name} | {len(x)} | {together:.3f} | {apart:.3f} | {apart / together:.1f} |")
    return "\n".join(lines)


def random_resnet(device: str) -> nn.Module:
    """A ResNet-50-shaped net with random weights."""
    torch.manual_seed(0)
    return ResNet50().to(device).eval()
