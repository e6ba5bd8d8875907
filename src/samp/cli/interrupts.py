"""Ctrl-C and SIGTERM that Python would drop."""

from __future__ import annotations

import signal
import sys
import threading  # imported before it is needed: a Ctrl-C is dropped in the middle of imports, when they are locked
from collections.abc import Iterator
from contextlib import contextmanager

SOON = 0.05  # seconds: by then the callback has returned


@contextmanager
def keep_interrupts() -> Iterator[None]:
    """Within this context, a signal whose KeyboardInterrupt or SystemExit Python ignores is sent again, a moment later.

    Python ignores what is raised in a callback of a weak reference or in `__del__`, and prints a line instead; every
    import of a module runs such a callback. The walk would then go on as if nobody had pressed a key.
    """
    before = sys.unraisablehook
    pending: list[threading.Timer] = []

    def raise_again(ignored: sys.UnraisableHookArgs) -> None:
        number = _signal_behind(ignored.exc_type)
        if number is None:
            before(ignored)
            return
        timer = threading.Timer(SOON, signal_again, [number])
        timer.daemon = True
        pending.append(timer)
        timer.start()

    sys.unraisablehook = raise_again
    try:
        yield
    finally:
        sys.unraisablehook = before
        for timer in pending:
            timer.cancel()
            timer.join()  # one that was too late for that raises here, and not behind the command


def _signal_behind(error: type[BaseException]) -> signal.Signals | None:
    """Return the signal whose handler raises such an error; SystemExit only where SIGTERM has a handler."""
    if issubclass(error, KeyboardInterrupt):
        return signal.SIGINT
    if issubclass(error, SystemExit) and callable(signal.getsignal(signal.SIGTERM)):
        return signal.SIGTERM
    return None


def signal_again(number: signal.Signals) -> None:
    """Have the main thread handle this signal, and wake it where it waits if this system can do that."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, number)
    else:
        import _thread

        _thread.interrupt_main(number)
