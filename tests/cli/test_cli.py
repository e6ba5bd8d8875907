"""The command line as a whole: its start, its help, its errors, its completion."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import samp.cli
from cli_runs import demo, run
from samp.cli import COMMANDS, main
from samp.methods.consensus import QUALITIES


def test_help_does_not_import_torch() -> None:
    code = (
        "import sys, click; from samp.cli import main\n"
        "main(['--help'], standalone_mode=False); main(['explain', '--help'], standalone_mode=False)\n"
        "sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 0


def test_help_lists_every_command_with_its_line() -> None:
    shown = run("--help").output
    for name, line in COMMANDS.items():
        assert name in shown
        assert line in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help_with_an_example(name: str) -> None:
    command = getattr(importlib.import_module(f"samp.cli.{name}"), name)
    commands = command.commands.values() if isinstance(command, click.Group) else [command]
    for one in commands:
        assert "Example" in (one.help or ""), one.name
        assert f"samp {name}" in one.help
        for option in one.params:
            assert isinstance(option, click.Argument) or option.help, f"{one.name} {option.name}"


def test_an_unknown_command_is_refused() -> None:
    result = run("explian")
    assert result.exit_code == 2
    assert "No such command 'explian'" in result.output


@pytest.mark.parametrize(
    "words",
    [
        ["--debug", "explain", "nowhere.jpg"],
        ["explain", "nowhere.jpg", "--debug"],
        ["explain", "--debug", "nowhere.jpg"],
    ],
)
def test_debug_shows_the_traceback_wherever_it_stands(words: list[str]) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert result.output.startswith("Traceback")
    assert "in _missing" in result.output or "FileNotFoundError" in result.output
    assert result.output.splitlines()[-1].startswith("samp: nowhere.jpg is not a file")


def test_a_file_may_be_called_debug() -> None:
    result = run("explain", "--", "--debug")
    assert result.exit_code == 2
    assert result.output.startswith("samp: --debug is not a file")


def test_what_nobody_expected_is_one_sentence_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> str:
        raise RuntimeError("line one\nline two")

    monkeypatch.setattr("samp.methods.table", broken)
    result = run("methods")
    assert result.exit_code == 2
    assert result.output == "samp: unexpected RuntimeError (line one line two): `samp --debug ...` shows where.\n"


@demo
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["explain", "--method", "sampp"], "did you mean 'samp++'?"),
        (["explain", "--target", "1000"], "target 1000 is out of range"),
    ],
)
def test_bad_input_gets_one_sentence_and_exit_code_2(words: list[str], sentence: str) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert sentence in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_each_shell(shell: str) -> None:
    result = run("completion", shell)
    assert result.exit_code == 0
    assert f"_SAMP_COMPLETE={shell}_complete" in result.output


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_completion_works_in_a_shell(tmp_path: Path) -> None:
    """The script is read by bash, which then asks samp itself what fits."""
    (tmp_path / "samp").write_text(
        f'#!/bin/sh\nexec {sys.executable} -c \'from samp.cli import main; main(prog_name="samp")\' "$@"\n'
    )
    (tmp_path / "samp").chmod(0o755)
    script = (
        'eval "$(samp completion bash)"; COMP_WORDS=(samp expl); COMP_CWORD=1; '
        '_samp_completion samp; echo "${COMPREPLY[@]}"'
    )
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    answer = subprocess.run(["bash", "-c", script], env={**os.environ, "PATH": path}, capture_output=True, text=True)
    assert answer.stdout.strip() == "explain", answer.stderr


def test_methods_are_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMP_WORDS", "samp explain --method guided")
    monkeypatch.setenv("COMP_CWORD", "3")
    result = CliRunner().invoke(main, prog_name="samp", env={"_SAMP_COMPLETE": "bash_complete"})
    assert result.output.splitlines() == ["plain,guidedig", "plain,guidedbackprop"]


@pytest.mark.parametrize("command", ["explain", "play", "run"])
def test_qualities_are_completed(monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setenv("COMP_WORDS", f"samp {command} --quality ")
    monkeypatch.setenv("COMP_CWORD", "3")
    result = CliRunner().invoke(main, prog_name="samp", env={"_SAMP_COMPLETE": "bash_complete"})
    assert result.output.splitlines() == [f"plain,{quality}" for quality in QUALITIES]


def test_a_warning_of_ours_is_one_line_and_another_keeps_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    def warned() -> None:
        for place in (samp.cli.__file__, "elsewhere.py"):
            warnings.warn_explicit("there is no room.", UserWarning, place, 7)

    monkeypatch.setattr(samp.cli.Commands, "get_command", lambda *_: warned)
    ours, *others = run("doctor").stderr.splitlines()
    assert ours == "samp: there is no room."
    assert others == ["elsewhere.py:7: UserWarning: there is no room."]
