"""Join labels to the inputs of a data set: the true class of each, as a number of the model's outputs.

a file (.csv, .tsv, .parquet)   a row for each input: `file`, and `label` by name or number
"folder-names"                  the folder that a photo lies in, as in torchvision's ImageFolder
"data-set"                      the class that the data set itself gives each input
in Python                       a mapping from ids, or one label for each input in their order
"""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from samp.batch.messages import utf8_text
from samp.batch.sources import LISTS, Entry, Folder, PathList, Source, cell_text
from samp.batch.tables import read_table
from samp.models import Classifier

FOLDER_NAMES, DATA_SET = "folder-names", "data-set"
FILE_COLUMNS = ("file", "path", "id", "image", "filename")
LABEL_COLUMNS = ("label", "target", "class")
NAMED = 3  # examples in a message


@dataclass(frozen=True)
class JoinedLabels:
    """The true class of inputs by their ids; inputs without a label are not in it."""

    classes: Mapping[str, int]
    source: str


def join_labels(
    labels: Any, source: Source, entries: Sequence[Entry], classifier: Classifier, outputs: int
) -> JoinedLabels:
    """Return the true class of each input that has a label; `outputs` is how many classes the model has.

    Raises ValueError if a label is no class of the model, or if no label belongs to any input, and FileNotFoundError
    for a file that is not there. Warns of inputs without a label, and of labels without an input.
    """
    words, told = _words(labels, source, entries)
    classes, note = _class_numbers(words, classifier, outputs, ordered=labels == FOLDER_NAMES)
    if missing := len(entries) - len(words):
        few = ", ".join(repr(entry.id) for entry in entries if entry.id not in words) if missing <= NAMED else ""
        warnings.warn(
            f"{missing:,} of {len(entries):,} inputs have no label{few and f' ({few})'}: they count as neither right "
            "nor wrong.",
            stacklevel=2,
        )
    return JoinedLabels({name: classes[word] for name, word in words.items()}, f"{told}{note}")


def _words(labels: Any, source: Source, entries: Sequence[Entry]) -> tuple[dict[str, str], str]:
    """Return the label of each input as it is given, by its id, and where labels come from in words."""
    if isinstance(labels, str) and labels == FOLDER_NAMES:
        return _folder_names(source, entries), "the names of their folders"
    if isinstance(labels, str) and labels == DATA_SET:
        return _own_classes(entries), "the data set"
    if isinstance(labels, str | os.PathLike):
        file = Path(labels).expanduser()
        return _from_file(file, entries), utf8_text(str(file))
    if isinstance(labels, Mapping):
        given = {str(name): _label_text(value) for name, value in labels.items()}
        found = {entry.id: given[entry.id] for entry in entries if given.get(entry.id)}
        _check_matches(found, given, entries, "the mapping")
        return {name: word for name, word in found.items() if word}, "a mapping"
    if not hasattr(labels, "__len__") or not hasattr(labels, "__iter__"):
        raise TypeError(
            f"labels are a file, {FOLDER_NAMES!r}, {DATA_SET!r}, a mapping from ids or one for each input, not "
            f"{type(labels).__name__}."
        )
    if len(labels) != len(entries):
        raise ValueError(f"there are {len(labels):,} labels for {len(entries):,} inputs: give one for each.")
    pairs = ((entry.id, _label_text(label)) for entry, label in zip(entries, labels, strict=True))
    return {name: word for name, word in pairs if word}, "a sequence"


def _label_text(value: Any) -> str | None:
    """Return a label as text, None for one that is missing; negative numbers are missing too, as in many data sets."""
    text = cell_text(value)
    return None if text is None or re.fullmatch(r"-\d+(\.0)?", text) else text


def _folder_names(source: Source, entries: Sequence[Entry]) -> dict[str, str]:
    if isinstance(source, Folder):
        names = {entry.id: entry.id.partition("/")[0] for entry in entries if "/" in entry.id}
    elif isinstance(source, PathList):
        names = {entry.id: Path(entry.place).parent.name for entry in entries}
    else:
        raise ValueError(
            f"labels={FOLDER_NAMES!r} is for a folder of photos or a list of them, not for "
            f"{source.describe()['kind']}: give a file of labels."
        )
    if not names:
        raise ValueError(
            f"no photo lies in a folder of its class in {source.describe()['place']}: give a file of labels."
        )
    return names


