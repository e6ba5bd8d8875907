"""CUB-200-2011, birds of 200 species: as published, or as photos with a `labels.csv`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from samp_lab.datasets.folders import LABELS, photo_entry, read_labelled_photos, size_of
from samp_lab.datasets.images import Entry, Images
from samp_lab.datasets.locate import find_folder, missing_error

if TYPE_CHECKING:
    from samp.annotations.boxes import Annotation

UNDER = ("CUB_200_2011", "cub200imgs", "cub", ".")
TABLES = ("images.txt", "image_class_labels.txt", "classes.txt")
CREDIT = "CUB-200-2011, C. Wah et al., 2011; non-commercial research and education."


def open_cub(folder: Path) -> Images:
    """Return photos of birds with their species, numbered from 0, and boxes if there is `bounding_boxes.txt`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as data:
    ...     _ = (Path(data) / "images.txt").write_text("1 001.Black_footed_Albatross/one.jpg\\n")
    ...     _ = (Path(data) / "image_class_labels.txt").write_text("1 1\\n")
    ...     _ = (Path(data) / "classes.txt").write_text("1 001.Black_footed_Albatross\\n")
    ...     images = open_cub(Path(data))
    >>> images[0].label, images.classes
    (0, ('Black_footed_Albatross',))
    """
    if home := find_folder(folder, UNDER, TABLES):
        names = _species(home / "classes.txt")
        return Images("cub", _read_published(home, names), names, credit=CREDIT)
    if home := find_folder(folder, UNDER, [LABELS, "*.jpg"]):
        entries, names = read_labelled_photos(home)
        return Images("cub", entries, names, credit=CREDIT)
    raise missing_error("cub", folder, UNDER, [f"{', '.join(TABLES)}, or {LABELS} with photos,"])


def _species(path: Path) -> tuple[str, ...]:
    """Return the names of the species without their numbers."""
    table = _table(path)
    if set(table) != {str(number) for number in range(1, len(table) + 1)}:
        raise ValueError(f"{path} does not number its species from 1 to {len(table)}: get it again.")
    return tuple(table[str(number)].split(".", 1)[-1] for number in range(1, len(table) + 1))


def _read_published(home: Path, classes: tuple[str, ...]) -> list[Entry]:
    labels, boxes = _table(home / TABLES[1]), {}
    if (home / "bounding_boxes.txt").is_file():
        boxes = _table(home / "bounding_boxes.txt")
    entries = []
    for number, name in _table(home / "images.txt").items():
        label = _label(labels.get(number), len(classes), f"{home / TABLES[1]}, photo {number}")
        path = home / "images" / name
        drawn = partial(_box, path, boxes[number], classes[label]) if number in boxes else None
        entries.append(photo_entry(path, home / "images", label, drawn))
    return sorted(entries, key=lambda entry: entry.id)


def _table(path: Path) -> dict[str, str]:
    """Return the lines of a file as a number and its text."""
    rows = [
        line.split(maxsplit=1)
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines()
        if line.strip()
    ]
    if not rows or any(len(row) != 2 or not row[0].isdecimal() for row in rows):
        raise ValueError(f"{path} does not hold lines of a number and a text: get it again.")
    return {number: text.strip() for number, text in rows}


def _label(text: str | None, classes: int, where: str) -> int:
    if text is None or not text.isdecimal() or not 1 <= int(text) <= classes:
        raise ValueError(f"{where}: its species is a number from 1 to {classes}, not {text}.")
    return int(text) - 1


def _box(path: Path, text: str, label: str) -> Annotation:
    from samp.annotations.boxes import Annotation, Box, clip_edges

    size = size_of(path)
    try:
        left, top, wide, tall = map(float, text.split())
        edges = clip_edges((left, top, left + wide, top + tall), size)
    except ValueError as error:
        raise ValueError(
            f"the box of {path} is x, y, width and height, not {text!r}: mend bounding_boxes.txt."
        ) from error
    return Annotation((Box(label, *edges),) if edges else (), size)
