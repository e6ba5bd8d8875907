"""`samp bench` and its commands: help, errors, and a benchmark that runs."""

from __future__ import annotations

from importlib.metadata import entry_points

import click
import pytest

import samp
import samp_lab
from cli_runs import demo, run
from samp_lab.commands import bench

CONTEXT = click.Context(bench)
NAMES = bench.list_commands(CONTEXT)


def test_samp_finds_the_command_by_its_entry_point() -> None:
    (entry,) = (entry for entry in entry_points(group="samp.commands") if entry.name == "bench")
    assert entry.value == "samp_lab.commands:bench"
    assert entry.load() is bench


def test_the_laboratory_has_the_version_of_samp() -> None:
    assert samp_lab.__version__ == samp.__version__


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_a_help_with_an_example(name: str) -> None:
    command = bench.get_command(CONTEXT, name)
    assert command is not None
    assert f"samp bench {name}" in (command.help or "")
    assert "Example" in (command.help or "")
    for option in command.params:
        assert isinstance(option, click.Argument) or option.help, f"{name} {option.name}"


def test_no_name_is_listed_twice() -> None:
    assert len(set(NAMES)) == len(NAMES)


def test_an_unknown_net_gets_one_sentence() -> None:
    result = run("bench", "overhead", "--net", "resnet5")
    assert result.exit_code == 2
    assert "did you mean 'resnet50'?" in result.output
    assert "Traceback" not in result.output


@demo
def test_bench_overhead_prints_a_table() -> None:
    result = run("bench", "overhead", "--repeats", "1")
    assert result.exit_code == 0, result.output
    header, _, row, *_ = result.output.splitlines()
    assert header.startswith("| net | images |")
    calls, gradients = row.split("|")[4:6]
    assert int(calls) <= float(gradients)  # rows share calls
    assert "torch" in result.output
