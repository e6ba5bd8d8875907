"""Data sets: inputs with stable ids, each of which is read when a worker needs it."""

from __future__ import annotations

import glob
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

from PIL import Image

from samp import images
from samp.batch.messages import utf8_text
from samp.batch.tables import read_table
from samp.image_formats import describe_unsupported

LISTS = (".csv", ".tsv", ".parquet")
IMAGES = ("image", "img", "pixel_values", "x")  # keys of the image in items that are dicts
CLASSES = ("target", "label", "labels", "y")  # and of the class


@dataclass(frozen=True)
class Entry:
    """One input: its id, where its source finds it, and the class to explain if the source gives one."""

    id: str
    place: Any
    target: str | None = None


class Source(Protocol):
    """A data set. It is pickled and sent to workers, each of which reads the entries of its job.

    `by_threads` tells whether several threads may read at once, which a data set of the caller need not support.
    """

    by_threads: ClassVar[bool]

    def entries(self) -> list[Entry]:
        """Return all inputs, in an order that is the same every time."""

    def read(self, entry: Entry) -> Any:
        """Return a photo, or the net's input itself as a tensor; or a tuple of that and a class."""

    def describe(self) -> dict[str, Any]:
        """Return the kind and place of the data set for the manifest."""


@dataclass(frozen=True)
class Folder:
    """Every photo in a folder and its subfolders, also linked ones; the id is the path relative to the folder.

    >>> [entry.id for entry in Folder(images.example_photo().parent).entries()][:2]
    ['chelsea.jpg', 'coffee.jpg']
    """

    by_threads: ClassVar[bool] = True

    root: Path

    def entries(self) -> list[Entry]:
        paths = sorted(filter(images.is_photo, self._files()), key=lambda path: path.as_posix())
        return [Entry(utf8_text(path.as_posix()), str(self.root / path)) for path in paths]

    def read(self, entry: Entry) -> Image.Image:
        return images.open_photo(entry.place)

    def describe(self) -> dict[str, Any]:
        return {"kind": "folder", "place": str(self.root)}

    def warn_of_left_out(self) -> None:
        """Warn of image files that cannot be read here, such as HEIC without pillow-heif."""
        words = describe_unsupported(self._files())
        if words:
            warnings.warn(f"of the folder {utf8_text(str(self.root))} {words}.", stacklevel=2)

    def _files(self) -> Iterator[Path]:
        for folder, inside, names in os.walk(self.root, onerror=_raise_unreadable, followlinks=True):
            inside[:] = [name for name in inside if not name.startswith(".") and not _links_back(folder, name)]
            yield from ((Path(folder) / name).relative_to(self.root) for name in names)


@dataclass(frozen=True)
class PathList:
    """A CSV or Parquet list: a column `path` (relative to the list's folder), and optionally `id` and `target`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "list.csv").write_text("path,target\\ncats/1.jpg,tabby\\n")
    ...     entry = PathList(Path(folder) / "list.csv").entries()[0]
    >>> entry.id, entry.target
    ('cats/1.jpg', 'tabby')
    """

    by_threads: ClassVar[bool] = True

    file: Path

    def entries(self) -> list[Entry]:
        rows = read_table(self.file)
        if rows and "path" not in rows[0]:
            raise ValueError(
                f"{self.file} has the columns {', '.join(map(repr, rows[0]))}: a list of photos has a column 'path', "
                "and if need be id and target."
            )
        return [self._entry(number, row) for number, row in enumerate(rows, 1)]

    def read(self, entry: Entry) -> Image.Image:
        return images.open_photo(entry.place)

    def describe(self) -> dict[str, Any]:
        return {"kind": "list", "place": str(self.file)}

    def _entry(self, number: int, row: dict[str, Any]) -> Entry:
        cell = row["path"] or ""
        path = os.fsdecode(cell) if isinstance(cell, bytes) else str(cell)
        if not path:
            raise ValueError(f"row {number} of {self.file} has no path: give it one, or remove the row.")
        return Entry(cell_text(row.get("id")) or path, str(self.file.parent / path), cell_text(row.get("target")))


@dataclass(frozen=True, eq=False)
class Items:
    """Any map-style data set: an item is an image or a tensor, alone, in a tuple with its class, or in a dict.

    Ids are `ids`, else the numbers of the items. Workers read the items; an error costs no other input.

    >>> items = Items([(Image.new("RGB", (2, 2)), 7)], ids=("red",))
    >>> items.entries()[0].id, items.read(items.entries()[0])[1]
    ('red', '7')
    """

    by_threads: ClassVar[bool] = False

    dataset: Any
    ids: Sequence[str] = ()
    name: str = ""
    labelled: bool = field(default=True)
    """Whether the class in an item is explained; False explains the predicted one."""

    def entries(self) -> list[Entry]:
        count = len(self.dataset)
        if self.ids and len(self.ids) != count:
            raise ValueError(f"there are {len(self.ids)} ids for {count} items: give one for each.")
        return [Entry(utf8_text(str(self.ids[i])) if self.ids else str(i), i) for i in range(count)]

    def read(self, entry: Entry) -> Any:
        image, target = split_item(self.dataset[entry.place])
        return (image, target) if self.labelled else (image, None)

    def describe(self) -> dict[str, Any]:
        return {"kind": "items", "place": self.name or type(self.dataset).__name__}


