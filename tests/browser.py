"""A real browser for tests of pages: Debian's chromium, driven by Playwright for Python.

The fixture `chromium` is everybody's (`conftest.py`):

    def test_a_page(chromium, path_of_a_page):
        with visit(chromium, path_of_a_page) as seen:
            seen.page.keyboard.press("Space")
        assert seen.faults() == []

Where Playwright or chromium is absent, the tests that ask for it are skipped with the reason.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
# Containers often run as root and with a small /dev/shm; chromium refuses the one and crashes on the other.
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage"]
PATIENCE = 300_000  # milliseconds for what takes a moment: a machine may be busy with other things


@dataclass(eq=False)
class Visit:
    """A page that is open, with what it complained about and asked the network for since it was opened."""

    page: Any
    own: str
    """The page's own address."""
    site: str = ""
    """Where the page's own server is; empty for a page from disk, which has none."""
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def faults(self) -> list[str]:
        """Everything that a self-contained page must not do: console errors, exceptions, requests."""
        return self.errors + self.requests

    def record_console(self, said: Any) -> None:
        """A line in the console."""
        if said.type in ("error", "warning"):
            self.errors.append(said.text)

    def record_request(self, asked: Any) -> None:
        """A request; the page itself, its own server and what lies inside it are not the network."""
        own = (self.site, "data:", "blob:") if self.site else ("data:", "blob:")
        if asked.url != self.own and not asked.url.startswith(own):
            self.requests.append(asked.url)


@contextmanager
def launch_browser() -> Iterator[Any]:
    """A headless chromium; skips the test where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("needs chromium: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS, timeout=PATIENCE)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def visit(browser: Any, path: Path, width: int = 1280, height: int = 900, **context: Any) -> Iterator[Visit]:
    """The page at this path, opened from disk; `context` goes to Playwright (`color_scheme="dark"`, …)."""
    with browser.new_context(viewport={"width": width, "height": height}, **context) as fresh:
        fresh.set_default_timeout(PATIENCE)
        yield _open(fresh, path.resolve().as_uri())


@contextmanager
def visit_site(browser: Any, address: str, width: int = 1280, height: int = 900, **context: Any) -> Iterator[Visit]:
    """The page at this address of a server of the test; requests to any other server are faults."""
    with browser.new_context(viewport={"width": width, "height": height}, **context) as fresh:
        fresh.set_default_timeout(PATIENCE)
        yield _open(fresh, address, site=urljoin(address, "/"))


def open_tab(seen: Visit, address: str) -> Visit:
    """Open another tab of the same browser, with what the first one keeps."""
    return _open(seen.page.context, address, seen.site)


def _open(context: Any, address: str, site: str = "") -> Visit:
    seen = Visit(context.new_page(), address, site)
    seen.page.on("console", seen.record_console)
    seen.page.on("pageerror", lambda error: seen.errors.append(str(error)))
    seen.page.on("request", seen.record_request)
    seen.page.goto(address)
    return seen


def wait_until(page: Any, happened: Callable[[], object]) -> None:
    """Wait until this is so; the policy of our pages forbids Playwright's own way of it, a script in the page."""
    for _ in range(PATIENCE // 20):
        if happened():
            return
        page.wait_for_timeout(20)
    pytest.fail(f"it did not happen in {PATIENCE // 1000} seconds")


def stop_clock(page: Any) -> None:
    """From now on time passes in the page only while `pass_time` lets it."""
    page.clock.install(time=datetime(2000, 1, 1))
    page.clock.pause_at(datetime(2000, 1, 2))


def pass_time(page: Any, milliseconds: int) -> None:
    """Let so much time pass in a page whose clock was stopped, frame by frame."""
    page.clock.run_for(milliseconds)


def scrolls_sideways(page: Any) -> bool:
    """Whether the page is wider than its window."""
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))


def contrast(page: Any, selector: str) -> float:
    """The contrast of an element's text to what lies behind it (WCAG 2): from 1 to 21; 4.5 is enough to read."""
    text, behind = (_luminance(colour) for colour in page.eval_on_selector(selector, _COLOURS))
    return (max(text, behind) + 0.05) / (min(text, behind) + 0.05)


# The text's colour, and the first colour behind it that is not see-through.
_COLOURS = """element => {
  const text = getComputedStyle(element).color;
  while (element && getComputedStyle(element).backgroundColor === "rgba(0, 0, 0, 0)") element = element.parentElement;
  return [text, getComputedStyle(element ?? document.documentElement).backgroundColor];
}"""


def _luminance(colour: str) -> float:
    """Of a colour such as "rgb(1, 2, 3)", or "color(srgb 0.1 0.2 0.3)" if the browser mixed it."""
    mixed = colour.startswith("color(srgb ")
    numbers = colour.partition("(")[2].removeprefix("srgb ").removesuffix(")").replace(",", " ").split()
    levels = [float(number) if mixed else int(number) / 255 for number in numbers]
    linear = [level / 12.92 if level <= 0.04045 else ((level + 0.055) / 1.055) ** 2.4 for level in levels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
