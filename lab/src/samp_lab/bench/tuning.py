"""With cuDNN's tuning and without: `torch.backends.cudnn.benchmark` tries its kernels for each new size of a call.

Rows leave a walk one by one, so sizes must be few. The first call with tuning pays for it once for each size; after it
the walk must be as fast as without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

import samp
from samp_lab.bench.overhead import GradientCallRecorder


@dataclass(frozen=True)
class TunedWalk:
    """Seconds of a method on the same images without tuning and with it, and how many sizes its calls have then."""

    method: str
    images: int
    plain: float
    first: float
    """The first call with tuning."""
    tuned: float
    """Later calls with tuning."""
    sizes: int


@contextmanager
def set_tuning(on: bool) -> Iterator[None]:
    """Turn `torch.backends.cudnn.benchmark` on or off within this context."""
    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = on
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = before


def measure_tuning(
    model: nn.Module,
    x: Tensor,
    methods: Sequence[str],
    rows: int,
    seconds_of: Callable[[Callable[[], object]], float],
    median_of: Callable[[Callable[[], object]], float],
) -> Iterator[TunedWalk]:
    """Yield each method's times: `seconds_of` times one call, `median_of` several."""
    for method in methods:

        def work(net: nn.Module = model, method: str = method) -> object:
            return samp.explain(net, x, target=0, method=method, batch_size=rows)

        with set_tuning(False):
            work()
            plain = median_of(work)
        with set_tuning(True):
            first = seconds_of(work)
            tuned = median_of(work)
            recorder = GradientCallRecorder(model).eval()
            work(recorder)
        yield TunedWalk(method, len(x), plain, first, tuned, len(set(recorder.calls)))


def tuning_table(found: Iterable[TunedWalk]) -> str:
    """Return the times as Markdown.

    >>> print(tuning_table([TunedWalk("samp++", 64, 2.0, 3.0, 1.9, 4)]).splitlines()[2])
    | samp++ | 64 | 2.000 | 3.000 | 1.900 | **0.950** | 4 |
    """
    lines = [
        "| method | images | cudnn.benchmark off, s | on, first, s | on, later, s | on over off | sizes of calls |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {one.method} | {one.images} | {one.plain:.3f} | {one.first:.3f} | {one.tuned:.3f} "
        f"| **{one.tuned / one.plain:.3f}** | {one.sizes} |"
        for one in found
    ]
    return "\n".join(lines)
