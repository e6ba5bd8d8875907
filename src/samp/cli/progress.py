"""The bars of commands: how far a command is and how long it will take."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from samp.cli.terminal import printable
from samp.progress import REDRAWN, JointBar, open_command_bar

if TYPE_CHECKING:
    from torch import nn

    from samp.batch.progress import RunProgress


class EvaluationBar(JointBar):
    """A bar of a command that moves with the rows that a net is given, one piece for each photo or method.

    >>> with EvaluationBar(total=3) as bar, bar.watch(None, "cat.jpg", expected=32):
    ...     pass
    >>> bar.done, bar.rows
    (1.0, 0)
    """

    def __init__(self, total: float) -> None:
        self.rows = 0
        super().__init__(total, "", show=False)  # what methods show of their own walks would move it twice

    def _open(self, total: float, unit: str) -> Any:
        return open_command_bar(total, bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}")

    @contextmanager
    def watch(self, net: nn.Module | None, name: str, expected: int | None, size: float = 1.0) -> Iterator[None]:
        """Count the rows that the net is given inside, `expected` in all if that is known, as a piece of this size.

        Without a net the bar moves when the piece is done. A piece that raises is not counted as done.
        """
        self.rows = 0

        def count(_: nn.Module, inputs: tuple[Any, ...]) -> None:
            self.rows += len(inputs[0])
            self.set_progress(self.rows / expected if expected else 0.0)

        handle = None if net is None or self.bar.disable else net.register_forward_pre_hook(count)
        try:
            with self.piece(printable(name), size):
                yield
        finally:
            if handle is not None:
                handle.remove()

    def drop_piece(self, size: float = 1.0) -> None:
        """Take a piece that could not be done off the total: the time left is that of the others."""
        if not self.bar.disable:
            self.bar.total = max(self.bar.total - size, self.done)


class RunBar:
    """The bar of a run over a data set: inputs done, their pace, the time left and how many failed.

    A thread draws it: a batch may take minutes, and workers in other processes have to be polled.
    """

    def __init__(self) -> None:
        self.started = self.advanced = time.monotonic()
        self.began: float | None = None
        self.done_count = 0
        self.count: RunProgress | None = None
        self.bar = open_command_bar(
            None, bar_format="{percentage:3.0f}%|{bar}| {n}/{total} inputs [{elapsed}{postfix}]"
        )
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._draw_until_over, daemon=True)

    def __enter__(self) -> RunBar:
        if not self.bar.disable:
            self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        if self.thread.is_alive():
            self.thread.join()
        self.bar.close()

    def update(self, count: RunProgress) -> None:
        """Take the counts of a run that has begun, or that has finished a batch or a shard."""
        self.count = count
        self._note_time()

    def draw(self) -> None:
        """Draw the bar with what is known now, once the run has begun."""
        if self.count is None:
            return
        self.count.refresh()
        self._note_time()
        worked = 0.0 if self.began is None else self.advanced - self.began
        self.bar.total = self.count.inputs
        self.bar.n = max(self.count.inputs - self.count.left_count, self.bar.n)
        self.bar.set_postfix_str(describe_pace(self.count, worked, time.monotonic() - self.advanced), refresh=False)
        self.bar.update(0)

    def _note_time(self) -> None:
        """Note when the run last advanced, and when its work began: before that, workers and models were started."""
        if self.count is None or self.count.done_count == self.done_count:
            return
        self.done_count, self.advanced = self.count.done_count, time.monotonic()
        if self.began is None:
            self.began = max(self.advanced - self.count.first_seconds, self.started)

    def _draw_until_over(self) -> None:
        while not self.over.wait(REDRAWN):
            self.draw()


def describe_pace(count: RunProgress, worked: float, since: float) -> str:
    """Return the pace of a run, the time left and the number of failures, as far as they are known.

    `worked` is the time in seconds from the begin of its first batch to the end of its last one, which was `since`
    seconds ago. The pace is that of inputs that were explained: one that cannot be read takes no time. What other
    workers have under way counts as half done; else the time left would be far too long until each of them has done a
    few batches.

    >>> from samp.batch.progress import RunProgress
    >>> count = RunProgress(inputs=101, found=20, explained=60, failures={"a": "no photo"})
    >>> describe_pace(count, worked=20.0, since=5.0)
    '2.0/s, about 15 s left, 1 failed'
    """
    words = []
    rate = (count.new_count + count.under_way) / worked if count.new_count and worked else 0.0
    if rate:
        left = (count.left_count - count.under_way) / rate - since
        words = [
            f"{rate:.1f}/s" if rate >= 0.1 else f"{60 * rate:.1f}/min",
            f"about {format_duration(max(left, 1))} left",
        ]
    return ", ".join([*words, *([f"{count.failed_count} failed"] if count.failed_count else [])])


def format_duration(seconds: float) -> str:
    """Return whole seconds, or minutes or hours with them, for people.

    >>> format_duration(7.2), format_duration(75), format_duration(3700)
    ('7 s', '1 min 15 s', '1 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"
