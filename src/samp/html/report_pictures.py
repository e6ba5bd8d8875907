"""The photos of some rows of a run, read again from its data set if it is still there."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image
from torch import nn

from samp.batch.results import RunResults
from samp.batch.sources import Entry, Folder, PathList, Source, source_of
from samp.batch.tars import Tars
from samp.html.facts import Record
from samp.images import ignore_pillow_warnings, upright
from samp.models import Classifier

READERS = 8  # threads at most


def read_pictures(run: RunResults, ids: Sequence[str]) -> dict[str, Image.Image]:
    """Return the crops that the model was fed, by id; those that cannot be read again are left out, with a warning."""
    found = _read_available(run, ids)
    if missing := len(set(ids) - set(found)):
        warnings.warn(
            f"{missing} of {len(set(ids))} photos cannot be read again: their maps are shown alone.",
            stacklevel=2,
        )
    return found


@dataclass(frozen=True, eq=False)
class PictureReader:
    """The inputs of a run's data set, opened again, and how its model cut photos."""

    source: Source
    entries: Mapping[str, Entry]
    classifier: Classifier

    def read(self, name: str) -> Image.Image | None:
        """Return the crop of the input of this id that the model was fed, or None if it cannot be read any more."""
        try:
            read = self.source.read(self.entries[name])
            photo = read[0] if isinstance(read, tuple) else read
            return self.classifier.crop(upright(photo))
        except Exception:  # a photo is optional: whatever is wrong with it, the map is shown
            return None

    def read_all(self, names: Sequence[str]) -> list[Image.Image | None]:
        """Return the crop of each of these inputs, read by several threads if the data set allows it."""
        if not self.source.by_threads:
            return [self.read(name) for name in names]
        with ThreadPoolExecutor(min(READERS, os.cpu_count() or 1)) as pool:
            return list(pool.map(self.read, names))

    def path(self, name: str) -> str | None:
        """Return the file of an input, None if it has none of its own, as in a tar."""
        entry = self.entries.get(name)
        place = entry.place if entry and isinstance(self.source, Folder | PathList) else None
        return place if isinstance(place, str) else None


def open_pictures(run: RunResults, data: Any = None) -> PictureReader | None:
    """Return a reader of the run's inputs, None if its data set is not there any more.

    `data` is the data set itself, for one that was only in memory, or one that has moved.
    """
    try:
        source = _reopen_source(run.about["source"]) if data is None else source_of(data)
        return PictureReader(source, {entry.id: entry for entry in source.entries()}, _make_classifier(run))
    except (OSError, ValueError, ImportError, TypeError):
        return None


def _read_available(run: RunResults, ids: Sequence[str]) -> dict[str, Image.Image]:
    reader = open_pictures(run)
    if reader is None:
        return {}
    with ignore_pillow_warnings():
        pictures = ((name, reader.read(name)) for name in ids)
        return {name: picture for name, picture in pictures if picture is not None}


def _reopen_source(stored: Record) -> Source:
    if stored["kind"] == "items":
        raise ValueError("a data set that was only in memory cannot be opened again.")
    if stored["kind"] == "tars":
        return Tars(tuple(Path(stored["place"]) / name for name in stored["files"]))
    return source_of(stored["place"])


def _make_classifier(run: RunResults) -> Classifier:
    """Return a classifier without a net that cuts photos as the one of the run did."""
    fed: Record = {
        name: tuple(value) if isinstance(value, list) else value for name, value in run.settings["fed"].items()
    }
    return Classifier(nn.Identity(), run.settings["model"], classes=(), **fed)
