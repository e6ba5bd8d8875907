"""A checkpoint that is code does not run in the laboratory either, unless it is trusted."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from evil_models import EVIL
from samp.cli import main
from samp.models.trust import require_trust
from samp_lab.nets import load
from samp_lab.workspace import ExperimentOptions


def test_a_checkpoint_that_is_code_is_refused_and_runs_with_trust(tmp_path: Path) -> None:
    path = EVIL["evil.pth"](tmp_path / "evil.pth", tmp_path / "trace")
    with pytest.raises(ValueError, match="needs no trust") as refusal:
        require_trust(path, "a pickle of more than tensors", trust=False)
    with pytest.raises(ValueError, match="is code") as raised:
        load("squeezenet1_1", ExperimentOptions(weights=path))
    assert str(raised.value) == str(refusal.value)
    assert not (tmp_path / "trace").exists()
    with pytest.raises(ValueError, match="does not hold weights by name"):
        load("squeezenet1_1", ExperimentOptions(weights=path, trust=True))
    assert (tmp_path / "trace").exists()


def test_experiments_take_trust() -> None:
    assert "--trust" in CliRunner().invoke(main, ["bench", "table1", "--help"]).stdout
