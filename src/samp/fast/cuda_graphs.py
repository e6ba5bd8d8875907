"""Value and gradient as one CUDA graph: captured once, then replayed without launching kernel by kernel.

A graph has one shape. So a call of few rows is padded to one of a few sizes: rows beyond the asked-for ones hold
whatever they held before, and are not read. Padding many rows would cost more than it saves: those have a graph of
their own, once their number keeps coming back.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any, Protocol

import torch
from torch import Tensor

from samp.fast.inputs import Feed

SIZES = (2, 4, 6, 8, 12, 16, 24, 32, 48, 64)
MOST_ROWS = 256  # launching is no part to be seen beyond
OFTEN = 6  # calls of so many rows, before they have a graph of their own
MOST_LARGE = 3  # graphs of many rows at once: each has buffers of its own
WARM_UPS = 3  # calls before a capture, in which libraries choose their kernels and take their memory
Work = Callable[[Sequence[Tensor], Tensor], tuple[Tensor, tuple[Tensor, ...]]]


class Replay(Protocol):
    """Does the captured work again, on whatever its buffers hold now."""

    def __call__(self) -> object: ...


Capture = Callable[[Callable[[], None]], Replay]


class Sizes:
    """Which size a call takes: counts the calls of many rows, and remembers which of these have a size of their own.

    >>> sizes = Sizes()
    >>> sizes.size_for(1), sizes.size_for(5), sizes.size_for(65)
    (2, 6, None)
    >>> [sizes.size_for(65) for _ in range(OFTEN)][-1]
    65
    """

    def __init__(self) -> None:
        self.calls: Counter[int] = Counter()
        self.large: set[int] = set()
        self.refused: set[int] = set()

    def size_for(self, rows: int, room: Callable[[], bool] = lambda: True) -> int | None:
        """The smallest size that holds so many rows; None where a call goes without a graph.

        A large graph is only begun where there is `room` for it.
        """
        if rows <= SIZES[-1]:
            return next(size for size in SIZES if size >= rows)
        self.calls[rows] += 1
        often = self.calls[rows] > OFTEN and rows <= MOST_ROWS
        if often and len(self.large) < MOST_LARGE and rows not in self.large | self.refused:
            (self.large if room() else self.refused).add(rows)
        return rows if rows in self.large else None


class CapturedCall:
    """One call of fixed size: points x (rows n) and the places of the scores (rows k) in, scores and gradients out.

    Points are laid out as the net has its inputs on their way in, and gradients as points on their way out: each is
    copied once. In between, all stays where the capture found it.

    >>> def work(inputs, index):
    ...     return inputs[0].gather(1, index).squeeze(1), (torch.ones_like(inputs[0]),)
    >>> x, index = torch.rand(1, 3), torch.tensor([[2]])
    >>> call = CapturedCall(work, Feed.of((x,)), 4, x, index, capture=no_capture)
    >>> call(torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[1]]))
    (tensor([2.]), tensor([[1., 1., 1.]]))
    """

    def __init__(self, work: Work, feed: Feed, size: int, x: Tensor, index: Tensor, capture: Capture) -> None:
        self.feed, self.inputs, self.index = feed, feed.inputs(x[:1].repeat(size, 1)), index[:1].repeat(size, 1)
        self.turn: Callable[[], AbstractContextManager[Any]] = getattr(capture, "turn", _exclusive_turns())
        self.outputs: tuple[Tensor, tuple[Tensor, ...]]

        def fill() -> None:
            self.outputs = work(self.inputs, self.index)

        self.replay = capture(fill)

    def __call__(self, x: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        rows = len(x)
        with self.turn():  # one set of buffers: another thread's rows would overwrite these
            self.feed.fill(self.inputs, x)
            self.index[:rows].copy_(index)
            self.replay()
            value, gradients = self.outputs
            return value[:rows].to(x.dtype, copy=True), self.feed.points(gradients, rows, x.dtype)


def _exclusive_turns() -> Callable[[], AbstractContextManager[Any]]:
    """One caller at a time."""
    lock = threading.Lock()
    return lambda: lock


def no_capture(fill: Callable[[], None]) -> Replay:
    """No capture at all: the work is done anew each time."""
    return fill


_CAPTURING = threading.Lock()  # all captures of a device take one stream: what came between would be captured, too


@cache
def _stream(device: torch.device) -> torch.cuda.Stream:
    """The one stream for captures on this device: libraries keep memory of their own for every stream they meet."""
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]  # torch leaves it untyped


class CudaCapture:
    """Captures into CUDA graphs that share their memory, since they are replayed in turn."""

    def __init__(self, device: torch.device) -> None:
        self.device, self.pool = device, torch.cuda.graph_pool_handle()
        self.alone = threading.Lock()
        self.last = torch.cuda.Event()  # type: ignore[no-untyped-call]  # torch leaves it untyped

    def __call__(self, fill: Callable[[], None]) -> Replay:
        with _CAPTURING, torch.cuda.device(self.device):
            here, stream = torch.cuda.current_stream(), _stream(self.device)
            needed = self._warm_up(fill, stream)
            graph = torch.cuda.CUDAGraph()
            try:
                # thread_local: what other threads do meanwhile (loading the next batch, say) is no concern of ours
                with torch.cuda.graph(graph, pool=self.pool, stream=stream, capture_error_mode="thread_local"):
                    # one block for all of it, given back at once: made piece by piece, a graph keeps half as much again
                    torch.empty(needed, dtype=torch.uint8, device=self.device)
                    fill()
            finally:
                torch.cuda.set_stream(here)  # a capture that fails may leave us on its own
        replay: Replay = graph.replay
        return replay

    @contextmanager
    def turn(self) -> Iterator[None]:
        """One caller at a time, and its work on the device behind that of the one before, whatever their streams."""
        with self.alone, torch.cuda.device(self.device):
            stream = torch.cuda.current_stream()
            stream.wait_event(self.last)
            yield
            self.last.record(stream)

    def has_room(self) -> bool:
        """Whether as much memory as was in use since the last capture is free: a graph keeps its own."""
        free, _ = torch.cuda.mem_get_info(self.device)
        cached = torch.cuda.memory_reserved(self.device) - torch.cuda.memory_allocated(self.device)
        return free + cached > torch.cuda.max_memory_allocated(self.device)

    def _warm_up(self, fill: Callable[[], None], stream: torch.cuda.Stream) -> int:
        """On a stream of its own, as torch asks for before a capture; gives the bytes that the last call took.

        Torch's count of the peak of memory starts anew with it: there is no other way to know.
        """
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UPS - 1):
                fill()
            held = torch.cuda.memory_allocated(self.device)
            torch.cuda.reset_peak_memory_stats(self.device)
            fill()
            needed = max(torch.cuda.max_memory_allocated(self.device) - held, 0)
        torch.cuda.current_stream().wait_stream(stream)
        torch.cuda.empty_cache()  # what the calls took is not used again on this stream
        return needed
