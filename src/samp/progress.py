"""Progress bars by tqdm, on stderr or in a notebook: of one run, of several runs that share a bar, and of commands."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Protocol, Self
from weakref import WeakSet

from tqdm import tqdm

WIDGETS = "ipywidgets"  # with this package, notebooks draw bars; without it, tqdm writes text there too
QUIET = 2.0  # seconds before the bar of a command appears
REDRAWN = 0.2  # seconds between two updates of a command's bar on screen
MOST_LETTERS = 40  # of a piece's name: a method's repr may be longer than a line


class Bar(Protocol):
    """The part of tqdm's interface that is used here."""

    n: float
    total: float | None

    def update(self, n: float = 1) -> Any: ...
    def set_postfix_str(self, s: str = "", refresh: bool = True) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Any: ...
    def __exit__(self, *error: Any) -> Any: ...


def open_bar(total: float, unit: str, show: bool, **style: Any) -> Bar:
    """Return a bar of tqdm, hidden unless `show`; within a piece of a visible `JointBar`, a part of that bar instead.

    >>> with open_bar(total=3, unit="mask", show=False) as bar:
    ...     _ = bar.update(3)
    """
    joint = _JOINT.get()
    if show and joint is not None:
        return BarPart(joint, total)
    bar: Bar = _bar_class(show)(total=total, unit=unit, disable=not show, **style)
    return bar


def runs_in_notebook() -> bool:
    """Return whether this runs in the kernel of a notebook: Jupyter, VS Code, Colab. IPython is not imported for it.

    >>> runs_in_notebook()
    False
    """
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return "IPKernelApp" in (getattr(shell, "config", None) or {})


def _bar_class(show: bool) -> Any:
    """Return tqdm, or its bar of a notebook where this is one that can draw it."""
    if show and runs_in_notebook() and find_spec(WIDGETS) is not None:
        from tqdm.notebook import tqdm as notebook_bar

        return notebook_bar
    return tqdm


def open_command_bar(total: float | None, **style: Any) -> Any:
    """Return the bar of a command: only on a terminal, after `QUIET` seconds, and removed when it is closed."""
    bar = tqdm(
        total=total,
        disable=None,  # for tqdm: disabled unless stderr is a terminal
        delay=QUIET,
        leave=False,
        dynamic_ncols=True,
        mininterval=REDRAWN,
        miniters=0,  # every update may draw, so that the elapsed time advances before anything is done
        smoothing=0,  # estimate the time left from the average rate: pieces differ
        **style,
    )
    _COMMAND_BARS.add(bar)
    return bar


@contextmanager
def hide_command_bars() -> Iterator[None]:
    """Clear the bars of commands while a line is printed; each is drawn again at its next update."""
    with tqdm.get_lock():  # other threads draw bars too
        for bar in _COMMAND_BARS:
            if not bar.disable and bar.last_print_t >= bar.start_t + bar.delay:  # it has been drawn
                bar.clear(nolock=True)
        yield


class JointBar:
    """One bar for several pieces of work, in place of a bar for each; it names the current piece and never goes back.

    >>> with JointBar(total=2, unit="method", show=False) as bar:
    ...     with bar.piece("ig", size=1):
    ...         pass
    >>> bar.done
    1.0
    """

    def __init__(self, total: float, unit: str, show: bool) -> None:
        self.show, self.done, self.size = show, 0.0, 0.0
        self.bar = self._open(total, unit)

    def _open(self, total: float, unit: str) -> Any:
        counts = f"{{n:.3g}}/{{total}} {unit}s"
        style = f"{{l_bar}}{{bar}}| {counts} [{{elapsed}}<{{remaining}}]"
        return _bar_class(self.show)(total=total, disable=not self.show, miniters=0, bar_format=style)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.close()

    @contextmanager
    def piece(self, name: str, size: float) -> Iterator[None]:
        """Context for a named piece of work, `size` of the total; bars opened inside move this one."""
        self.size = size
        shortened = name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…"
        self.bar.set_description_str(shortened, refresh=False)
        self.bar.update(0)  # unlike refresh, it respects the bar's delay
        token = _JOINT.set(self if self.show else None)
        try:
            yield
        finally:
            _JOINT.reset(token)
        self.done += size
        self._move_to(self.done)

    def set_progress(self, share: float) -> None:
        """Show this share of the piece as done; a smaller share than before has no effect."""
        self._move_to(self.done + self.size * min(share, 1.0))

    def _move_to(self, done: float) -> None:
        self.bar.update(max(done - self.bar.n, 0))


class BarPart:
    """A bar opened within a piece of a `JointBar`: it moves that bar and draws nothing itself."""

    def __init__(self, joint: JointBar, total: float) -> None:
        self.joint, self.n = joint, 0.0
        self.total: float | None = total

    def update(self, n: float = 1) -> None:
        self.n += n
        if self.total:
            self.joint.set_progress(self.n / self.total)

    def set_postfix_str(self, s: str = "", refresh: bool = True) -> None:
        """Do nothing: the joint bar shows the piece's name."""

    def close(self) -> None:
        """Do nothing: the joint bar stays open."""

    def __enter__(self) -> BarPart:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


_JOINT: ContextVar[JointBar | None] = ContextVar("the bar of all pieces", default=None)
_COMMAND_BARS: WeakSet[Any] = WeakSet()


class Meter:
    """Counts walks that have arrived and gradients spent, and shows both in a bar if `show`.

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
        """Images whose walks have all arrived; one of two walks is half an image."""
        return self.walks / self.walks_per_image

    def record_step(self, gradients: int, arrived: int) -> None:
        """Count a step of a batch: the gradients it took, and the walks that arrived with it."""
        self.gradients += gradients
        self.walks += arrived
        self._update_bar()

    def rewind_to(self, walks: int) -> None:
        """Go back to this many walks: memory ran out, and the batch after them is walked again."""
        self.walks = walks
        self._update_bar()

    def close(self) -> None:
        """Close the bar."""
        self.bar.close()

    def _update_bar(self) -> None:
        self.bar.n = self.images
        seconds = max(time.perf_counter() - self.started, 1e-9)
        self.bar.set_postfix_str(f"{self.gradients / seconds:.1f} gradients/s", refresh=False)
        self.bar.update(0)