def _own_classes(entries: Sequence[Entry]) -> dict[str, str]:
    words = {entry.id: entry.target for entry in entries if entry.target is not None}
    if not words:
        raise ValueError(
            f"labels={DATA_SET!r} needs a data set that lists its classes (a column target, .cls members): give a file "
            "of labels, or one for each input."
        )
    return words


def _from_file(file: Path, entries: Sequence[Entry]) -> dict[str, str]:
    """Return the label of each input that the file names: by its id, its path, or its name if no other has that."""
    if not file.is_file():
        raise FileNotFoundError(
            f"labels {file} is not a file: give a table with the columns file and label, {FOLDER_NAMES} or {DATA_SET}."
        )
    given = _labels_by_file(file)
    if not given:
        raise ValueError(f"{file} has no labels: give each row a file and a label.")
    alone = Counter(PurePath(entry.id).name for entry in entries)
    folder, found, used = file.resolve().parent, {}, set[str]()
    for entry in entries:
        name = PurePath(entry.id).name
        keys = [entry.id, *_paths(entry, folder), *([name] if alone[name] == 1 else [])]
        key = next((key for key in keys if key in given), None)
        if key is not None:
            found[entry.id] = given[key]
            used.add(key)
    _check_matches(found, given, entries, str(file))
    if left := [name for name in given if name not in used]:
        few = ", ".join(map(repr, left[:NAMED]))
        warnings.warn(f"{len(left):,} rows of {file} name no input ({few}): they are not used.", stacklevel=2)
    return found


def _paths(entry: Entry, folder: Path) -> Iterable[str]:
    """Yield the path of an input that is a file, and the same relative to the folder of the labels."""
    if isinstance(entry.place, str):
        yield entry.place
        if entry.place.startswith(f"{folder}{os.sep}"):
            yield Path(entry.place).relative_to(folder).as_posix()


def _labels_by_file(file: Path) -> dict[str, str]:
    if file.suffix.lower() not in LISTS:
        raise ValueError(f"{file} is no table: give a .csv, .tsv or .parquet file with the columns file and label.")
    rows = read_table(file)
    columns = list(rows[0]) if rows else []
    name, label = (next((c for c in known if c in columns), None) for known in (FILE_COLUMNS, LABEL_COLUMNS))
    if rows and (name is None or label is None):
        raise ValueError(
            f"{file} has the columns {', '.join(map(repr, columns))}: labels have a column 'file' and a column 'label'."
        )
    found: dict[str, str] = {}
    for row in rows:
        key, word = cell_text(row[name or ""]), _label_text(row[label or ""])
        if key is None or word is None:
            continue
        if found.setdefault(utf8_text(key), word) != word:
            raise ValueError(f"{file} gives {key!r} two labels, {found[key]!r} and {word!r}: leave one of them.")
    return found


def _check_matches(found: Mapping[str, Any], given: Mapping[str, Any], entries: Sequence[Entry], where: str) -> None:
    if not found and given:
        raise ValueError(
            f"no label of {where} belongs to an input: it names such as {next(iter(given))!r}, the data set such as "
            f"{entries[0].id!r}."
        )


def _class_numbers(
    words: Mapping[str, str], classifier: Classifier, outputs: int, *, ordered: bool
) -> tuple[dict[str, int], str]:
    """Return the number of each label, and a note on how it was found.

    Folders whose names are no classes of the model count in their order, if there are as many as the model has outputs.
    """
    kinds = sorted(set(words.values()))
    try:
        return {word: classifier.index(word, outputs) for word in kinds}, ""
    except ValueError as error:
        if ordered and len(kinds) == outputs:
            return {word: number for number, word in enumerate(kinds)}, ", in their order"
        hint = f" Its {len(kinds)} folders are not as many as its {outputs} classes either." if ordered else ""
        raise ValueError(f"a label is no class of the model: {error}{hint}") from error
