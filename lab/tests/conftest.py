"""What the laboratory's tests start from: how threads wait, how laws are tried, and where real data lies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Before torch is imported, which loads the thread pools that read these: see tests/conftest.py.
os.environ.update({"OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0"})

# The same examples each time, and no limit of time on any of them or on drawing them.
settings.register_profile(
    "laws", max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("laws")


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real weights and photos, or a skip with its reason."""
    folder = os.environ.get("SAMP_DATA")
    if not folder:
        pytest.skip("needs the real nets and photos: set SAMP_DATA to their folder")
    return Path(folder)
