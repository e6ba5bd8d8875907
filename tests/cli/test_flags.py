"""Errors of the library name arguments, and the command line calls them as the options they are there."""

from __future__ import annotations

import warnings
from pathlib import Path

import click
import pytest

import samp
import samp.cli
from cli_runs import TINY, a_photo, assert_refused, run
from samp.cli.flags import command_flags, name_flags

FLAGS = {"device": "--device", "trust": "--trust", "gpus_per_worker": "--gpus-per-worker", "method": "--method"}


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("give `trust=True`, or leave out `device`.", "give --trust, or leave out --device."),
        ("pass `device='cuda:0'` or `device=`.", "pass --device cuda:0 or --device."),
        ("pass device='cuda', or gpus_per_worker=0.5.", "pass --device cuda, or --gpus-per-worker 0.5."),
        ("pass device=…, or device=....", "pass --device, or --device."),
        ("use method='gradcam', which needs neither.", "use --method gradcam, which needs neither."),
        # a repr, a call, a tuple and what no option sets stay as they are
        ("IG(steps=4, device='cpu') failed", "IG(steps=4, device='cpu') failed"),
        ("(device='cpu', trust=True)", "(device='cpu', trust=True)"),
        ("pass method=RISE(score='logit')", "pass method=RISE(score='logit')"),
        ("pass device=(1, 2)", "pass device=(1, 2)"),
        ("name one by layer=..., or `forward`", "name one by layer=..., or `forward`"),
        ("set RAY_AUTH_MODE=token first", "set RAY_AUTH_MODE=token first"),
    ],
)
def test_only_arguments_become_options(message: str, shown: str) -> None:
    assert name_flags(message, FLAGS) == shown


def test_outside_of_a_command_nothing_is_an_option() -> None:
    assert name_flags("give `trust=True`") == "give `trust=True`"


def test_options_are_those_of_the_command() -> None:
    flags = {name: command_flags(samp.cli.main.get_command(None, name)) for name in samp.cli.COMMANDS}  # type: ignore[arg-type]  # it looks the name up and no more
    assert flags["explain"]["pixels_per_step"] == "--step"
    assert flags["explain"]["method"] == "--method"
    assert flags["compare"]["protocol"] == "--protocol"
    assert flags["run"]["shard_size"] == "--shard-size"
    assert "protocol" not in flags["run"]
    assert flags["methods"] == {}


def test_an_error_names_the_options_of_the_command_that_was_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("no room: pass protocol='rise', or another `size`.")

    monkeypatch.setattr("samp.models.prediction.classify_photo", fail)
    a_photo()
    assert_refused(run("compare", "photo.png", *TINY), "no room: pass --protocol rise, or another --size.")
    assert_refused(run("play", "photo.png", *TINY), "no room: pass protocol='rise', or another --size.")


def test_a_command_of_a_group_has_its_own_options() -> None:
    @click.group()
    def tools() -> None:
        """Some commands."""

    @tools.command()
    @click.option("--data")
    def measure(data: str | None) -> None:
        warnings.warn_explicit("there is no data yet.", UserWarning, samp.cli.__file__, 1)
        raise ValueError("say where it lies by `data`, or by `device`.")

    group = samp.cli.Commands(name="samp", commands={})
    group.get_command = lambda ctx, name: tools  # type: ignore[method-assign]  # in place of the commands of samp
    from click.testing import CliRunner

    result = CliRunner().invoke(group, ["tools", "measure"])
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == "samp: say where it lies by --data, or by `device`."


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["explain", "--model", "tiny_nets:only_32"], "set what it takes by --size and --channels."),
        (["explain", *TINY, "--device", "cuda:77"], "try --device cpu."),
        (["explain", *TINY, "--classes", "two.txt"], "give a file with one name a line for each output as --classes."),
        (["explain", "--model", "squeezenet1_1"], "give a checkpoint as --weights"),
    ],
)
def test_commands_still_name_options(words: list[str], said: str) -> None:
    Path("two.txt").write_text("cup\ncat\n")
    a_photo()
    result = run(words[0], "photo.png", *words[1:])
    assert result.exit_code == 2
    assert said in result.output.splitlines()[-1]
