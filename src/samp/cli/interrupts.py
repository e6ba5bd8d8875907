"""Ctrl-C that Python would drop."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threading import Timer

SOON = 0.05  # seconds: by then the callback has returned


@contextmanager
def keep_interrupts() -> Iterator[None]:
    """Within this context, a Ctrl-C whose KeyboardInterrupt Python ignores is raised again a moment later.

    Python ignores what is raised in a callback of a weak reference or in `__del__`, and prints a line instead; each
    import of a module calls one. The walk would then go on as if nobody had pressed a key.
    """
    before = sys.unraisablehook
    pending: list[Timer] = []

    def raise_again(ignored: sys.UnraisableHookArgs) -> None:
        if not issubclass(ignored.exc_type, KeyboardInterrupt):
            before(ignored)
            return
        from threading import Timer  # here, since `samp --help` should not wait for it

        pending.append(Timer(SOON, interrupt_again))
        pending[-1].start()

    sys.unraisablehook = raise_again
    try:
        yield
    finally:
        sys.unraisablehook = before
        for timer in pending:
            timer.cancel()


def interrupt_again() -> None:
    """Have the main thread raise KeyboardInterrupt, and wake it where it waits if this system can do that."""
    import signal
    import threading

    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        import _thread

        _thread.interrupt_main()
