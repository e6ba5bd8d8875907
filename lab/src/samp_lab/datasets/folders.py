"""Photos in folders: flat, one folder per class, or with a `labels.csv`."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

from samp.images import UnreadableError, is_photo, read
from samp_lab.datasets.images import Entry, Images
from samp_lab.datasets.label_files import read_labels
from samp_lab.datasets.locate import missing_error

if TYPE_CHECKING:
    from samp.annotations.boxes import Annotation, Size

LABELS = "labels.csv"
ORIENTATION, LYING = 0x0112, (5, 6, 7, 8)  # EXIF's tag, and its values that swap height and width


def open_folder(folder: Path) -> Images:
    """Return the photos of any folder: labelled by its `labels.csv` or by one folder per class, else without labels.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as data:
    ...     for name in ("cat", "dog"):
    ...         (Path(data) / name).mkdir()
    ...         Image.new("RGB", (4, 4)).save(Path(data) / name / "1.png")
    ...     images = open_folder(Path(data))
    >>> [entry.id for entry in images], images.labels, images.classes
    (['cat/1.png', 'dog/1.png'], (0, 1), ('cat', 'dog'))
    """
    credit = "photos of the user's"
    if (folder / LABELS).is_file():
        entries, classes = read_labelled_photos(folder)
        return Images("folder", entries, classes, credit=credit)
    here, classes = photos_in(folder), classes_in(folder)
    if here and not classes:
        return Images("folder", [photo_entry(path, folder) for path in here], credit=credit)
    if not classes:
        raise missing_error("folder", folder, ["."], ["photos, folders of photos, or labels.csv"])
    return Images(
        "folder",
        read_class_folders(folder, {name: index for index, name in enumerate(classes)}),
        classes,
        False,
        credit,
    )


def photo_entry(
    path: Path, root: Path, label: int | None = None, boxes: Callable[[], Annotation] | None = None
) -> Entry:
    """Return the entry of a photo, named by its path below `root`, or in full if it is elsewhere.

    >>> photo_entry(Path("data/cats/1.png"), Path("data"), 3)
    Entry(id='cats/1.png', label=3)
    """
    place = path.relative_to(root) if path.is_relative_to(root) else path
    return Entry(place.as_posix(), label, partial(read, path), boxes)


def photos_in(folder: Path) -> list[Path]:
    """Return the photos directly in a folder, in the order of their names; none is opened.

    >>> from samp.images import example_photo
    >>> [path.name for path in photos_in(example_photo().parent)]
    ['chelsea.jpg', 'coffee.jpg']
    """
    if not folder.is_dir():
        return []
    with os.scandir(folder) as inside:
        return [folder / name for name in sorted(one.name for one in inside if _is_photo(one))]


def classes_in(folder: Path) -> tuple[str, ...]:
    """Return the names of the folders in this one that have photos.

    >>> from samp.images import example_photo
    >>> "data" in classes_in(example_photo().parent.parent), classes_in(example_photo().parent)
    (True, ())
    """
    inside = sorted(one.name for one in folder.iterdir() if one.is_dir() and not one.name.startswith("."))
    return tuple(name for name in inside if _has_photos(folder / name))


def read_class_folders(folder: Path, indices: dict[str, int]) -> list[Entry]:
    """Return the photos of one folder per class; raise ValueError if there are photos outside of them.

    >>> read_class_folders(Path("nowhere"), {"cat": 0})
    []
    """
    if stray := photos_in(folder):
        raise ValueError(
            f"{stray[0]} has no label, as it lies in no folder of a class ({len(stray)} such): move it into one."
        )
    found = ((path, index) for name, index in indices.items() for path in photos_in(folder / name))
    return sorted((photo_entry(path, folder, index) for path, index in found), key=lambda entry: entry.id)


def read_labelled_photos(folder: Path) -> tuple[list[Entry], tuple[str, ...]]:
    """Return the photos in `labels.csv` and the names of their classes; raise if the photos and the table disagree.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as data:
    ...     Image.new("RGB", (4, 4)).save(Path(data) / "1.png")
    ...     _ = (Path(data) / "labels.csv").write_text("file,index,name\\n1.png,0,cat\\n")
    ...     read_labelled_photos(Path(data))
    ([Entry(id='1.png', label=0)], ('cat',))
    """
    labels = read_labels(folder / LABELS)
    here = {path.name for path in photos_in(folder)}
    if gone := [name for name in labels.indices if name not in here and not (folder / name).is_file()]:
        raise FileNotFoundError(
            f"{folder / LABELS} names {gone[0]}, which is not there ({len(gone)} such): add it, or take out its line."
        )
    if stray := sorted(here - labels.indices.keys()):
        raise ValueError(
            f"{folder / stray[0]} has no label in {LABELS} ({len(stray)} such): add a line for it, or move it away."
        )
    found = (photo_entry(folder / name, folder, index) for name, index in labels.indices.items())
    return sorted(found, key=lambda entry: entry.id), labels.classes


def _is_photo(found: os.DirEntry[str]) -> bool:
    return is_photo(found.name) and found.is_file()


def _has_photos(folder: Path) -> bool:
    with os.scandir(folder) as inside:
        return any(map(_is_photo, inside))


def size_of(path: Path) -> Size:
    """Return height and width of a photo as `samp.images.read` turns it, reading only the header of its file.

    >>> from samp.images import example_photo
    >>> size_of(example_photo())
    (320, 480)
    """
    try:
        with Image.open(path) as photo:
            lying = photo.getexif().get(ORIENTATION) in LYING
            return (photo.width, photo.height) if lying else (photo.height, photo.width)
    except Exception as error:  # Pillow raises almost anything for broken files
        said = " ".join(str(error).split()) or type(error).__name__
        raise UnreadableError(f"{path} cannot be read as an image ({said}): give a whole JPEG or PNG file.") from error
