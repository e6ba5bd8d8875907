"""Looking a thing up by its name, with a helpful answer when there is none."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

Thing = TypeVar("Thing")


def look_up(name: str, table: Mapping[str, Thing], kind: str) -> Thing:
    """The thing of this name, or an error that lists the known names with the closest first.

    >>> look_up("rihgt", {"left": 1, "right": 2}, "side")
    Traceback (most recent call last):
    ValueError: unknown side 'rihgt': did you mean 'right'? The known ones are right, left.
    """
    if isinstance(name, Hashable) and name in table:
        return table[name]
    close = difflib.get_close_matches(str(name).lower(), table, 1, 0.6)
    raise unknown_name(name, table, kind, close[0] if close else None)


def unknown_name(name: object, known: Iterable[str], kind: str, meant: str | None = None) -> ValueError:
    """Return the error for a name that is not among the known ones; the one that may be `meant` comes first.

    >>> unknown_name("port", ["left", "right"], "side", meant="left")
    ValueError("unknown side 'port': did you mean 'left'? The known ones are left, right.")
    """
    guess = f"did you mean {meant!r}? The known ones are" if meant else "the known ones are"
    listed = [*([meant] if meant else []), *(other for other in known if other != meant)]
    return ValueError(f"unknown {kind} {name!r}: {guess} {', '.join(listed)}.")
