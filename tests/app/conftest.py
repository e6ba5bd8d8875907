"""What several tests of the app's page ask for."""

from __future__ import annotations

import pytest

from samp.app.events import KEPT


@pytest.fixture
def every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step of a walk is shown, however fast the net is, and however slow the page."""
    monkeypatch.setattr("samp.app.spectator.PACE", 0.0)
    monkeypatch.delitem(KEPT, "frame")  # a page that is behind gets the latest frames alone
