"""The file of a result: safetensors, whose header holds the settings as JSON and a checksum over both.

Reading a file runs no code, and a damaged one is refused.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save, save_file
from torch import Tensor

from samp.atomic import atomic_write
from samp.hashing import hash_tensors

FORMAT = "samp attribution 2"
WITHOUT_CHECKSUM = "samp attribution 1"  # written up to version 0.1, and still read


def write_file(path: Path, tensors: Mapping[str, Tensor], header: Mapping[str, Any]) -> Path:
    """Write tensors and settings as one file, whole or not at all, and return its path."""
    contents = _with_checksum(tensors, header)
    with atomic_write(path) as unfinished:
        save_file(contents[0], unfinished, contents[1])
    return path


def file_bytes(tensors: Mapping[str, Tensor], header: Mapping[str, Any]) -> bytes:
    """Return the content of the file that `write_file` writes."""
    content: bytes = save(*_with_checksum(tensors, header))
    return content


def read_file(path: str | os.PathLike[str]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return tensors (on the CPU) and settings of a file.

    Raises FileNotFoundError if there is no file, and ValueError if it is of another format, truncated, or does not
    match its checksum.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path} is not a file.")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # the file is no dict
    except SafetensorError as error:
        raise not_whole(path, str(error)) from error
    file_format = metadata.get("format", "a safetensors file of another program")
    if file_format not in (FORMAT, WITHOUT_CHECKSUM):
        raise ValueError(f"{path} holds {file_format!r}, not {FORMAT!r}.")
    header_json = metadata.get("samp", "")
    if file_format == FORMAT and metadata.get("sha256") != _checksum(tensors, header_json):
        raise ValueError(f"{path} is damaged, its content is not what its checksum is of: save it or get it again.")
    try:
        return tensors, json.loads(header_json)
    except (ValueError, RecursionError) as error:
        raise not_whole(path, f"{type(error).__name__}: {error}") from error


def not_whole(path: str | os.PathLike[str], reason: str) -> ValueError:
    """Return the error of a file that lacks something."""
    return ValueError(f"{path} is not a whole .samp file ({reason}): save it again.")


def _with_checksum(
    tensors: Mapping[str, Tensor], header: Mapping[str, Any]
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return copies of the tensors on the CPU, and the file's metadata: settings and checksum."""
    header_json = json.dumps(header, default=str)
    # copies: safetensors refuses tensors that share memory, as values and group_values of elements do
    copies = {name: t.detach().cpu().clone(memory_format=torch.contiguous_format) for name, t in tensors.items()}
    return copies, {"format": FORMAT, "samp": header_json, "sha256": _checksum(copies, header_json)}


def _checksum(tensors: Mapping[str, Tensor], header_json: str) -> str:
    """Return the SHA-256 of the header's JSON and of the tensors on the CPU with their names, dtypes and shapes."""
    return hash_tensors(tensors, start=f"{FORMAT}\n{header_json}\n")
