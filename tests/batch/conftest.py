"""Fixtures of runs over data sets: photos and a folder; a local Ray, and one thread, as its workers have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from samp.batch import Workers
from small_runs import data, out

__all__ = ["data", "one_thread", "out", "ray"]


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """A local Ray with room for two workers and a reader."""
    from samp.batch.ray_session import ray_session

    with ray_session(Workers(2)) as ray:
        yield ray


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """One thread for torch: rounding depends on how many there are, and a worker of Ray has one."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
