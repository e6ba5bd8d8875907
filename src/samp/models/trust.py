"""Which files are data and which are code, recognised by their layout; nothing in them is run.

Tensors are data: a safetensors file, or a state dict that `torch.load(weights_only=True)` reads. A net in a file is
code. TorchScript may read and write files by its operations, torch.export evaluates expressions while it loads, and a
pickle calls whatever it names. Harmless files cannot be told from harmful ones, so each of them needs trust.
"""

from __future__ import annotations

import os
import tarfile
import zipfile
from collections import Counter
from pathlib import Path
from typing import Literal

FileKind = Literal["safetensors", "TorchScript program", "torch.export program", "pickle", "unknown"]
ARCHIVE = b"PK\x03\x04"  # how torch itself recognises an archive
PICKLE = b"\x80"  # torch.save before its archives, and before that a tar of pickles


def file_kind(path: str | os.PathLike[str]) -> FileKind:
    """Return what a file of a net or of weights holds, by its first bytes and the names in its archive.

    Raises ValueError for an archive that is cut short or has two members of one name, OSError if it cannot be read.

    >>> import tempfile, torch
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     torch.save({"bias": torch.ones(1)}, f"{folder}/weights.pth")
    ...     file_kind(f"{folder}/weights.pth")
    'pickle'
    """
    with open(path, "rb") as file:
        start = file.read(9)
    if start.startswith(ARCHIVE):
        return _kind_of_archive(_member_names(path))
    if Path(path).suffix == ".safetensors" or _begins_as_safetensors(start, os.path.getsize(path)):
        return "safetensors"
    return "pickle" if start.startswith(PICKLE) or tarfile.is_tarfile(path) else "unknown"


def require_trust(path: str | os.PathLike[str], holds: str, trust: bool) -> None:
    """Raise ValueError for a file of code unless `trust` is given; every loader calls this.

    >>> require_trust("net.pt2", "a torch.export program", trust=True)
    """
    if not trust:
        raise ValueError(
            f"{path} holds {holds}, which is code and may do on this machine whatever you may: give `trust=True` if "
            "you trust its maker. Weights alone are data: a safetensors file or a state_dict() needs no trust, given "
            "as `weights` of a net that `model` names."
        )


def _member_names(path: str | os.PathLike[str]) -> list[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise ValueError(f"{path} is not a whole file of torch ({error}): get it again.") from error
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:  # torch writes no such archive, and zipfile and torch may read different ones of the two
        raise ValueError(
            f"{path} holds two members of the name {twice[0]!r}, of which only one can be read: "
            "it is damaged or forged, so get it again from its maker."
        )
    return names


def _kind_of_archive(names: list[str]) -> FileKind:
    inside = [name.partition("/")[2] for name in names]
    if "constants.pkl" in inside or any(name.startswith("code/") for name in inside):
        return "TorchScript program"
    if any(name.endswith(".json") or name == "archive_format" for name in inside + names):
        return "torch.export program"
    return "pickle" if "data.pkl" in inside else "unknown"


def _begins_as_safetensors(start: bytes, size: int) -> bool:
    """Return whether the file begins with a length and has room for a JSON object of that length after it."""
    return len(start) == 9 and start[8:] == b"{" and int.from_bytes(start[:8], "little") <= size - 8