def split_item(item: Any) -> tuple[Any, str | None]:
    """Return the image of an item of a data set, and its class if it has one; raises ValueError if it has no image.

    >>> split_item({"image": "pixels", "label": 3}), split_item(("pixels", 3)), split_item("pixels")
    (('pixels', '3'), ('pixels', '3'), ('pixels', None))
    """
    if isinstance(item, dict):
        image = next((item[name] for name in IMAGES if name in item), None)
        if image is None:
            raise ValueError(
                f"an item has {', '.join(map(str, item))}: its image is called one of {', '.join(IMAGES)}."
            )
        return image, cell_text(next((item[name] for name in CLASSES if name in item), None))
    if isinstance(item, tuple | list):
        return item[0], cell_text(item[1]) if len(item) > 1 else None
    return item, None


def source_of(data: Any) -> Source:
    """Return the source for a path to a folder, list or tars, a Hugging Face data set, or any map-style data set.

    >>> source_of([1, 2]).describe()
    {'kind': 'items', 'place': 'list'}
    """
    if isinstance(data, str | os.PathLike):
        return _source_on_disk(Path(data).expanduser())
    if hasattr(data, "entries") and hasattr(data, "describe"):
        source: Source = data
        return source
    if hasattr(data, "__getitem__") and hasattr(data, "__len__"):
        return Items(data)
    raise TypeError(
        f"a data set is a path, or has a length and numbered items, not {type(data).__name__}: give a folder, a list, "
        "tars or a map-style data set."
    )


def _source_on_disk(path: Path) -> Source:
    from samp.batch.tars import Tars

    if path.is_dir():
        return _source_in_folder(path.resolve())
    if path.is_file() and path.suffix.lower() in LISTS:
        return PathList(path.resolve())
    files = [path] if path.is_file() else [Path(match) for match in sorted(glob.glob(str(path), recursive=True))]
    if files and all(file.name.endswith(".tar") for file in files):
        return Tars(_drop_duplicates(files))
    if not files:
        raise FileNotFoundError(f"{path} is not there: give a folder, a list (.csv, .parquet) or tars.")
    raise ValueError(
        f"{files[0]} is no data set: give a folder of photos, a list (.csv, .parquet) or plain .tar files."
    )


def _source_in_folder(path: Path) -> Source:
    from samp.batch.tars import Tars

    if (path / "dataset_dict.json").is_file():
        raise ValueError(f"{path} holds several splits: give the folder of one, such as {path / 'train'}.")
    if (path / "dataset_info.json").is_file() and (path / "state.json").is_file():
        from samp.batch.hugging_face import SavedDataset

        return SavedDataset(path)
    tars = sorted(path.glob("*.tar"))
    folder = Folder(path)
    return Tars(_drop_duplicates(tars)) if tars and not any(map(images.is_photo, folder._files())) else folder


def _drop_duplicates(files: Sequence[Path]) -> tuple[Path, ...]:
    """Return these files, each once if several links lead to it: by its own name if that is among them."""
    unique: dict[str, Path] = {}
    for file in sorted(files, key=lambda file: (file.is_symlink(), str(file))):
        unique.setdefault(os.path.realpath(file), Path(os.path.abspath(file)))
    return tuple(sorted(unique.values(), key=str))


def list_entries(source: Source) -> list[Entry]:
    """Return the source's entries; raises ValueError if there are none, or if two have the same id."""
    entries = source.entries()
    if isinstance(source, Folder):
        source.warn_of_left_out()
    if not entries:
        raise ValueError(f"there is nothing to explain in {source.describe()['place']}: give another data set.")
    seen: set[str] = set()
    for entry in entries:
        if entry.id in seen:
            raise ValueError(f"the id {entry.id!r} comes twice: give each input an id of its own (a column id).")
        seen.add(entry.id)
    return entries


def _raise_unreadable(error: OSError) -> None:
    """Raise an error for a folder that cannot be read: `os.walk` would leave out its photos silently."""
    place, why = utf8_text(str(error.filename)), error.strerror
    raise OSError(f"the folder {place} cannot be read ({why}): make it readable, or give a list of photos.") from error


def _links_back(folder: str, name: str) -> bool:
    """Whether this folder is a link to one of its parents, in which `os.walk` would loop for ever."""
    place = os.path.join(folder, name)
    if not os.path.islink(place):
        return False
    target = os.path.realpath(place)
    return any(os.path.realpath(above) == target for above in (Path(folder), *Path(folder).parents))


def cell_text(value: Any) -> str | None:
    """Return the text of a cell, or None if it is empty or NaN."""
    words = "" if value is None else str(value.item() if hasattr(value, "item") else value).strip()
    whole = words.removesuffix(".0")
    if whole.isdecimal():  # a column of numbers with gaps is read as floats
        return whole
    return None if words in ("", "nan", "None") else words
