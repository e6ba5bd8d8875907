"""What reaches a terminal: in any encoding, and without control characters of file and class names."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from PIL import Image

from cli_runs import TINY, a_photo, run
from samp.cli import main
from samp.cli.terminal import degrade, printable

NASTY = "a\x1b[31m\nsamp: all is well\r\x07\x9b2J\u202egnp"
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")  # all but the line break
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs file names of any characters")


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def in_encoding(encoding: str, *words: str) -> Result:
    return CliRunner(charset=encoding).invoke(main, list(words))


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "ascii", "cp932"])
@pytest.mark.parametrize(
    "words",
    [
        ["methods"],
        ["compare", "猫×é.png", "--methods", "gradient", *TINY],
        ["explain", "猫×é.png", "--method", "samp++", *TINY],
        ["explain", "missing猫×é.png", *TINY],
        ["--help"],
        ["explain", "--help"],
    ],
    ids=" ".join,
)
def test_no_encoding_ends_a_command(encoding: str, words: list[str]) -> None:
    a_photo("猫×é.png")
    plain, degraded = run(*words), in_encoding(encoding, *words)
    assert degraded.exit_code == plain.exit_code, degraded.output
    assert len(degraded.output.splitlines()) == len(plain.output.splitlines())


def test_a_process_with_such_a_pipe_goes_on_too() -> None:
    env = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    asked = [sys.executable, "-c", "from samp.cli import main; main()", "methods"]
    done = subprocess.run(asked, capture_output=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    assert "up to 2·(ceil(groups/s) + 2·ceil(1/eta)" in done.stdout.decode("cp1252")


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf-8"])
def test_json_is_valid_in_every_encoding_and_keeps_names_as_they_are(encoding: str) -> None:
    name = f"{NASTY}猫×é.png"
    a_photo(name)
    told = json.loads(in_encoding(encoding, "explain", name, "--method", "gradient", "--json", *TINY).stdout)
    assert told["photo"] == name
    told = json.loads(in_encoding(encoding, "explain", f"no{name}", name, "--json", *TINY).stdout.splitlines()[0])
    assert told["photo"] == f"no{name}"
    words = ["compare", name, "--methods", "gradient", "--json", "--out", f"{NASTY}.html", *TINY]
    assert json.loads(in_encoding(encoding, *words).stdout)["out"][0] == f"{NASTY}.html"


@pytest.mark.parametrize(
    "words",
    [
        ["explain", "{}.png", "--out", "{}why.png"],
        ["explain", "{}.png", "--out", "{}/why.txt"],
        ["explain", "{}missing.png"],
        ["explain", "{}broken.png"],
        ["explain", "in{}"],
        ["explain", "{}.png", "--target", "{}"],
        ["explain", "{}.png", "--classes", "{}.txt", "--target", "{}cup"],
        ["explain", "{}.png", "--classes", "{}.txt", "--target", "cup"],
        ["explain", "{}.png", "--method", "{}"],
        ["explain", "{}.png", "--{}"],
        ["explain", "{}.png", "--top", "{}"],
        ["--debug", "explain", "{}missing.png"],
        ["compare", "{}.png", "--methods", "gradient", "--out", "{}.html", "--classes", "{}.txt"],
        ["play", "{}.png", "--method", "ig", "--out", "{}.html"],
        ["run", "in{}", "--out", "out{}", "--method", "gradient"],
        ["run", "{}missing", "--out", "why"],
        ["{}"],
        ["--{}"],
    ],
    ids=lambda words: " ".join(words).replace("{}", "X"),
)
def test_control_characters_of_names_do_not_reach_the_terminal(words: list[str]) -> None:
    a_photo(f"{NASTY}.png")
    a_photo(f"in{NASTY}/{NASTY}.png")
    Path(f"{NASTY}broken.png").write_text("no photo")
    Path(f"in{NASTY}/{NASTY}broken.png").write_text("no photo")
    classes = [f"a\x1b[31m\x9b2J\u202e{name}" for name in "abcde"]
    Path(f"{NASTY}.txt").write_text("\n".join(classes), encoding="utf-8")
    filled = [word.replace("{}", NASTY) for word in words]
    takes_a_model = {"explain", "compare", "play", "run"} & set(words)
    result = run(*filled, *(TINY if takes_a_model else []))
    assert result.output
    assert not CONTROL.search(result.output), ascii(result.output)
    assert "\nsamp: all is well" not in f"\n{result.output}"


def test_files_keep_names_as_they_are() -> None:
    a_photo(f"{NASTY}.png")
    assert run("explain", f"{NASTY}.png", "--method", "gradient", "--out", f"{NASTY}why.png", *TINY).exit_code == 0
    with Image.open(f"{NASTY}why.png") as sheet:
        assert json.loads(sheet.info["samp"])[0]["photo"] == f"{NASTY}.png"


def test_printable_text_is_left_alone() -> None:
    words = "2·⌈1/η⌉ × 猫 👩‍🔬 \\x1b é"  # the joiner in an emoji is no control character
    assert printable(words) == words
    assert printable(printable(NASTY)) == printable(NASTY)


def test_only_what_cannot_be_encoded_is_replaced() -> None:
    import codecs

    codecs.register_error("degrade-here", degrade)
    assert "é × −".encode("latin-1", "degrade-here").decode("latin-1") == "é × -"
    with pytest.raises(UnicodeDecodeError):
        b"\xff".decode("utf-8", "degrade-here")
