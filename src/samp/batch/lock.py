"""One run at a time in a folder: a file of our own that is locked while a run writes beside it.

The folder may hold other people's files, and the name may be taken by one of them: nothing is emptied, and no link is
followed.
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
    """While inside, no other run writes into this folder; the system lets go of it even if the process is killed.

    Raises ValueError if another run holds it, and OSError if the folder cannot be written to or the name is taken by
    something that is no file.

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
    # O_NONBLOCK: a pipe that somebody put there would be waited for. Windows has neither it nor O_NOFOLLOW.
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP or path.is_symlink():
            raise _occupied_error(path, "a link") from error
        said = error.strerror or type(error).__name__
        raise OSError(f"the folder {path.parent} cannot be written to ({said}): choose another out.") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _occupied_error(path, "no file")
    return descriptor


def _occupied_error(path: Path, kind: str) -> OSError:
    return OSError(f"{path} is {kind}, where a run keeps its lock: take it away, or choose another out.")


def _lock(descriptor: int, folder: Path) -> None:
    """Nothing where the system, or that of the files, has no such locks: shards are whole all the same."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ValueError(f"another run is writing into {folder}: wait for it, or give another folder.") from error
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK, errno.EINVAL):  # some network disks
            raise
