"""Value and gradient as one CUDA graph: captured once, then replayed without launching kernel by kernel.

A graph has a fixed shape. A call with few rows is therefore padded to one of `SIZES`; the padding rows keep their old
contents and are not read. Padding many rows would cost more than it saves: a larger number of rows gets a graph of its
own once it has occurred often enough.
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
MOST_ROWS = 256  # beyond this, launch overhead is negligible
OFTEN = 6  # calls with one number of rows before it gets a graph of its own
MOST_LARGE = 3  # graphs of more than SIZES[-1] rows: each has buffers of its own
WARM_UPS = 3  # calls before a capture, in which libraries choose kernels and allocate memory
Work = Callable[[Sequence[Tensor], Tensor], tuple[Tensor, tuple[Tensor, ...]]]


class Replay(Protocol):
    """Repeats the captured work on the current contents of its buffers."""

    def __call__(self) -> object: ...


Capture = Callable[[Callable[[], None]], Replay]


class Sizes:
    """Chooses the graph size of a call; counts calls with many rows to decide which get a size of their own.

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
        """Return the smallest size that holds this many rows, or None if the call is not captured.

        A large graph is only started if `room()` is true.
        """
        if rows <= SIZES[-1]:
            return next(size for size in SIZES if size >= rows)
        self.calls[rows] += 1
        often = self.calls[rows] > OFTEN and rows <= MOST_ROWS
        if often and len(self.large) < MOST_LARGE and rows not in self.large | self.refused:
            (self.large if room() else self.refused).add(rows)
        return rows if rows in self.large else None


class CapturedCall:
    """A captured call of fixed size: takes points x (rows n) and score indices (rows k), returns scores and gradients.

    Points are copied once into the layout of the net's inputs, and gradients once back into the layout of points. All
    buffers in between keep their addresses.

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
        with self.turn():  # there is one set of buffers, which another thread would overwrite
            self.feed.fill(self.inputs, x)
            self.index[:rows].copy_(index)
            self.replay()
            value, gradients = self.outputs
            return value[:rows].to(x.dtype, copy=True), self.feed.points(gradients, rows, x.dtype)


def _exclusive_turns() -> Callable[[], AbstractContextManager[Any]]:
    """Return a function that gives the same lock every time, so that callers take turns."""
    lock = threading.Lock()
    return lambda: lock


def no_capture(fill: Callable[[], None]) -> Replay:
    """Return the work itself, so that it is done eagerly on every call."""
    return fill


_CAPTURING = threading.Lock()  # captures on a device share one stream: work of another thread would be captured too


@cache
def _stream(device: torch.device) -> torch.cuda.Stream:
    """Return the one stream for captures on this device: libraries keep a workspace per stream."""
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]  # torch leaves it untyped


class CudaCapture:
    """Captures work into CUDA graphs, which share one memory pool because they are replayed in turn."""

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
                # thread_local: other threads may use the device meanwhile, to load the next batch for example
                with torch.cuda.graph(graph, pool=self.pool, stream=stream, capture_error_mode="thread_local"):
                    # reserve one block for everything: allocated piece by piece, a graph keeps half as much again
                    torch.empty(needed, dtype=torch.uint8, device=self.device)
                    fill()
            finally:
                torch.cuda.set_stream(here)  # a failed capture may leave its own stream current
        replay: Replay = graph.replay
        return replay

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Admit one caller at a time, and order its work on the device after the previous caller's, on any stream."""
        with self.alone, torch.cuda.device(self.device):
            stream = torch.cuda.current_stream()
            stream.wait_event(self.last)
            yield
            self.last.record(stream)

    def has_room(self) -> bool:
        """Return whether as much memory is free as the peak since the last capture: a graph keeps its own memory."""
        free, _ = torch.cuda.mem_get_info(self.device)
        cached = torch.cuda.memory_reserved(self.device) - torch.cuda.memory_allocated(self.device)
        return free + cached > torch.cuda.max_memory_allocated(self.device)

    def _warm_up(self, fill: Callable[[], None], stream: torch.cuda.Stream) -> int:
        """Run the work on a side stream, as torch requires before a capture; return the bytes that the last call took.

        This resets torch's peak memory statistics, the only source for that number.
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
        torch.cuda.empty_cache()  # memory of these calls is not used again on this stream
        return needed
