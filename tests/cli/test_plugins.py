"""Other packages add commands to `samp`: the laboratory does, and where it is not installed samp says how to get it."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution
from pathlib import Path

import click
import pytest

import samp.cli
from cli_runs import environment, run
from samp.cli import main
from samp.extras import lab_install_command

# The distribution and the modules of the laboratory are not found, as where it is not installed.
WITHOUT_LAB = """
import sys
from importlib.machinery import PathFinder

class Hiding:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return None if name.partition(".")[0] == "samp_lab" else PathFinder.find_spec(name, path, target)

    @staticmethod
    def find_distributions(context):
        return (one for one in PathFinder.find_distributions(context) if one.name != "samp-lab")

sys.meta_path = [Hiding if finder is PathFinder else finder for finder in sys.meta_path]
from samp.cli import main
main(prog_name="samp")
"""


def lab_is_installed() -> bool:
    try:
        return bool(distribution("samp-lab"))
    except PackageNotFoundError:
        return False


def in_a_process(code: str, *words: str) -> subprocess.CompletedProcess[str]:
    asked = [sys.executable, "-c", code, *words]
    return subprocess.run(asked, capture_output=True, text=True, check=False, env=environment())


def entry_point(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, samp.cli.PLUGINS)


@click.command()
@click.option("--loud", is_flag=True)
def greet(loud: bool) -> None:
    """Say hello."""
    click.echo("HELLO" if loud else "hello")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[EntryPoint]:
    """The entry points of installed packages, to be filled by a test."""
    entries: list[EntryPoint] = []
    monkeypatch.setattr("samp.cli.entry_points", lambda group: entries if group == samp.cli.PLUGINS else [])
    monkeypatch.setattr("samp.cli.has_other_plugins", lambda: bool(entries))
    return entries


@pytest.mark.skipif(not lab_is_installed(), reason="needs the laboratory: pip install -e ./lab")
def test_with_the_laboratory_bench_works() -> None:
    result = run("bench", "list")
    assert result.exit_code == 0, result.output
    assert "table1" in result.stdout
    assert "bench" in main.list_commands(click.Context(main))


def test_without_the_laboratory_one_sentence_says_how_to_install_it(installed: list[EntryPoint]) -> None:
    for words in (["bench"], ["bench", "list"], ["bench", "--help"]):
        result = run(*words)
        assert result.exit_code == 2
        assert result.output == (
            f"samp: `samp bench` comes with the package samp-lab, which is not installed: {lab_install_command()}.\n"
        )


def test_without_the_laboratory_help_lists_bench_with_its_package(installed: list[EntryPoint]) -> None:
    (line,) = [line for line in run("--help").output.splitlines() if line.split()[:1] == ["bench"]]
    assert "samp-lab" in line or "samp-lab" in run("--help").output
    assert "bench" not in main.list_commands(click.Context(main))  # a shell does not complete it


def test_a_process_without_the_laboratory_says_so_too() -> None:
    refused = in_a_process(WITHOUT_LAB, "bench", "list")
    assert refused.returncode == 2
    assert refused.stdout == ""
    assert refused.stderr == (
        f"samp: `samp bench` comes with the package samp-lab, which is not installed: {lab_install_command()}.\n"
    )
    listed = in_a_process(WITHOUT_LAB, "--help")
    assert listed.returncode == 0
    assert "  bench " in listed.stdout


def test_a_command_of_another_package_is_listed_and_runs(installed: list[EntryPoint]) -> None:
    installed.append(entry_point("greet", f"{__name__}:greet"))
    assert f"A command of the package {__name__.partition('.')[0]}." in run("--help").output
    assert run("greet", "--loud").output == "HELLO\n"
    assert "greet" in main.list_commands(click.Context(main))


def test_a_package_cannot_replace_a_command_of_samp(installed: list[EntryPoint]) -> None:
    installed.append(entry_point("methods", f"{__name__}:greet"))
    assert "coupled" in run("methods").output
    assert main.list_commands(click.Context(main)).count("methods") == 1


def test_a_package_that_is_broken_is_one_sentence(installed: list[EntryPoint]) -> None:
    installed.append(entry_point("greet", "nowhere_to_be_found:greet"))
    result = run("greet")
    assert result.exit_code == 2
    assert result.output == "samp: No module named 'nowhere_to_be_found'\n"


def test_help_does_not_import_other_packages(installed: list[EntryPoint]) -> None:
    installed.append(entry_point("greet", "nowhere_to_be_found:greet"))
    assert run("--help").exit_code == 0


def test_packages_with_commands_are_found_by_their_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", [str(tmp_path / "nowhere"), str(tmp_path)])
    for name, group in (("samp_lab-1.0", "samp.commands"), ("other-2.0", "console_scripts")):
        (tmp_path / f"{name}.dist-info").mkdir()
        (tmp_path / f"{name}.dist-info" / "entry_points.txt").write_text(f"[{group}]\nbench = lab:bench\n")
    assert not samp.cli.has_other_plugins()
    (tmp_path / "third-3.0.dist-info").mkdir()
    (tmp_path / "third-3.0.dist-info" / "entry_points.txt").write_text("[samp.commands]\nhello = third:hello\n")
    assert samp.cli.has_other_plugins()
