"""What every test starts from: how threads wait, how laws are tried; and the real nets."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Threads that spin while they wait take the core from those they wait for: two processes of two threads on two cores
# are then many times slower than one after the other. GNU's runtime reads the first, LLVM's and Intel's the second, and
# only while they are loaded: what loads them, as torch does, must not be imported before.
TOLD_IN_TIME = "torch" not in sys.modules
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


@pytest.fixture(scope="session")
def openmp_was_told_in_time() -> bool:
    """Whether threads of this process wait as they should."""
    return TOLD_IN_TIME
