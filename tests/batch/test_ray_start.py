"""A Ray that takes too long to start is started again. Ray itself is not needed."""

from __future__ import annotations

from typing import Any

import pytest

from samp.batch import Workers
from samp.batch.ray_session import STARTS, _start

LATE = "The current node timed out during startup. This could happen because the GCS has become overloaded."


class Late:
    """Stands for the module ray on a busy machine: it does not start in time, so many times."""

    def __init__(self, times: int, words: str = LATE) -> None:
        self.times, self.words = times, words
        self.calls: list[str] = []

    def init(self, **_: Any) -> None:
        self.calls.append("init")
        if self.calls.count("init") <= self.times:
            raise Exception(self.words)

    def shutdown(self) -> None:
        self.calls.append("shutdown")


AT = Workers(2, address="127.0.0.1:6379")  # where nothing is checked after the start


def test_it_is_tried_again_after_what_was_started_is_ended() -> None:
    ray = Late(2)
    _start(ray, AT)
    assert ray.calls == ["init", "shutdown", "init", "shutdown", "init"]


def test_in_the_end_it_is_said() -> None:
    ray = Late(STARTS)
    with pytest.raises(Exception, match="timed out during startup"):
        _start(ray, AT)
    assert ray.calls.count("init") == STARTS


def test_other_errors_are_said_at_once() -> None:
    ray = Late(1, "the address is wrong")
    with pytest.raises(Exception, match="the address is wrong"):
        _start(ray, AT)
    assert ray.calls == ["init"]
