"""How the cells of a report were made: machine, seed, commits, precision, and which are of older code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from samp.methods import names, resolve_method
from samp_lab.readings import AUTHORS
from samp_lab.sections import Grid
from samp_lab.setups import Setup, parse_setup
from samp_lab.store import ResultEntry, Results

SHOWN_HASH = 12  # characters, enough to tell weights apart
SHOWN_COMMIT = 10
DEVICES = {"cuda": "GPU", "cpu": "CPU"}


def list_facts(about: Mapping[str, Any], results: Results) -> Iterator[tuple[str, str]]:
    """Yield what a report says of its run: terms and facts.

    >>> list(list_facts({}, Results({}, {})))[0]
    ('Machine and versions', 'not known')
    """
    facts = [entry.get("facts", {}) for entry in results.entries.values()]
    seeds = sorted({str(fact["seed"]) for fact in facts if "seed" in fact} or {str(about.get("seed", "not known"))})
    timed = sorted({str(timing["machine"]) for timing in results.timings.values() if "machine" in timing})
    yield "Machine and versions", str(about.get("device", "not known"))
    if timed and timed != [about.get("device")]:
        yield "Seconds were taken on", "; ".join(timed)
    yield "Seed", ", ".join(seeds)
    yield (
        "Cells measured",
        f"{len(results.entries)}" + (f"; {len(results.failures)} could not be measured" if results.failures else ""),
    )
    if results.entries:
        yield "Commits", _commits(list(results.entries.values()))
        yield "Precision", _precision(list(results.entries.values()))


def _commits(entries: Sequence[ResultEntry]) -> str:
    """Return how many cells come from each commit, most first."""
    counts = Counter(_commit(entry) for entry in entries)
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return "; ".join(f"{commit}: {count_cells(count)}" for commit, count in ordered)


def _commit(entry: ResultEntry) -> str:
    made = entry.get("made", {})
    if not made.get("commit"):
        return "not recorded"
    return str(made["commit"])[:SHOWN_COMMIT] + (" with changes that were not committed" if made.get("dirty") else "")


def _precision(entries: Sequence[ResultEntry]) -> str:
    """Return how many cells have which precision; on a GPU, those of which it was not recorded are of TF32."""
    known = [entry.get("facts", {}).get("precision") or entry.get("made", {}).get("precision") for entry in entries]
    counts = Counter(str(precision) for precision in known if precision)
    words = [f"{name}: {count_cells(count)}" for name, count in sorted(counts.items())]
    old = [entry for entry, precision in zip(entries, known, strict=True) if not precision]
    rounded = sum(entry.get("facts", {}).get("device") == "cuda" for entry in old)
    if rounded:
        words.append(
            f"{count_cells(rounded)} made on a GPU before this was recorded, with TF32 convolutions (torch's default), "
            "which moves single images by up to 0.11"
        )
    if len(old) > rounded:
        words.append(f"not recorded: {count_cells(len(old) - rounded)}")
    return "; ".join(words)


def count_cells(count: int) -> str:
    """Return a number of cells in words.

    >>> count_cells(1), count_cells(2)
    ('1 cell', '2 cells')
    """
    return "1 cell" if count == 1 else f"{count} cells"


# ---- stale cells


@cache
def method_versions() -> dict[str, int]:
    """Return the current version of every method, by the name of its class.

    >>> method_versions()["IG"] >= 1
    True
    """
    methods = [*(resolve_method(name) for name in names()), *AUTHORS.values()]
    return {type(one).__name__: one.about.version for one in methods}


def why_stale(entry: ResultEntry, versions: Mapping[str, int] | None = None) -> str:
    """Return why a cell is stale: the reason noted in it, or that its method has another version now; "" if it is not.

    A cell that says nothing of its method's version is of version 1.

    >>> why_stale({"asked": {"method": "IG(steps=50)"}, "facts": {"method_version": 1}}, {"IG": 2})
    'made with version 1 of IG, which is at version 2 now'
    """
    if "stale" in entry:
        return str(entry["stale"])
    known = method_versions() if versions is None else versions
    name = str(entry["asked"].get("method", "")).partition("(")[0]
    stored = int(entry.get("facts", {}).get("method_version") or 1)
    if name in known and known[name] != stored:
        return f"made with version {stored} of {name}, which is at version {known[name]} now"
    return ""


# ---- test beds


def setup_table(setups: Sequence[Setup], results: Results) -> Grid:
    """Return a table of the setups: images, cells, devices and weights of each.

    >>> setup_table([], Results({}, {})).heads[0]
    'test bed'
    """
    rows = []
    for one in setups:
        entries = [entry for entry in results.entries.values() if parse_setup(entry["asked"]["bed"]) == one]
        facts = [entry.get("facts", {}) for entry in entries]
        unread = max((len(entry.get("skipped", ())) for entry in entries), default=0)
        count = max((int(fact.get("count", 0)) for fact in facts), default=0)
        devices = sorted({DEVICES.get(str(fact["device"]), str(fact["device"])) for fact in facts if "device" in fact})
        weights = sorted({str(fact["weights"])[:SHOWN_HASH] for fact in facts if "weights" in fact})
        title = one.title if one.reading == "text" else f"{one.title} (reading “{one.reading}”)"
        rows.append(
            (
                title,
                f"{count or '–'}",
                f"{unread}",
                f"{len(entries)}",
                ", ".join(devices) or "–",
                ", ".join(weights) or "–",
            )
        )
    heads = ("test bed", "images", "not readable", "cells", "device", "weights (SHA-256)")
    return Grid(heads, tuple(rows), "Test beds: a data set and a net")
