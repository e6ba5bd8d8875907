"""A headless Firefox for tests of pages, driven by Marionette: the protocol that Firefox itself speaks, JSON over TCP.

Playwright drives only a Firefox of its own, which comes from a server that CI need not reach; Debian's firefox-esr has
Marionette built in. Where it is absent, the tests that ask for it are skipped with the reason.
"""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

NAMES = ("firefox-esr", "firefox")
PATIENCE = 300  # seconds for what takes a moment: a machine may be busy with other things
# No first-run pages, updates or reports: nothing that asks the network on its own.
SETTINGS = {
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.homepage_override.mstone": "ignore",
    "datareporting.policy.dataSubmissionEnabled": False,
    "toolkit.telemetry.reportingpolicy.firstRun": False,
    "app.normandy.enabled": False,
    "app.update.auto": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "marionette.port": 0,  # any that is free
}


class Firefox:
    """A window of Firefox: `run` scripts in its page, press keys, take screenshots."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection, self.number = connection, 0
        self._receive()  # its greeting
        wishes = {
            "unhandledPromptBehavior": "ignore",
            "timeouts": dict.fromkeys(("script", "pageLoad"), 1000 * PATIENCE),
        }
        self.command("WebDriver:NewSession", {"capabilities": {"alwaysMatch": wishes}})

    def open(self, address: str) -> None:
        self.command("WebDriver:Navigate", {"url": address})

    def resize(self, width: int, height: int) -> None:
        self.command("WebDriver:SetWindowRect", {"width": width, "height": height})

    def run(self, script: str, *values: Any) -> Any:
        """Return what the body of a function returns in the page."""
        return self.command("WebDriver:ExecuteScript", {"script": script, "args": list(values)})["value"]

    def click(self, selector: str) -> None:
        self.command("WebDriver:ElementClick", {"id": self._find(selector)})

    def type(self, selector: str, text: str) -> None:
        """Type into an element; a path into a file input chooses the file."""
        self.command("WebDriver:ElementSendKeys", {"id": self._find(selector), "text": text})

    def drag(self, selector: str, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Press, move and release the mouse; places are pixels from the middle of the element."""
        origin = {"element-6066-11e4-a52e-4f735466cecf": self._find(selector)}
        moves = [{"type": "pointerMove", "origin": origin, "x": int(x), "y": int(y)} for x, y in (start, end)]
        actions = [moves[0], {"type": "pointerDown", "button": 0}, moves[1], {"type": "pointerUp", "button": 0}]
        hand = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": actions}
        self.command("WebDriver:PerformActions", {"actions": [hand]})

    def wait_for(self, script: str) -> None:
        """Wait until the script returns something true."""
        wait_until(lambda: self.run(f"return {script}"), script)

    def take_screenshot(self, path: Path) -> None:
        picture = self.command("WebDriver:TakeScreenshot", {"full": True})["value"]
        path.write_bytes(base64.b64decode(picture))

    def command(self, name: str, values: dict[str, Any]) -> Any:
        """Return the answer to a command of the protocol; raise AssertionError with its error."""
        self.number += 1
        text = json.dumps([0, self.number, name, values])
        self.connection.sendall(f"{len(text)}:{text}".encode())
        _, number, error, value = self._receive()
        assert number == self.number
        assert error is None, f"{name}: {error}"
        return value

    def _find(self, selector: str) -> str:
        found = self.command("WebDriver:FindElement", {"using": "css selector", "value": selector})["value"]
        return str(next(iter(found.values())))

    def _receive(self) -> Any:
        size = b""
        while not size.endswith(b":"):
            size += self._read(1)
        return json.loads(self._read(int(size[:-1])))

    def _read(self, size: int) -> bytes:
        content = b""
        while len(content) < size:
            part = self.connection.recv(size - len(content))
            assert part, "Firefox has closed the connection"
            content += part
        return content


@contextmanager
def launch_firefox(folder: Path) -> Iterator[Firefox]:
    """A headless Firefox with a profile in this folder; skips the test where there is none."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("needs Firefox: apt-get install firefox-esr")
    lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in SETTINGS.items()]
    (folder / "user.js").write_text("".join(lines), encoding="utf-8")
    words = [found, "--headless", "--marionette", "--no-remote", "--profile", str(folder)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with _connect(folder / "MarionetteActivePort", process) as connection:
            yield Firefox(connection)
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _connect(told: Path, process: subprocess.Popen[bytes]) -> socket.socket:
    """Return a connection to the port that Firefox has taken, and tells in this file."""
    opened: list[socket.socket] = []

    def listens() -> bool:
        assert process.poll() is None, "Firefox ended before it could be driven"
        with suppress(OSError, ValueError):  # the file is not there yet, or empty
            opened.append(socket.create_connection(("127.0.0.1", int(told.read_text())), timeout=PATIENCE))
        return bool(opened)

    wait_until(listens, "Firefox listens")
    return opened[0]


def wait_until(happened: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not happened():
        if time.monotonic() > end:
            pytest.fail(f"it did not happen in {PATIENCE} seconds: {what}")
        time.sleep(0.02)
