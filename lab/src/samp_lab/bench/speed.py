"""How close walks come to the rate of bare gradients, exact and fast, measured in one run.

Images are random. A bare rate counts value-and-gradient calls of a whole batch, by every way that `speed="fast"` might
take and one that it does not (all of the net in bfloat16). A walk's share is its gradients per second over the fastest
bare rate of all. Every time is a median after a warm-up.
"""

from __future__ import annotations

import copy
import itertools
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

import samp
from samp.fast import SPEEDS, Speed
from samp.fast.cache import forget_graphs, get_or_prepare
from samp.fast.cuda_graphs import MOST_ROWS, CapturedCall, CudaCapture
from samp.fast.inputs import Feed, value_and_gradients_at
from samp.fast.model_copy import HALF, ModelCopy, copy_model
from samp.lookup import look_up
from samp_lab.bench.machine import describe_machine, peak_bytes, synchronize
from samp_lab.bench.speed_peers import Task, measure_contenders, peer_table
from samp_lab.bench.speed_tables import BareRate, CostLine, WalkRate, bare_table, lines_table, walk_table
from samp_lab.bench.tuning import measure_tuning, tuning_table

Work = Callable[[], object]
Net = Callable[..., Any]
CALLS = 15  # in a row, as many as a walk makes
METHODS = ("samp++", "coupled", "consensus")
TABLES = ("walks", "peers", "tuning", "one", "growth")
"""What can be measured; bare calls come with those that are set beside them."""
MakeInputs = Callable[[int], tuple[Tensor, int]]  # images and steps of a walk of this amount


@dataclass(frozen=True)
class SpeedSettings:
    """Settings: walks are counted in images of two rows each, with at most `rows` rows in a call."""

    device: str = "cpu"
    images: tuple[int, ...] = (1, 2)
    rows: int = 128
    side: int = 224
    repeats: int = 3
    compiled: bool = False
    tables: tuple[str, ...] = TABLES

    def __post_init__(self) -> None:
        for name in self.tables:
            look_up(name, dict.fromkeys(TABLES), "table")

    def rows_of(self, images: int) -> int:
        """Return the rows of a call when this many images are explained.

        >>> SpeedSettings().rows_of(8), SpeedSettings().rows_of(100)
        (16, 128)
        """
        return min(2 * images, self.rows)


def tables(model: nn.Module, settings: SpeedSettings) -> Iterator[str]:
    """Yield the tables that are asked for as Markdown, each as soon as it is measured, the machine last."""
    asked, bare = settings.tables, list[BareRate]()
    if "walks" in asked or "peers" in asked:
        batches = sorted({2, *map(settings.rows_of, settings.images)}, reverse=True)  # one compiled for itself first
        for batch in batches:
            bare += measure_bare_calls(model, batch, settings, largest=batch == batches[0])
        yield bare_table(bare)
    if "walks" in asked:
        for method in METHODS:
            walks = itertools.product([method], SPEEDS, settings.images)
            yield walk_table([measure_walk(model, *one, settings) for one in walks], bare)
    if "peers" in asked:
        yield _peer_table(model, bare, settings)
    if "tuning" in asked and torch.device(settings.device).type == "cuda":
        yield _tuning_table(model, settings)
    if "one" in asked:
        yield _latency_table(model, settings)
    if "growth" in asked:
        yield lines_table(measure_lines(model, settings))
    yield describe_machine(settings.device)


def measure_bare_calls(model: nn.Module, batch: int, settings: SpeedSettings, largest: bool) -> Iterator[BareRate]:
    """Yield the rate of every way to call the net on a batch of this size; some are compiled for the largest only."""
    x = _images(batch, settings)
    for way, net in _ways(model, settings, largest):
        yield from _measure_bare_call(
            way, x, partial(make_gradient_call, net, x, last="channels last" in way), settings
        )
    compiled = get_or_prepare(model, True, x.device).compiled if settings.compiled else None  # none on a CPU
    if compiled is not None:
        way = "bfloat16, channels last, compiled for any batch"
        yield from _measure_bare_call(way, x, partial(make_gradient_call, compiled, x, last=True), settings)
    if x.is_cuda and batch <= MOST_ROWS:
        for way, net in _capturable_nets(model, settings):
            yield from _measure_bare_call(f"{way}, CUDA graph", x, partial(_capture, net, x), settings)


def _ways(model: nn.Module, settings: SpeedSettings, largest: bool) -> Iterator[tuple[str, Net]]:
    kind = torch.device(settings.device).type
    yield "float32" + (" (TF32 convolutions)" if kind == "cuda" else ""), model
    yield "float32, channels last", ModelCopy(copy_model(model, False), kind, False)
    yield "bfloat16 autocast", ModelCopy(model, kind, True)
    yield "bfloat16, channels last", ModelCopy(copy_model(model, True), kind, True)
    if settings.compiled and largest:
        compiled = torch.compile(copy_model(model, True), dynamic=False)
        yield "bfloat16, channels last, compiled for this batch", ModelCopy(compiled, kind, True)
        whole = copy.deepcopy(model).requires_grad_(False).to(HALF)
        whole = whole.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # its types leave this out
        yield "all bfloat16, channels last, compiled for this batch", _to_half(torch.compile(whole, dynamic=False))
        torch.compiler.reset()  # or what was compiled for this batch would serve as compiled for any


def _capturable_nets(model: nn.Module, settings: SpeedSettings) -> Iterator[tuple[str, ModelCopy]]:
    kind = torch.device(settings.device).type
    yield "bfloat16, channels last", ModelCopy(copy_model(model, True), kind, True)
    if settings.compiled:
        yield "bfloat16, channels last, compiled", get_or_prepare(model, True, torch.device(settings.device)).fastest


