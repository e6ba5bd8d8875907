"""`samp app`: what it prints, how it ends, and what it says of mistakes."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cli_runs import PATIENCE, TINY, assert_refused, run, start_command

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT")


@contextmanager
def started(*words: str, **how: Any) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command in a process of its own, and the address that it printed."""
    process = start_command(*words, command="app", **how)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("samp app: open http://"), (line, process.stderr and process.stderr.read())
        yield process, line.split()[3]
    finally:
        process.kill()
        process.wait(PATIENCE)


def get(address: str, path: str) -> Any:
    base, _, token = address.partition("?token=")
    request = urllib.request.Request(base + path.lstrip("/"), headers={"X-Samp-Token": token})
    with urllib.request.urlopen(request, timeout=PATIENCE) as response:
        return json.load(response)


@posix
def test_it_binds_to_loopback_with_a_token_and_ctrl_c_ends_it_cleanly(tmp_path: Path) -> None:
    with started(*TINY, cwd=tmp_path) as (process, address):
        assert address.startswith("http://127.0.0.1:")
        assert len(address.partition("?token=")[2]) >= 32
        info = get(address, "/api/info")
        assert (info["model"], info["demo"]) == ("tiny_nets:classifier", False)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert out == ""
    assert err == "samp app: closed.\n"
    assert list(tmp_path.iterdir()) == [], "nothing is written"


@posix
def test_ctrl_c_in_the_middle_of_a_walk_stops_it(tmp_path: Path) -> None:
    with started("--model", "tiny_nets:slow", cwd=tmp_path) as (process, address):
        base, _, token = address.partition("?token=")
        asked = json.dumps({"photo": "coffee", "methods": ["consensus"], "quality": "fine"}).encode()
        headers = {"X-Samp-Token": token}
        with urllib.request.urlopen(urllib.request.Request(f"{base}api/jobs", asked, headers)) as response:
            job = json.load(response)["job"]
        events = urllib.request.urlopen(urllib.request.Request(f"{base}api/jobs/{job}/events", headers=headers))
        while json.loads(events.readline())["type"] != "progress":
            pass
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert err == "samp app: closed.\n"


def test_a_port_that_is_taken_is_told_in_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert_refused(run("app", *TINY, "--port", str(port)), f"127.0.0.1:{port} cannot be listened on")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--token", "short"], "--token has 16 or more of the letters"),
        (["--token", "with a space and more"], "--token has 16 or more of the letters"),
        (["--demo", "--token", "a" * 20], "--demo lets everybody in: leave out --token"),
        (["--model", "nonsense"], "unknown model 'nonsense'"),
        (["--weights", "none.pt"], "--weights none.pt is not a file"),
    ],
)
def test_mistakes_are_told_in_a_sentence(words: list[str], sentence: str) -> None:
    assert_refused(run("app", *words), sentence)


@pytest.mark.parametrize("package", ["starlette", "uvicorn"])
def test_without_the_extra_a_sentence_says_how_to_install_it(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    result = run("app", *TINY)
    assert_refused(result, "samp app needs starlette and uvicorn: pip install ")
    assert "[app]" in result.output


def test_the_server_is_imported_only_when_it_is_asked_for() -> None:
    code = "import sys, samp.cli.app; sys.exit('starlette' in sys.modules or 'torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
