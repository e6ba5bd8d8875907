"""Looking a thing up by its name, with a helpful answer when there is none."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Mapping
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
    known = close + [other for other in table if other not in close]
    guess = f"did you mean {close[0]!r}? The known ones are" if close else "the known ones are"
    raise ValueError(f"unknown {kind} {name!r}: {guess} {', '.join(known)}.")
