"""How far a command is and how long it will take, on stderr, for anything over two seconds."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn

from samp.cli.terminal import printable
from samp.methods.coupled import Coupled

QUIET = 2.0  # seconds before anything is shown
REDRAWN, REPEATED = 0.2, 30.0  # seconds between two showings: on a terminal, in a log


class PhotoProgress:
    """Counts the rows a net is given; shows photos done and time left, on a terminal in one line that is redrawn.

    >>> progress = PhotoProgress(photos=1, rows_per_photo=10)
    >>> progress.add_rows(5)
    >>> progress.seconds_left(elapsed=8.0)
    8.0
    """

    def __init__(self, photos: int, rows_per_photo: int | None) -> None:
        self.photos, self.expected = photos, rows_per_photo
        self.photo, self.rows, self.finished_rows, self.done = "", 0, 0, 0
        self.started, self.shown = time.monotonic(), -math.inf
        self.drawn, self.terminal = False, sys.stderr.isatty()

    @contextmanager
    def watch(self, net: nn.Module, photo: str) -> Iterator[None]:
        """While inside, every call of the net is counted for this photo."""
        self.photo, self.rows = photo, 0
        handle = net.register_forward_pre_hook(lambda _, inputs: self.add_rows(len(inputs[0])))
        try:
            yield
            self.done += 1
            self.finished_rows, self.rows = self.finished_rows + self.rows, 0
            self.expected = max(self.finished_rows // self.done, 1)
        finally:
            handle.remove()
            self.clear()

    def add_rows(self, rows: int) -> None:
        """The net was given this many rows."""
        self.rows += rows
        now = time.monotonic()
        if now - self.started > QUIET and now - self.shown > (REDRAWN if self.terminal else REPEATED):
            self.shown = now
            self._show(now - self.started)

    def seconds_left(self, elapsed: float) -> float | None:
        """Seconds to go at the pace so far; None while that cannot be known."""
        if self.expected is None:
            return None
        here = max(self.expected, self.rows) if self.done < self.photos else 0
        total = self.finished_rows + here + self.expected * (self.photos - self.done - 1)
        done = self.finished_rows + self.rows
        return elapsed * (total - done) / done if done else None

    def clear(self) -> None:
        """Take the line off the terminal."""
        if self.drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self.drawn = False

    def _show(self, elapsed: float) -> None:
        which = f"photo {self.done + 1} of {self.photos}, " if self.photos > 1 else ""
        left = self.seconds_left(elapsed)
        time_left = f"about {format_duration(left)} left" if left is not None else "time left unknown"
        name = printable(self.photo)
        words = f"samp: {which}{name}: {self.rows} model evaluations in {format_duration(elapsed)}, {time_left}"
        print(
            f"\r\x1b[K{words}" if self.terminal else words,
            end="" if self.terminal else "\n",
            file=sys.stderr,
            flush=True,
        )
        self.drawn = self.terminal


def format_duration(seconds: float) -> str:
    """Whole seconds, or minutes and hours with them.

    >>> format_duration(7.2), format_duration(75), format_duration(3700)
    ('7 s', '1 min 15 s', '1 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"


def expected_rows(method: Any, height: int, width: int) -> int | None:
    """Model evaluations that a method will make for one image, at most, where its settings say so.

    >>> from samp.methods import resolve_method
    >>> [expected_rows(resolve_method(name), 224, 224) for name in ("coupled", "samp++", "ig", "lrp")]
    [32, 50, 51, None]
    """
    pixels, small = height * width, max(height, width) <= 32
    walks = 2 if getattr(method, "direction", "") == "both" else 1
    if isinstance(method, Coupled):
        settings = method.resolve_settings(small=small)
        step = method.pixels_per_step or max(math.ceil(pixels / settings.steps), 1)
        cut = walks * math.ceil(1 / settings.eta) if settings.eta < 1 else 0  # either walk may be the longer one
        return walks * (math.ceil(pixels / step) + cut + 1)
    if hasattr(method, "pixels_per_step"):
        step = method.pixels_per_step or (10 if small else math.ceil(pixels / 14))
        steps = method.steps or math.ceil(pixels / step)
        return walks * (steps + math.ceil(1 / method.eta if method.eta else 0) + 1)
    for setting in ("masks", "steps"):
        if hasattr(method, setting):
            return walks * (int(getattr(method, setting)) + 1)
    return None
