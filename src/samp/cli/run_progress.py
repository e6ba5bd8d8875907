"""How far a run over a data set is, how fast it goes and how long it will take, on stderr."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from samp.batch.progress import RunProgress

QUIET, REDRAWN, REPEATED = 2.0, 0.2, 30.0  # seconds: before anything is shown, between showings on a terminal, in a log


class RunProgressLine:
    """How many inputs are done, how fast, how long it will take and how many failed.

    A thread shows it: a batch may take minutes, in which a run should look alive.
    """

    def __init__(self) -> None:
        self.started = self.told = self.shown = time.monotonic()
        self.began: float | None = None
        self.reached = 0
        self.drawn, self.terminal = False, sys.stderr.isatty()
        self.count: RunProgress | None = None
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> RunProgressLine:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()
        if self.drawn and self.terminal:
            click.echo("\r\x1b[K", err=True, nl=False)

    def update(self, count: RunProgress) -> None:
        """A batch or a shard is done, or the run begins."""
        self.count = count
        self._note(time.monotonic())

    def show(self) -> None:
        """Now and then, a line: redrawn on a terminal."""
        now = time.monotonic()
        between = REDRAWN if self.terminal else REPEATED
        if self.count is None or now - self.started < QUIET or (self.drawn and now - self.shown < between):
            return
        self.shown, self.drawn = now, True
        self.count.refresh()
        self._note(now)
        worked = 0.0 if self.began is None else self.told - self.began
        words = f"samp: {progress_words(self.count, worked, now - self.told, now - self.started)}"
        click.echo(f"\r\x1b[K{words}" if self.terminal else words, err=True, nl=not self.terminal)

    def _note(self, now: float) -> None:
        """Remember when the run came so far, and when its work began: before that, workers and models started."""
        if self.count is None or self.count.done_count == self.reached:
            return
        self.reached, self.told = self.count.done_count, now
        if self.began is None:
            self.began = max(now - self.count.first_seconds, self.started)

    def _watch(self) -> None:
        while not self.over.wait(REDRAWN):
            self.show()


def progress_words(count: RunProgress, worked: float, since: float, seconds: float) -> str:
    """How far a run is after so many seconds, `worked` of them from its first batch's begin to its last one's end.

    That was `since` seconds ago. The pace is that of inputs that were explained: one that cannot be read takes no time.
    What other workers have under way counts as half done; else the time left would be far too long until each of them
    has done a few batches.

    >>> from samp.batch.progress import RunProgress
    >>> count = RunProgress(inputs=101, found=20, explained=60, failures={"a": "no photo"})
    >>> progress_words(count, worked=20.0, since=5.0, seconds=90.0)
    '61 of 101 inputs after 1 min 30 s, 2.0/s, about 15 s left, 1 failed'
    """
    from samp.cli.progress import format_duration

    words = [f"{count.inputs - count.left_count} of {count.inputs} inputs after {format_duration(seconds)}"]
    rate = (count.new_count + count.under_way) / worked if count.new_count and worked else 0.0
    if rate:
        left = (count.left_count - count.under_way) / rate - since
        words += [
            f"{rate:.1f}/s" if rate >= 0.1 else f"{60 * rate:.1f}/min",
            f"about {format_duration(max(left, 1))} left",
        ]
    return ", ".join([*words, *([f"{count.failed_count} failed"] if count.failed_count else [])])
