"""Settings of all tests: how threads wait, how Hypothesis runs, random states, real nets, and markers.

`slow` marks the tests listed in `tests/slow.txt`, `browser` those that need a browser. `pytest -m "not slow"` takes
about two minutes; `tools/list_slow.py` rewrites the list.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

SLOW = Path(__file__).parent / "tests" / "slow.txt"

# Threads that spin while they wait take the core from those they wait for: two processes of two threads on two cores
# are then many times slower than one after the other. GNU's runtime reads the first variable, LLVM's and Intel's the
# second, each only when it is loaded: torch, which loads one, must not be imported before.
SET_BEFORE_TORCH = "torch" not in sys.modules
os.environ.update({"OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0"})

# The same examples every time, and no time limit on running or drawing them.
settings.register_profile(
    "laws", max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("laws")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    slow = {line for line in SLOW.read_text(encoding="utf-8").splitlines() if not line.startswith("#")}
    for item in items:
        if item.nodeid.partition("[")[0] in slow or item.nodeid.partition("::")[0] in slow:
            item.add_marker(pytest.mark.slow)
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(autouse=True)
def seed_generators() -> None:
    """Start every test and doctest from the same random states, whichever ran before it."""
    random.seed(0)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)
    if "torch" in sys.modules:  # not imported here: how its threads wait must be set first
        sys.modules["torch"].manual_seed(0)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Yield a running Chromium; skip the tests if there is none."""
    from browser import launch_browser

    with launch_browser() as browser:
        yield browser


@pytest.fixture(scope="session")
def data() -> Path:
    """Return the folder of real weights and photos; skip the test if SAMP_DATA is not set."""
    folder = os.environ.get("SAMP_DATA")
    if not folder:
        pytest.skip("needs the real nets and photos: set SAMP_DATA to their folder")
    return Path(folder)


@pytest.fixture(scope="session")
def openmp_was_told_in_time() -> bool:
    """Return whether the variables above were set before torch loaded its OpenMP runtime."""
    return SET_BEFORE_TORCH
