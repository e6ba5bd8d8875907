"""Lookup by name, with an error that suggests the closest known name."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

Entry = TypeVar("Entry")


def look_up(name: str, table: Mapping[str, Entry], kind: str) -> Entry:
    """Return the entry of this name; raise ValueError, with the known names and the closest first, if there is none.

    >>> look_up("rihgt", {"left": 1, "right": 2}, "side")
    Traceback (most recent call last):
    ValueError: unknown side 'rihgt': did you mean 'right'? The known ones are right, left.
    """
    if isinstance(name, Hashable) and name in table:
        return table[name]
    close = difflib.get_close_matches(str(name).lower(), table, 1, 0.6)
    raise unknown_name(name, table, kind, close[0] if close else None)


def unknown_name(name: object, known: Iterable[str], kind: str, meant: str | None = None) -> ValueError:
    """Return the error for a name that is not among the known ones; the one probably `meant` comes first.

    >>> unknown_name("port", ["left", "right"], "side", meant="left")
    ValueError("unknown side 'port': did you mean 'left'? The known ones are left, right.")
    """
    guess = f"did you mean {meant!r}? The known ones are" if meant else "the known ones are"
    listed = [*([meant] if meant else []), *(other for other in known if other != meant)]
    return ValueError(f"unknown {kind} {name!r}: {guess} {', '.join(listed)}.")
