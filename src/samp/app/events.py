"""What happens to a job, as lines of JSON that can be read again from any place, by any number of readers."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable
from typing import Any

# Of these, only the latest of each method (and direction) are kept: so many while the job runs, one when it has ended.
KEPT = {"frame": 6, "progress": 1, "result": 1, "queued": 1}


class EventLog:
    """The events of one job, numbered from 1.

    >>> log = EventLog()
    >>> log.add("started")
    >>> log.add("done", last=True)
    >>> log.since(1)
    ([(2, b'{"n":2,"type":"done"}\\n')], True)
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.count, self.ended = 0, False
        self.events: list[tuple[int, tuple[str, ...], bytes]] = []
        self.listeners: set[Callable[[], None]] = set()

    def add(self, kind: str, *, last: bool = False, **values: Any) -> None:
        """Add an event, and wake all readers; nothing follows the last one."""
        with self.lock:
            if self.ended:
                return
            self.count += 1
            line = json.dumps({"n": self.count, "type": kind, **finite(values)}, separators=(",", ":"))
            key = (kind, *(str(values[name]) for name in ("method", "direction") if name in values))
            self.events.append((self.count, key, line.encode() + b"\n"))
            self.ended = last
            self._thin(key, KEPT.get(kind))
            if last:
                for other in {key for _, key, _ in self.events}:
                    self._thin(other, 1 if other[0] in KEPT else None)
            listeners = list(self.listeners)
        for wake in listeners:
            wake()

    def since(self, number: int) -> tuple[list[tuple[int, bytes]], bool]:
        """Return the events after this number that are still kept, and whether they end with the last one."""
        with self.lock:
            return [(n, line) for n, _, line in self.events if n > number], self.ended

    def _thin(self, key: tuple[str, ...], most: int | None) -> None:
        """Drop the oldest events of this key, so that `most` are left."""
        same = [n for n, other, _ in self.events if other == key]
        if most is not None and len(same) > most:
            old = set(same[:-most])
            self.events = [event for event in self.events if event[0] not in old]


def finite(value: Any) -> Any:
    """Return values for JSON, with None for NaN and infinities, which it does not have.

    >>> finite({"a": [1.0, float("nan")]})
    {'a': [1.0, None]}
    """
    if isinstance(value, dict):
        return {name: finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
