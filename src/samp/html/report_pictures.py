"""The photos of some rows of a run, read again from its data set if it is still there."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

from PIL import Image
from torch import nn

from samp.batch.results import RunResults
from samp.batch.sources import Source, source_of
from samp.batch.tars import Tars
from samp.html.facts import Record
from samp.images import ignore_pillow_warnings, upright
from samp.models import Classifier


def read_pictures(run: RunResults, ids: Sequence[str]) -> dict[str, Image.Image]:
    """Return the crops that the model was fed, by id; those that cannot be read again are left out, with a warning."""
    found = _read_available(run, ids)
    if missing := len(set(ids) - set(found)):
        warnings.warn(
            f"{missing} of {len(set(ids))} photos cannot be read again: their maps are shown alone.",
            stacklevel=2,
        )
    return found


def _read_available(run: RunResults, ids: Sequence[str]) -> dict[str, Image.Image]:
    try:
        source = _reopen_source(run.about["source"])
        entries = {entry.id: entry for entry in source.entries()}
        classifier = _make_classifier(run)
    except (OSError, ValueError, ImportError, TypeError):
        return {}
    found = {}
    with ignore_pillow_warnings():
        for name in ids:
            try:
                read = source.read(entries[name])
                photo = read[0] if isinstance(read, tuple) else read
                found[name] = classifier.crop(upright(photo))
            except Exception:  # a photo is optional: whatever is wrong with it, the map is shown
                continue
    return found


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
