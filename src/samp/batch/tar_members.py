"""List the photos in a tar, each with its class, and warn of what is left out.

For WebDataset, members whose names agree up to the first dot are one sample: `1.jpg`, `1.cls`, `1.seg.png`. Others
number photos after a dot: `photo.001.png`. Both are read: every member with the suffix of a photo is an input, its name
up to the *last* dot is its id, and its class is in the `.cls` member of that name, else in that of its sample.
"""

from __future__ import annotations

import io
import tarfile
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from samp import images
from samp.batch.messages import utf8_text
from samp.batch.sources import Entry

MOST_OF_A_CLASS = 1024  # bytes: a number or a name
MOST_OF_A_HEADER = 2**20  # bytes: the longest names that systems allow have 4 kB
NAMED = 3  # members that a warning lists


class Span(NamedTuple):
    """The position of a member's bytes in a tar."""

    tar: str
    first: int
    size: int


def list_photos(file: Path, name: str) -> list[Entry]:
    """Return an entry for each photo in a tar, in their order; ids begin with `name`.

    Warns of samples without a photo and of samples with several. Raises ValueError if the tar is compressed, damaged or
    truncated, holds a name twice, or a class that is too long.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with tarfile.open(f"{folder}/a.tar", "w") as tar:
    ...         tar.add(images.example_photo(), "cup.001.jpg")
    ...     [entry.id for entry in list_photos(Path(folder) / "a.tar", "a")]
    ['a/cup.001']
    """
    try:
        with file.open("rb", buffering=0) as raw, tarfile.open(fileobj=_BoundedReader(raw), mode="r:") as tar:
            members = _list_members(tar, file)
            _check_end(tar, file)
            classes = {key: _read_class(tar, member, file) for key, member in members.classes.items()}
    except (tarfile.TarError, OSError) as error:
        raise ValueError(
            f"{file} cannot be read as a plain tar ({error}): give whole tars without compression."
        ) from error
    _warn_of_samples(file, members)
    ids = _name_photos(members.photos)
    return [
        Entry(utf8_text(f"{name}/{ids[path]}"), tuple(span), classes.get(_stem(path), classes.get(_sample(path))))
        for path, span in members.photos.items()
    ]


@dataclass(frozen=True)
class _Members:
    """Photos of a tar by their names, classes by their names without suffix, and the names of other members."""

    photos: dict[str, Span] = field(default_factory=dict)
    classes: dict[str, tarfile.TarInfo] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)


def _list_members(tar: tarfile.TarFile, file: Path) -> _Members:
    members, seen = _Members(), dict[str, tarfile.TarInfo]()
    for member in tar:
        path = member.name.removeprefix("./")
        if member.isdir() or PurePosixPath(path).name.startswith("."):  # folders are read without hidden files too
            continue
        data = seen.get(member.linkname) if member.islnk() else member  # a hard link: the same file under another name
        if data is None or not data.isfile():
            members.others.append(path)
            continue
        if member.name in seen:
            raise ValueError(f"{file} holds {utf8_text(member.name)} twice: give each photo a name of its own.")
        seen[member.name] = data
        if path.lower().endswith(".cls"):
            members.classes[_stem(path)] = data
        elif _is_photo(path):
            members.photos[path] = Span(str(file), data.offset_data, data.size)
        else:
            members.others.append(path)
    return members


def _is_photo(path: str) -> bool:
    return PurePosixPath(path).suffix.lower() in images.SUFFIXES


def _stem(path: str) -> str:
    """Return the name up to its last dot."""
    return path.removesuffix(PurePosixPath(path).suffix)


def _sample(path: str) -> str:
    """Return the name of the WebDataset sample: the path up to the first dot of the file's name."""
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}{name.partition('.')[0]}"


def _name_photos(paths: Iterable[str]) -> dict[str, str]:
    """Return the id of each photo: its name without suffix, or with it if another photo would have the same id.

    >>> _name_photos(["1.png", "2.png", "2.jpg"])
    {'1.png': '1', '2.png': '2.png', '2.jpg': '2.jpg'}
    """
    stems = {path: _stem(path) for path in paths}
    taken = Counter(stems.values())
    return {path: stem if taken[stem] == 1 and stem not in stems else path for path, stem in stems.items()}


def _warn_of_samples(file: Path, members: _Members) -> None:
    """Warn of samples with several photos, all of which are inputs, and of samples without one, which are left out."""
    samples = Counter(map(_sample, members.photos))
    several = [path for path in members.photos if samples[_sample(path)] > 1]
    if several:
        warnings.warn(
            f"{file} holds samples of several photos ({_join_names(several)}): each photo is an input of its own.",
            stacklevel=2,
        )
    # A photo among the others is a link to a file that is not in the tar.
    left = [path for path in members.others if _sample(path) not in samples or _is_photo(path)]
    left += [f"{stem}.cls" for stem in members.classes if _sample(stem) not in samples]
    if left:
        count = len(set(map(_sample, left)))
        warnings.warn(
            f"{file} holds {count} sample{'s' * (count > 1)} without a photo that can be read ({_join_names(left)}): "
            f"{'they are' if count > 1 else 'it is'} left out.",
            stacklevel=2,
        )


def _join_names(paths: Sequence[str]) -> str:
    return ", ".join(map(utf8_text, paths[:NAMED])) + (", …" if len(paths) > NAMED else "")


def _read_class(tar: tarfile.TarFile, member: tarfile.TarInfo, file: Path) -> str:
    if member.size > MOST_OF_A_CLASS:
        raise ValueError(
            f"{utf8_text(member.name)} in {file} has {member.size:,} bytes: a class is a number or a name, of "
            f"{MOST_OF_A_CLASS:,} bytes at most."
        )
    data = tar.extractfile(member)
    return data.read().decode("utf-8", "replace").strip() if data else ""


def _check_end(tar: tarfile.TarFile, file: Path) -> None:
    """Raise ValueError if data follow the end: `tarfile` also stops silently at a damaged header."""
    with file.open("rb") as raw:
        raw.seek(tar.offset)
        while block := raw.read(2**20):
            if block.count(0) != len(block):
                raise ValueError(
                    f"{file} goes on after its end at byte {tar.offset}: it is damaged, or several in one; give whole "
                    "tars, each in a file of its own."
                )


class _BoundedReader(io.BufferedReader):
    """A file that refuses to read more than a header's size at once: a forged header may claim gigabytes for a name."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or not 0 <= size <= MOST_OF_A_HEADER:
            raise tarfile.ReadError(f"a header of {size:,} bytes" if size else "a header without end")
        return super().read(size)