def _to_half(net: Net) -> Net:
    return lambda x: net(x.to(HALF))


def make_gradient_call(net: Net, x: Tensor, last: bool = False) -> Work:
    """One bare call: the gradient of the first class by the input, in channels last or not.

    >>> make_gradient_call(lambda x: x**2, torch.tensor([[3.0]]))()
    tensor([[6.]])
    """

    def call() -> Tensor:
        leaf = x.detach().requires_grad_()
        given = leaf.to(memory_format=torch.channels_last) if last else leaf
        (gradient,) = torch.autograd.grad(net(given)[:, 0].float().sum(), leaf)
        return gradient

    return call


def _capture(net: ModelCopy, x: Tensor) -> Work:
    feed, index, flat = Feed.of((x,)), torch.zeros(len(x), 1, dtype=torch.long, device=x.device), x.flatten(1)
    call = CapturedCall(partial(value_and_gradients_at, net), feed, len(x), flat, index, CudaCapture(x.device))
    return partial(call, flat, index)


def _measure_bare_call(way: str, x: Tensor, make: Callable[[], Work], settings: SpeedSettings) -> Iterator[BareRate]:
    """Return the row of one way; nothing, with a message, if it fails on this machine."""
    try:
        call = make()
        call()
        peak = peak_bytes(call, x.device)
        seconds = _median(lambda: [call() for _ in range(CALLS)], settings)
    except Exception as error:  # a compiler or a capture may fail in any way
        print(f"{way}, batch {len(x)}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr)
        return
    yield BareRate(way, len(x), CALLS * len(x) / seconds, peak)


def measure_walk(model: nn.Module, method: str, speed: Speed, images: int, settings: SpeedSettings) -> WalkRate:
    """Time a method on this many images at this speed, in both directions."""
    x = _images(images, settings)
    forget_graphs(model)  # of other sizes: memory is to be that of this walk

    def work() -> samp.Attribution:
        return samp.explain(model, x, target=0, method=method, batch_size=settings.rows_of(images), speed=speed)

    work()
    result = work()
    gradients = float(result.gradients.double().mean())
    used = str(result.details["speed"])
    del result
    seconds = _median(work, settings)
    rows, peak = settings.rows_of(images), peak_bytes(work, x.device)
    return WalkRate(method, speed, images, rows, seconds, gradients, peak, used)


def measure_lines(model: nn.Module, settings: SpeedSettings) -> Iterator[CostLine]:
    """Time exact walks against images, steps and pixels; fast ones would be compiled anew for every size."""
    most = max(settings.images[-1], 2)  # a line needs two points
    counts = sorted({max(most * k // 4, 1) for k in (1, 2, 3, 4)})
    yield _measure_line("images", counts, lambda n: (_images(n, settings), 14), model, settings)
    few = _images(max(most // 4, 1), settings)
    yield _measure_line("steps", [7, 14, 28, 56], lambda n: (few, n), model, settings)
    sides = [settings.side * k // 4 for k in (2, 3, 4, 5)]
    by_pixels = {side**2: side for side in sides}
    yield _measure_line(
        "pixels", list(by_pixels), lambda n: (_images(len(few), settings, by_pixels[n]), 14), model, settings
    )


def _measure_line(
    quantity: str, amounts: Sequence[int], ask: MakeInputs, model: nn.Module, settings: SpeedSettings
) -> CostLine:
    seconds = []
    for amount in amounts:
        x, steps = ask(amount)
        method = samp.SAMP(steps=steps)

        def work(x: Tensor = x, method: samp.SAMP = method) -> object:
            return samp.explain(model, x, target=0, method=method, batch_size=settings.rows_of(len(x)))

        work()
        seconds.append(_median(work, settings))
    return CostLine(quantity, tuple(map(float, amounts)), tuple(seconds))


def _peer_table(model: nn.Module, bare: Sequence[BareRate], settings: SpeedSettings) -> str:
    images = settings.images[-1]
    task = Task(model, _images(images, settings), settings.rows_of(images))
    return peer_table(measure_contenders(task, partial(_median, settings=settings)), bare, task.rows)


def _tuning_table(model: nn.Module, settings: SpeedSettings) -> str:
    images = settings.images[-1]
    timing = partial(_seconds, device=settings.device), partial(_median, settings=settings)
    return tuning_table(measure_tuning(model, _images(images, settings), METHODS, settings.rows_of(images), *timing))


def _latency_table(model: nn.Module, settings: SpeedSettings) -> str:
    lines = ["| one image after warm-up | speed | class given, ms | class predicted, ms |", "|---|---|---|---|"]
    x = _images(1, settings)
    for method, speed in itertools.product(METHODS, SPEEDS):
        cells = []
        for target in (0, None):
            work = partial(samp.explain, model, x, target=target, method=method, speed=speed)
            work()
            cells.append(f"{1000 * _median(work, settings):.1f}")
        lines.append(f"| {method} | {speed} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _images(count: int, settings: SpeedSettings, side: int = 0) -> Tensor:
    side = side or settings.side
    return torch.rand(count, 3, side, side, generator=torch.Generator().manual_seed(0)).to(settings.device)


def _median(work: Work, settings: SpeedSettings) -> float:
    return statistics.median(_seconds(work, settings.device) for _ in range(settings.repeats))


def _seconds(work: Work, device: str) -> float:
    synchronize(device)
    started = time.perf_counter()
    work()
    synchronize(device)
    return time.perf_counter() - started
