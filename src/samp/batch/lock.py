"""One run at a time in a folder: a lock file that is held while a run writes there.

The folder may hold files of others, also one of the lock's name: it is not truncated, and no link is followed.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NAME = ".samp-run.lock"


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold the lock of this folder; the system releases it even if the process is killed.

    Raises ValueError if another run holds it, and OSError if the folder cannot be written to or if something of that
    name is there that is not a file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, lock_folder(Path(folder)):
    ...     os.listdir(folder)
    ['.samp-run.lock']
    """
    descriptor = _open(folder / NAME)
    try:
        _lock(descriptor, folder)
        yield
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    # O_NONBLOCK: opening a pipe would wait for its other end. Windows has neither this flag nor O_NOFOLLOW.
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP or path.is_symlink():
            raise _occupied_error(path, "a link") from error
        why = error.strerror or type(error).__name__
        raise OSError(f"the folder {path.parent} cannot be written to ({why}): choose another `out`.") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _occupied_error(path, "not a file")
    return descriptor


def _occupied_error(path: Path, kind: str) -> OSError:
    return OSError(f"{path} is {kind}, where a run keeps its lock: remove it, or choose another `out`.")


def _lock(descriptor: int, folder: Path) -> None:
    """Lock the file if the system and the disk support it; without, shards are still written atomically."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ValueError(f"another run is writing into {folder}: wait for it, or choose another `out`.") from error
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK, errno.EINVAL):  # some network file systems
            raise
