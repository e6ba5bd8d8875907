"""Real nets and photos for tests that want them; `SAMP_DATA` says where they lie."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real weights and photos, or a skip with its reason."""
    folder = os.environ.get("SAMP_DATA")
    if not folder:
        pytest.skip("needs the real nets and photos: set SAMP_DATA to their folder")
    return Path(folder)
