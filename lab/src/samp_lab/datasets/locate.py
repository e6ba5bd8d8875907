"""Find a data set below the folder of all data, or raise an error that says how to get it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

ADVICE = {
    "imagenet": "ask for it at https://image-net.org/download, or give photos in one folder per class",
    "coco": "unpack val2017.zip and annotations_trainval2017.zip of https://cocodataset.org into {folder}/coco",
    "photos": "put photos there",
    "folder": "put photos there",
}


def data_folder(folder: str | os.PathLike[str]) -> Path:
    """Return the folder as a path; raise FileNotFoundError if there is none.

    >>> str(data_folder("."))
    '.'
    """
    if not Path(folder).is_dir():
        raise FileNotFoundError(f"there is no folder {folder} of data: make it, or give another folder.")
    return Path(folder)


def find_folder(folder: Path, under: Sequence[str], files: Sequence[str]) -> Path | None:
    """Return the first of the folders `under` this one with a match for each of these patterns, or None.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as data:
    ...     (Path(data) / "mnist").mkdir()
    ...     (Path(data) / "mnist" / "labels.gz").touch()
    ...     find_folder(Path(data), ("MNIST", "mnist"), ["labels*"]).name
    'mnist'
    """
    places = (folder / name for name in under)
    return next((one for one in places if one.is_dir() and all(any(one.glob(file)) for file in files)), None)


def missing_error(name: str, folder: Path, under: Sequence[str], files: Sequence[str]) -> FileNotFoundError:
    """Return an error that says what is missing, where it was looked for, and how to get it.

    >>> print(missing_error("mnist", Path("data"), ("mnist", "."), ["t10k-images-idx3-ubyte"]))
    data set mnist is not there: looked for t10k-images-idx3-ubyte in data/mnist, data; get it into data with
    `samp bench download mnist`.
    """
    looked = ", ".join(dict.fromkeys(str(folder / one) for one in under))
    download = f"get it into {{folder}} with `samp bench download {name.removesuffix('-train')}`"
    advice = ADVICE.get(name, download).format(folder=folder)
    return FileNotFoundError(f"data set {name} is not there: looked for {' and '.join(files)} in {looked}; {advice}.")
