"""Bars for long runs: images done, gradients per second; and one bar where several runs follow one another."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Protocol

from tqdm import tqdm

MOST_LETTERS = 40  # of a piece's name: a method's repr may be longer than a line


class Bar(Protocol):
    """What of tqdm's bars is used."""

    n: float
    total: float | None

    def update(self, n: float = 1) -> Any: ...
    def set_postfix_str(self, s: str = "", refresh: bool = True) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Any: ...
    def __exit__(self, *error: Any) -> Any: ...


def open_bar(total: float, unit: str, show: bool, **how: Any) -> Bar:
    """A bar on stderr if it is to be shown; within a piece of a `JointBar`, a part of that one instead.

    >>> with open_bar(total=3, unit="mask", show=False) as bar:
    ...     _ = bar.update(3)
    """
    joint = _JOINT.get()
    if show and joint is not None:
        return BarPart(joint, total)
    bar: Bar = tqdm(total=total, unit=unit, disable=not show, **how)
    return bar


class JointBar:
    """One bar for several pieces of work that each would have shown its own; it names the piece and only goes up.

    >>> with JointBar(total=2, unit="method", show=False) as bar:
    ...     with bar.piece("ig", size=1):
    ...         pass
    >>> bar.done
    1.0
    """

    def __init__(self, total: int, unit: str, show: bool) -> None:
        self.show, self.done, self.size = show, 0.0, 0.0
        self.bar = tqdm(
            total=total,
            disable=not show,
            bar_format=f"{{l_bar}}{{bar}}| {{n:.3g}}/{{total}} {unit}s [{{elapsed}}<{{remaining}}]",
        )

    def __enter__(self) -> JointBar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.close()

    @contextmanager
    def piece(self, name: str, size: float) -> Iterator[None]:
        """A piece of work of this size, of the total; bars that are opened in it move this one."""
        self.size = size
        self.bar.set_description_str(name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…")
        token = _JOINT.set(self if self.show else None)
        try:
            yield
        finally:
            _JOINT.reset(token)
        self.done += size
        self._show(self.done)

    def set_progress(self, share: float) -> None:
        """This share of the piece is done; less than was said before changes nothing."""
        self._show(self.done + self.size * min(share, 1.0))

    def _show(self, done: float) -> None:
        self.bar.update(max(done - self.bar.n, 0))


class BarPart:
    """A bar that is a piece's of a `JointBar`, and shows nothing of its own."""

    def __init__(self, joint: JointBar, total: float) -> None:
        self.joint, self.n = joint, 0.0
        self.total: float | None = total

    def update(self, n: float = 1) -> None:
        self.n += n
        if self.total:
            self.joint.set_progress(self.n / self.total)

    def set_postfix_str(self, s: str = "", refresh: bool = True) -> None:
        """Nothing: the joint bar has the piece's name."""

    def close(self) -> None:
        """Nothing: the joint bar stays open."""

    def __enter__(self) -> BarPart:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


_JOINT: ContextVar[JointBar | None] = ContextVar("the bar of all pieces", default=None)


class Meter:
    """Counts walks that arrived and gradients spent; shows a bar on stderr if asked to.

    >>> meter = Meter(total=2, walks_per_image=2, show=False)
    >>> meter.record_step(gradients=4, arrived=4)
    >>> meter.images, meter.gradients
    (2.0, 4)
    """

    def __init__(self, total: int, walks_per_image: int, show: bool) -> None:
        self.walks_per_image = walks_per_image
        self.walks, self.gradients, self.started = 0, 0, time.perf_counter()
        self.bar = open_bar(
            total,
            "image",
            show,
            bar_format="{l_bar}{bar}| {n:.4g}/{total} images [{elapsed}<{remaining}, {rate_fmt}{postfix}]",
        )

    @property
    def images(self) -> float:
        return self.walks / self.walks_per_image

    def record_step(self, gradients: int, arrived: int) -> None:
        """A step cost this many gradients and brought this many walks home."""
        self.gradients += gradients
        self.walks += arrived
        self._show()

    def rewind_to(self, walks: int) -> None:
        """A batch is done again (memory ran out): only this many walks stand."""
        self.walks = walks
        self._show()

    def close(self) -> None:
        self.bar.close()

    def _show(self) -> None:
        self.bar.n = self.images
        seconds = max(time.perf_counter() - self.started, 1e-9)
        self.bar.set_postfix_str(f"{self.gradients / seconds:.1f} gradients/s", refresh=False)
        self.bar.update(0)
