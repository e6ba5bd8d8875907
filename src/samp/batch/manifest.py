"""The manifest of a run: its settings, stored beside its shards so that no others are mixed into them."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any

from samp.atomic import atomic_write
from samp.baselines import TensorBaseline
from samp.batch.manifest_schema import check_manifest
from samp.batch.shards import FOLDERS
from samp.batch.sources import Entry
from samp.methods import Consensus, Coupled, Method

NAME = "manifest.json"
FORMAT = "samp run 1"
MOST_BYTES = 2**26  # names of a million tars


def digest_entries(entries: Sequence[Entry]) -> str:
    """Return the SHA-256 of ids and targets in their order, which decides which shard holds which input.

    >>> first, moved, other = (digest_entries([entry]) for entry in (Entry("a", 0), Entry("a", 1), Entry("b", 0)))
    >>> first == moved, first == other
    (True, False)
    """
    digest = hashlib.sha256()
    for entry in entries:
        digest.update(f"{entry.id}\0{entry.target}\0".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def method_settings(method: Method) -> dict[str, Any]:
    """Return the settings of a run that its method decides: its repr, its tensors, and the walk of its quality.

    The walk is there as numbers, which may change between versions while the quality keeps its name; that of `Coupled`
    for both sizes of images that a data set may hold. A function is identified by its name alone: its address differs
    between processes.

    >>> method_settings(Coupled("draft"))["walk"]["photos"]["steps"]
    7
    """
    settings: dict[str, Any] = {"method": re.sub(r" at 0x[0-9a-fA-F]+", "", repr(method))}
    if tensors := [tensor.digest() for tensor in _tensors_of(method)]:
        settings["tensors"] = tensors
    if isinstance(method, Consensus):
        settings["walk"] = {"all sizes": _as_numbers(asdict(method.resolve_settings()))}
    if isinstance(method, Coupled):
        photos, small = (_walk_settings(method, small=small) for small in (False, True))
        settings["walk"] = {"photos": photos, "up to 32 pixels": small}
    return settings


def _tensors_of(value: object) -> Iterator[TensorBaseline]:
    """Yield the baselines that the caller gave as tensors, however deep they are nested in a method."""
    if isinstance(value, TensorBaseline):
        yield value
    elif isinstance(value, tuple | list):
        yield from (tensor for one in value for tensor in _tensors_of(one))
    elif is_dataclass(value):
        yield from (tensor for field in fields(value) for tensor in _tensors_of(getattr(value, field.name)))


def _walk_settings(method: Coupled, *, small: bool) -> dict[str, float]:
    """Return the numbers of the walk for small images or others."""
    settings = asdict(method.resolve_settings(small=small))
    if method.pixels_per_step:
        del settings["steps"]  # s is given, not computed from steps
    return _as_numbers(settings)


def _as_numbers(settings: Mapping[str, Any]) -> dict[str, float]:
    """Return the settings as int and float, whatever types they were given as."""
    return {name: int(value) if name in ("steps", "walks") else float(value) for name, value in settings.items()}


def digest_classes(names: Sequence[str]) -> str:
    """Return the SHA-256 of class names in their order: they label the rows, and a target may be one of them.

    >>> digest_classes(["cat", "dog"]) == digest_classes(["dog", "cat"])
    False
    """
    return hashlib.sha256("".join(f"{name}\0" for name in names).encode("utf-8", "surrogateescape")).hexdigest()


def read(folder: Path) -> dict[str, Any] | None:
    """Return the manifest in this folder, or None if there is none; raises ValueError if it is damaged or foreign."""
    path = folder / NAME
    if not path.is_file():
        return None
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"{path} is not whole (it has more than {MOST_BYTES:,} bytes): give another folder.")
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        known = manifest.get("format") == FORMAT
        if known:
            check_manifest(manifest)
            json.dumps(manifest, ensure_ascii=False, allow_nan=False).encode()  # else no page could show it
    except (ValueError, AttributeError, RecursionError) as error:  # recursion: brackets nested thousands deep
        raise ValueError(f"{path} is not whole ({error}): give another folder.") from error
    if not known:
        raise ValueError(f"{path} is of another program or version ({manifest.get('format')!r}): give another folder.")
    if "classes" in manifest["about"]:  # manifests of old versions have them only there
        manifest["settings"].setdefault("classes", digest_classes(manifest["about"]["classes"]))
    return manifest


def write_or_check(folder: Path, settings: Mapping[str, Any], about: Mapping[str, Any]) -> None:
    """Write the manifest of a new run, or check that the run in this folder has these settings.

    `settings` decide the numbers of a run; `about` is for readers, and may differ when a run is continued. A run
    without any shard gets the new settings. Raises ValueError if settings differ, and if the folder holds shards
    without a manifest, which may be those of any run.
    """
    before = read(folder)
    if before is None:
        _check_free(folder)
    differ = differences(before["settings"], json.loads(json.dumps(settings))) if before else []
    if before and not differ:
        return
    if any((folder / "done").glob("*.json")):
        raise ValueError(
            f"{folder} holds a run with other settings ({'; '.join(differ)}): give another folder, or the same "
            "settings."
        )
    with atomic_write(folder / NAME) as unfinished:
        manifest = {"format": FORMAT, "settings": settings, "about": about}
        unfinished.write_text(json.dumps(manifest, indent=2), encoding="utf-8")


def _check_free(folder: Path) -> None:
    """Raise ValueError if something is there under the names of a run's folders."""
    for name in FOLDERS:
        if os.path.lexists(folder / name):
            raise ValueError(f"{folder} holds {name} but no {NAME}, so it is of something else: give another folder.")


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """Return a phrase for each setting that differs.

    >>> differences({"seed": 0, "dtype": "float32"}, {"seed": 1, "dtype": "float32"})
    ['seed: 0 there, 1 here']
    """
    names = [name for name in {**there, **here} if there.get(name) != here.get(name)]
    if "method" in names and "walk" in names:
        names.remove("walk")  # it follows from the method
    return [phrase for name in names for phrase in _difference(name, there.get(name), here.get(name))]


def _difference(name: str, there: Any, here: Any) -> list[str]:
    """Return phrases for one setting: one for each part that differs if it has parts."""
    if isinstance(there, dict) and isinstance(here, dict):
        return [f"{name}, {phrase}" for phrase in differences(there, here)]
    return [f"{name}: {_brief(there)} there, {_brief(here)} here"]


def _brief(value: Any) -> str:
    text = "not set" if value is None else str(value)
    return f"{text[:8]}…" if len(text) == 64 and " " not in text else text  # SHA-256: the first digits differ
