"""`samp bench app`: both sides do the whole work, and the times are told in the order in which things happen."""

from __future__ import annotations

import pytest

from samp.models import load
from samp_lab.bench import app


def test_a_job_is_watched_from_its_request_to_its_final_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "efficientnet_lite0", lambda: load("mnist_slim"))
    runs = app.measure("coupled", repeats=2)
    assert len(runs) == 2
    for run in runs:
        assert run.explain > 0
        assert 0 < run.first_frame <= run.first_result <= run.final
    assert "| coupled | " in app.table("coupled", runs)
