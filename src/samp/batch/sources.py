"""What a data set is: inputs with stable ids, each read when it is needed, on whatever worker needs it."""

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
from samp.batch.tables import read_table
from samp.image_formats import describe_unsupported

LISTS = (".csv", ".tsv", ".parquet")
IMAGES = ("image", "img", "pixel_values", "x")  # names that data sets give their inputs, and their classes
CLASSES = ("target", "label", "labels", "y")


@dataclass(frozen=True)
class Entry:
    """One input: its id, where its source finds it, and the class to explain if the source says one."""

    id: str
    place: Any
    target: str | None = None


class Source(Protocol):
    """A data set; it pickles to a worker, which reads the entries it is given.

    Where `by_threads` is true, several threads may read at once; a user's own data set need not bear that.
    """

    by_threads: ClassVar[bool]

    def entries(self) -> list[Entry]:
        """All inputs, in an order that is the same every time."""

    def read(self, entry: Entry) -> Any:
        """A photo, or the net's input itself as a tensor."""

    def describe(self) -> dict[str, Any]:
        """What it is, for the manifest."""


@dataclass(frozen=True)
class Folder:
    """Every photo in a folder and the folders in it, linked ones too; the id is the path from there.

    >>> [entry.id for entry in Folder(images.example_photo().parent).entries()][:2]
    ['chelsea.jpg', 'coffee.jpg']
    """

    by_threads: ClassVar[bool] = True

    root: Path

    def entries(self) -> list[Entry]:
        found = sorted(filter(images.is_photo, self._files()), key=lambda path: path.as_posix())
        return [Entry(legible(path.as_posix()), str(self.root / path)) for path in found]

    def read(self, entry: Entry) -> Image.Image:
        return images.open_photo(entry.place)

    def describe(self) -> dict[str, Any]:
        return {"kind": "folder", "place": str(self.root)}

    def warn_of_left_out(self) -> None:
        """Warn of pictures in it that cannot be read here, such as HEIC without pillow-heif."""
        words = describe_unsupported(self._files())
        if words:
            warnings.warn(f"of the folder {legible(str(self.root))} {words}.", stacklevel=2)

    def _files(self) -> Iterator[Path]:
        for folder, inside, names in os.walk(self.root, onerror=_raise_unreadable, followlinks=True):
            inside[:] = [name for name in inside if not name.startswith(".") and not _links_back(folder, name)]
            yield from ((Path(folder) / name).relative_to(self.root) for name in names)


@dataclass(frozen=True)
class PathList:
    """A CSV or Parquet list: a column `path` (from the list's folder), and if need be `id` and `target`.

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
        said = row["path"] or ""
        path = os.fsdecode(said) if isinstance(said, bytes) else str(said)
        if not path:
            raise ValueError(f"row {number} of {self.file} has no path: give it one, or take the row out.")
        return Entry(_cell_text(row.get("id")) or path, str(self.file.parent / path), _cell_text(row.get("target")))


@dataclass(frozen=True, eq=False)
class Items:
    """Any map-style data set: an item is an image or a tensor, alone, with its class behind it, or by name.

    Ids are `ids`, else the numbers of the items. Items are opened by a worker; whatever that raises is a failure of
    the one input.

    >>> items = Items([(Image.new("RGB", (2, 2)), 7)], ids=("red",))
    >>> items.entries()[0].id, items.read(items.entries()[0])[1]
    ('red', '7')
    """

    by_threads: ClassVar[bool] = False

    dataset: Any
    ids: Sequence[str] = ()
    name: str = ""
    labelled: bool = field(default=True)
    """Whether the class in an item is the one to explain; False explains the predicted one."""

    def entries(self) -> list[Entry]:
        count = len(self.dataset)
        if self.ids and len(self.ids) != count:
            raise ValueError(f"there are {len(self.ids)} ids for {count} items: give one for each.")
        return [Entry(legible(str(self.ids[i])) if self.ids else str(i), i) for i in range(count)]

    def read(self, entry: Entry) -> Any:
        image, target = split_item(self.dataset[entry.place])
        return (image, target) if self.labelled else (image, None)

    def describe(self) -> dict[str, Any]:
        return {"kind": "items", "place": self.name or type(self.dataset).__name__}


def split_item(item: Any) -> tuple[Any, str | None]:
    """The image of an item of a data set, and its class if it has one.

    >>> split_item({"image": "pixels", "label": 3}), split_item(("pixels", 3)), split_item("pixels")
    (('pixels', '3'), ('pixels', '3'), ('pixels', None))
    """
    if isinstance(item, dict):
        image = next((item[name] for name in IMAGES if name in item), None)
        if image is None:
            raise ValueError(
                f"an item has {', '.join(map(str, item))}: its image is called one of {', '.join(IMAGES)}."
            )
        return image, _cell_text(next((item[name] for name in CLASSES if name in item), None))
    if isinstance(item, tuple | list):
        return item[0], _cell_text(item[1]) if len(item) > 1 else None
    return item, None


def source_of(data: Any) -> Source:
    """The source that this is: a path to a folder, list or tars, a Hugging Face data set, or any map-style data set.

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
    """These files, where links lead to one and the same only once: by its own name if that is among them."""
    found: dict[str, Path] = {}
    for file in sorted(files, key=lambda file: (file.is_symlink(), str(file))):
        found.setdefault(os.path.realpath(file), Path(os.path.abspath(file)))
    return tuple(sorted(found.values(), key=str))


def list_entries(source: Source) -> list[Entry]:
    """The source's entries, of which there is one at least, and none twice."""
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


def legible(name: str) -> str:
    r"""Text that any file can hold: bytes of a file's name that are no letters are written out.

    >>> legible("caf\udce9.jpg")
    'caf\\xe9.jpg'
    """
    try:
        return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # half a pair, which no file's name has
        return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _raise_unreadable(error: OSError) -> None:
    """What is in a folder that may not be looked into would be left out without a word."""
    place, said = legible(str(error.filename)), error.strerror
    raise OSError(f"the folder {place} cannot be read ({said}): make it readable, or give a list of photos.") from error


def _links_back(folder: str, name: str) -> bool:
    """Whether this folder is a link back to one that leads here, in which a walk would go round for ever."""
    place = os.path.join(folder, name)
    if not os.path.islink(place):
        return False
    target = os.path.realpath(place)
    return any(os.path.realpath(above) == target for above in (Path(folder), *Path(folder).parents))


def _cell_text(value: Any) -> str | None:
    """A cell as a word; an empty one, or no number, is none."""
    words = "" if value is None else str(value.item() if hasattr(value, "item") else value).strip()
    whole = words.removesuffix(".0")
    if whole.isdecimal():  # a column of numbers with gaps is read as floats
        return whole
    return None if words in ("", "nan", "None") else words
