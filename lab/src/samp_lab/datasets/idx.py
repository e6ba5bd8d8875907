"""MNIST, and any other data in idx files, compressed or not."""

from __future__ import annotations

import gzip
import hashlib
import math
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from samp_lab.datasets.bulk import ArrayDataset
from samp_lab.datasets.locate import find_folder, missing_error

UNDER = ("mnist", "MNIST/raw", "MNIST", ".")
STEMS = {"test": "t10k", "train": "train"}
MOST = 2**30  # bytes; a damaged header may claim any number
CREDIT = "MNIST, Y. LeCun, C. Cortes and C. Burges; commonly given as CC BY-SA 3.0."

# SHA-256 of the unpacked files as published: packing them again changes the .gz alone.
PUBLISHED: Mapping[str, str] = {
    "t10k-images": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    "train-images": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
}


def read_mnist(folder: Path, check: bool = True, *, split: str = "test") -> ArrayDataset:
    """Return the test or training digits; `check=False` accepts other data in the same files, such as Fashion-MNIST.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as data:
    ...     _ = (Path(data) / "t10k-images-idx3-ubyte").write_bytes(bytes([0, 0, 8, 3, *[0, 0, 0, 1] * 3, 255]))
    ...     _ = (Path(data) / "t10k-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 1, 7]))
    ...     whole = read_mnist(Path(data), check=False)
    >>> whole.pixels.tolist(), whole.labels.tolist()
    ([[[255]]], [7])
    """
    name = "mnist" if split == "test" else f"mnist-{split}"
    stem = STEMS[split]
    wanted = [f"{stem}-images?idx3-ubyte*", f"{stem}-labels?idx1-ubyte*"]
    home = find_folder(folder, UNDER, wanted)
    if home is None:
        raise missing_error(name, folder, UNDER, wanted)
    pixels_at, labels_at = (min(home.glob(pattern)) for pattern in wanted)  # the uncompressed one, if there are both
    pixels = read_idx(pixels_at, 3, PUBLISHED[f"{stem}-images"] if check else None)
    labels = read_idx(labels_at, 1, PUBLISHED[f"{stem}-labels"] if check else None)
    classes = tuple(map(str, range(max(10, int(labels.max(initial=0)) + 1))))
    credit = CREDIT if check else "data of the user's in MNIST's files"
    return ArrayDataset(name, split, pixels, labels.astype(np.int64), classes, check, credit)


def read_idx(path: str | os.PathLike[str], dimensions: int, sha256: str | None = None) -> NDArray[np.uint8]:
    """Return the bytes of an idx file with this many dimensions; check the SHA-256 of its unpacked content if given.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "labels"
    ...     _ = file.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 3]))
    ...     read_idx(file, 1)
    array([7, 3], dtype=uint8)
    """
    with _open(Path(path)) as file:
        try:
            header, shape = _header(file, dimensions, path)
            data = file.read(math.prod(shape) + 1)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{path} cannot be unpacked ({error}): get it again.") from error
    if len(data) != math.prod(shape):
        has = f"{len(data)} bytes" if len(data) < math.prod(shape) else "more"
        raise ValueError(f"{path} has {has} after a header of {shape}, {math.prod(shape)} bytes: get it again.")
    if sha256 and hashlib.sha256(header + data).hexdigest() != sha256:
        raise ValueError(f"{path} is not the published file, by its SHA-256: get it again, or read it unchecked.")
    return np.frombuffer(bytearray(data), np.uint8).reshape(shape)


def _open(path: Path) -> BinaryIO:
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return cast(BinaryIO, gzip.open(path)) if packed else path.open("rb")


def _header(file: BinaryIO, dimensions: int, path: str | os.PathLike[str]) -> tuple[bytes, tuple[int, ...]]:
    header = file.read(4 + 4 * dimensions)
    magic = bytes([0, 0, 8, dimensions])
    if header[:4] != magic:
        raise ValueError(
            f"{path} begins with {header[:4].hex() or 'nothing'}, not with {magic.hex()} as an idx file of bytes in "
            f"{dimensions} dimensions: give the file as published."
        )
    if len(header) < 4 + 4 * dimensions:
        raise ValueError(f"{path} ends within its header of {4 + 4 * dimensions} bytes: get it again.")
    shape = tuple(int.from_bytes(header[at : at + 4], "big") for at in range(4, len(header), 4))
    if math.prod(shape) > MOST:
        raise ValueError(f"{path} has a header of {shape}, which is more than {MOST:,} bytes: it is damaged.")
    return header, shape
