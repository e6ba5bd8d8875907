"""The receipt of a shard: what its files hold. It is checked as data that may be damaged or forged."""

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
    """Fewer than the shard has inputs if it is unfinished."""
    failures: dict[str, str]
    """The error of each input that failed, by its id."""
    numbers: str
    """SHA-256 of the file of rows."""
    maps: str
    """SHA-256 of the file of maps."""
    sizes: tuple[int, int] | None = None
    """Bytes of the two files; missing in receipts of old versions."""


def parse_receipt(text: str) -> Receipt:
    """Return the receipt in this JSON text; raises ValueError if there is none in it.

    >>> parse_receipt('{"shard": 0, "rows": 1, "failures": {}, "numbers": "", "maps": ""}').rows
    1
    >>> parse_receipt('{"shard": 0}')
    Traceback (most recent call last):
    ValueError: a receipt has shard, rows, failures, numbers, maps, and may have sizes: this one does not.
    """
    try:
        fields = json.loads(text)
    except RecursionError as error:  # brackets in brackets, thousands deep
        raise ValueError("a receipt is not nested so deeply.") from error
    if not isinstance(fields, dict) or {"sizes", *fields} != {"sizes", *KINDS}:
        raise ValueError(f"a receipt has {', '.join(KINDS)}, and may have sizes: this one does not.")
    for name, is_kind in {**KINDS, "sizes": _are_sizes}.items():
        if not is_kind(fields.get(name)):
            raise ValueError(f"a receipt's {name} is not {fields.get(name)!r}.")
    sizes = fields.get("sizes")
    return Receipt(**{**fields, "sizes": None if sizes is None else (sizes[0], sizes[1])})


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
