"""Markers for all tests: `slow` for those listed in `tests/slow.txt`, `browser` for those that need a browser.

`pytest -m "not slow"` takes about two minutes. `tools/list_slow.py` rewrites the list.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent
SLOW = ROOT / "tests" / "slow.txt"


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
    if "torch" in sys.modules:  # not imported here: tests/conftest.py sets how its threads wait first
        sys.modules["torch"].manual_seed(0)
