"""How a run was made: kept beside its shards, so that other settings are not mixed into them."""

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
from samp.methods import Coupled, Method

NAME = "manifest.json"
FORMAT = "samp run 1"
MOST_BYTES = 2**26  # names of a million tars


def digest_entries(entries: Sequence[Entry]) -> str:
    """SHA-256 of the ids and targets in their order: which shard holds which input.

    >>> first, moved, other = (digest_entries([entry]) for entry in (Entry("a", 0), Entry("a", 1), Entry("b", 0)))
    >>> first == moved, first == other
    (True, False)
    """
    digest = hashlib.sha256()
    for entry in entries:
        digest.update(f"{entry.id}\0{entry.target}\0".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def method_settings(method: Method) -> dict[str, Any]:
    """The settings of a run that its method decides: its repr, the tensors it holds, and the numbers of the walk that
    a quality stands for.

    Those may change while the quality keeps its name, and both kinds of images may be in one data set. A function is
    known by its name alone: its address is another in every process.

    >>> method_settings(Coupled("draft"))["walk"]["photos"]["steps"]
    7
    """
    said: dict[str, Any] = {"method": re.sub(r" at 0x[0-9a-fA-F]+", "", repr(method))}
    if tensors := [given.digest() for given in _given_tensors(method)]:
        said["tensors"] = tensors
    if not isinstance(method, Coupled):
        return said
    return {
        **said,
        "walk": {"photos": _walk_settings(method, small=False), "up to 32 pixels": _walk_settings(method, small=True)},
    }


def _given_tensors(held: object) -> Iterator[TensorBaseline]:
    """The tensors of the caller's that a method holds, however deep."""
    if isinstance(held, TensorBaseline):
        yield held
    elif isinstance(held, tuple | list):
        yield from (given for one in held for given in _given_tensors(one))
    elif is_dataclass(held):
        yield from (given for field in fields(held) for given in _given_tensors(getattr(held, field.name)))


def _walk_settings(method: Coupled, *, small: bool) -> dict[str, float]:
    """As numbers of Python's, whatever kind they were given as."""
    found = asdict(method.resolve_settings(small=small))
    if method.pixels_per_step:
        del found["steps"]  # s is given, not calculated from them
    return {name: int(value) if name == "steps" else float(value) for name, value in found.items()}


def digest_classes(names: Sequence[str]) -> str:
    """SHA-256 of the classes' names in their order: they are the rows' labels, and decide which class a name is.

    >>> digest_classes(["cat", "dog"]) == digest_classes(["dog", "cat"])
    False
    """
    return hashlib.sha256("".join(f"{name}\0" for name in names).encode("utf-8", "surrogateescape")).hexdigest()


def read(folder: Path) -> dict[str, Any] | None:
    """The manifest of the run in this folder, or None where there is none; raises ValueError if it is none of ours."""
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
    except (ValueError, AttributeError, RecursionError) as error:  # brackets in brackets, thousands deep
        raise ValueError(f"{path} is not whole ({error}): give another folder.") from error
    if not known:
        raise ValueError(f"{path} is of another program or version ({manifest.get('format')!r}): give another folder.")
    if "classes" in manifest["about"]:  # runs of old say them there alone
        manifest["settings"].setdefault("classes", digest_classes(manifest["about"]["classes"]))
    return manifest


def write_or_check(folder: Path, settings: Mapping[str, Any], about: Mapping[str, Any]) -> None:
    """Write the manifest of a new run; of one that is there, check that its settings are these.

    `settings` decide what the numbers are; `about` is told as well, and may differ between a run and its re-run. A run
    that has no shard yet gets the settings of its re-run; shards without a manifest may be of any run, so they are not
    taken for this one's.
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
    """Nothing is where the shards of a new run will lie."""
    for name in FOLDERS:
        if os.path.lexists(folder / name):
            raise ValueError(f"{folder} holds {name} but no {NAME}, so it is of something else: give another folder.")


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """What is not the same, in words.

    >>> differences({"seed": 0, "dtype": "float32"}, {"seed": 1, "dtype": "float32"})
    ['seed: 0 there, 1 here']
    """
    names = [name for name in {**there, **here} if there.get(name) != here.get(name)]
    if "method" in names and "walk" in names:
        names.remove("walk")  # it follows from the method
    return [words for name in names for words in _difference(name, there.get(name), here.get(name))]


def _difference(name: str, there: Any, here: Any) -> list[str]:
    """One setting; of those with parts, the parts that differ."""
    if isinstance(there, dict) and isinstance(here, dict):
        return [f"{name}, {words}" for words in differences(there, here)]
    return [f"{name}: {_brief(there)} there, {_brief(here)} here"]


def _brief(value: Any) -> str:
    words = "not said" if value is None else str(value)
    return f"{words[:8]}…" if len(words) == 64 and " " not in words else words  # a SHA-256 differs from its start
