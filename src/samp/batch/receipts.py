"""The receipt of a shard: what its files hold. It is data that a disk may have harmed or another program written."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Receipt:
    """What the files of a shard hold."""

    shard: int
    rows: int
    """Fewer than the shard has inputs where it was left unfinished."""
    failures: dict[str, str]
    """Why each input that failed did, by its id."""
    numbers: str
    """SHA-256 of the file of rows."""
    maps: str
    """SHA-256 of the file of maps."""
    sizes: tuple[int, int] | None = None
    """Bytes of the two; runs of old do not say."""


def parse_receipt(text: str) -> Receipt:
    """The receipt that this JSON is; raises ValueError if it is none.

    >>> parse_receipt('{"shard": 0, "rows": 1, "failures": {}, "numbers": "", "maps": ""}').rows
    1
    >>> parse_receipt('{"shard": 0}')
    Traceback (most recent call last):
    ValueError: a receipt says shard, rows, failures, numbers, maps, and may say sizes: this one does not.
    """
    try:
        said = json.loads(text)
    except RecursionError as error:  # brackets in brackets, thousands deep
        raise ValueError("a receipt is not nested so deeply.") from error
    if not isinstance(said, dict) or not {"sizes", *said} == {"sizes", *KINDS}:
        raise ValueError(f"a receipt says {', '.join(KINDS)}, and may say sizes: this one does not.")
    for name, is_kind in {**KINDS, "sizes": _are_sizes}.items():
        if not is_kind(said.get(name)):
            raise ValueError(f"a receipt's {name} is not {said.get(name)!r}.")
    sizes = said.get("sizes")
    return Receipt(**{**said, "sizes": None if sizes is None else (sizes[0], sizes[1])})


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_failures(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_text, value.values()))


def _are_sizes(value: Any) -> bool:
    return value is None or (isinstance(value, list) and len(value) == 2 and all(map(_is_count, value)))


KINDS: dict[str, Callable[[Any], bool]] = {
    "shard": _is_count,
    "rows": _is_count,
    "failures": _are_failures,
    "numbers": _is_text,
    "maps": _is_text,
}
