"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from safetensors import SafetensorError


class UnwritableError(OSError):
    """A file could not be written; `full` if the disk is full, so that other files will fail there too.

    >>> UnwritableError("why.png cannot be written", full=True).full
    True
    """

    def __init__(self, message: str, *, full: bool = False) -> None:
        super().__init__(message)
        self.full = full


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to, which replaces `path` on success and is removed on failure.

    Raises FileNotFoundError if the folder does not exist, and UnwritableError if the file cannot be written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder) / "note.txt") as unfinished:
    ...         _ = unfinished.write_text("done")
    ...     [path.name for path in Path(folder).iterdir()]
    ['note.txt']
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} to save in: make it first.")
    if os.path.exists(path) and not path.is_file():  # a device or a pipe would be replaced by a file
        raise UnwritableError(f"{path} cannot be written (it is there and is no file): choose another place.")
    path = path.resolve()  # write the target of a link and keep the link
    unfinished = path.with_name(f".{path.name[:40]}.{os.getpid()}.part")  # 40 letters are 160 bytes at most, of 255
    try:
        unfinished.touch()
        mode = unfinished.stat().st_mode  # the user's default; safetensors makes files that only the owner can read
        yield unfinished
        with suppress(OSError):  # some file systems have no modes
            unfinished.chmod(mode)
        os.replace(unfinished, path)
    except (OSError, SafetensorError) as error:  # safetensors raises its own for a full disk
        reason = getattr(error, "strerror", None) or str(error)
        raise UnwritableError(
            f"{path} cannot be written ({reason}): choose another place, or make room for it.",
            full=_is_disk_full(error),
        ) from error
    finally:
        with suppress(OSError):  # the whole folder may have been removed
            unfinished.unlink(missing_ok=True)


def _is_disk_full(error: Exception) -> bool:
    """Return whether the disk is full; safetensors has the error number only in its message."""
    codes = (errno.ENOSPC, errno.EDQUOT)
    return getattr(error, "errno", None) in codes or any(f"os error {code})" in str(error) for code in codes)
