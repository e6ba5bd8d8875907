"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from safetensors import SafetensorError


class UnwritableError(OSError):
    """A file that could not be written; `full` if for want of room, so that no other will fit there either.

    >>> UnwritableError("why.png cannot be written", full=True).full
    True
    """

    def __init__(self, message: str, *, full: bool = False) -> None:
        super().__init__(message)
        self.full = full


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A file to write to, which takes the place of `path` when all went well and else leaves nothing behind.

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
    path = path.resolve()  # what a link leads to is written, and the link stays
    unfinished = path.with_name(f".{path.name[:40]}.{os.getpid()}.part")  # 40 letters are 160 bytes at most, of 255
    try:
        unfinished.touch()
        mode = unfinished.stat().st_mode  # as the user's files have it; safetensors would let nobody else read its own
        yield unfinished
        with suppress(OSError):  # some disks know no modes
            unfinished.chmod(mode)
        os.replace(unfinished, path)
    except (OSError, SafetensorError) as error:  # the latter is what safetensors makes of a full disk
        said = getattr(error, "strerror", None) or str(error)
        raise UnwritableError(
            f"{path} cannot be written ({said}): choose another place, or make room for it.",
            full=_is_disk_full(error),
        ) from error
    finally:
        with suppress(OSError):  # the folder itself may be gone, and with it the file
            unfinished.unlink(missing_ok=True)


def _is_disk_full(error: Exception) -> bool:
    """Whether the disk is full; safetensors keeps the system's number in its message alone."""
    codes = (errno.ENOSPC, errno.EDQUOT)
    return getattr(error, "errno", None) in codes or any(f"os error {code})" in str(error) for code in codes)
