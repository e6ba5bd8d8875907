"""Draw docs/app-desktop.png, app-phone.png and their dark twins: `python docs/build_app_pictures.py`.

The real app explains the embedded photos, and headless chromium takes the screenshots. It needs the extras `app`,
`demo` and `viz`, Playwright with chromium, and a few minutes on a CPU.
"""

from __future__ import annotations

import io
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from samp.app.guard import Guard
from samp.app.limits import Limits
from samp.app.nets import Nets, OfferedModel
from samp.app.serve import Address, listen, make_server
from samp.app.server import AppState
from samp.models import load

DOCS = Path(__file__).resolve().parent
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage"]  # as a container needs them
PATIENCE = 900_000  # milliseconds
NAME = "efficientnet_lite0"
DESKTOP, PHONE = (1280, 940), (390, 844)


@contextmanager
def running_app() -> Iterator[str]:
    """The app on a free port; yields its address."""
    own = listen("127.0.0.1", 0)
    address = Address("127.0.0.1", own.getsockname()[1], "pictures-of-the-docs")
    state = AppState.open(
        Nets({NAME: OfferedModel(lambda: load(NAME), f"load({NAME!r})", "EfficientNet-Lite0")}), Limits()
    )
    server = make_server(state, Guard(address.token, address.hosts))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [own]})
    thread.start()
    try:
        yield address.url
    finally:
        server.should_exit = True
        thread.join()
        state.queue.close()
        own.close()


def explain_photo(page: Any, photo: str, methods: int = 1) -> None:
    """Choose an embedded photo, and press the button."""
    page.click(f"[data-photo={photo}]")
    page.wait_for_selector("#top label")
    page.wait_for_selector("body:not(.busy)")
    for _ in range(methods - 1):
        page.click("#methods > button")
    page.click("#why")
    page.wait_for_selector("body[data-running=yes]")


def wait_until_share(page: Any, share: float) -> None:
    """Wait until so much of the walk is done, in polls: the page's policy forbids scripts made of text."""
    while page.eval_on_selector("progress", "bar => bar.value") < share:
        page.wait_for_timeout(50)


def save_screenshot(page: Any, name: str, **options: Any) -> None:
    """Save what is in the window; 256 colours keep it small."""
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    shot = Image.open(io.BytesIO(page.screenshot(**options))).convert("RGB")
    shot.quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=2).save(DOCS / name, optimize=True)


def main() -> None:
    """Make the pictures."""
    with running_app() as url, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)

        def visit(size: tuple[int, int], scheme: str, place: str = "") -> Any:
            page = chromium.new_page(viewport=dict(zip(("width", "height"), size, strict=True)), color_scheme=scheme)
            page.set_default_timeout(PATIENCE)
            page.goto(url + place)
            page.wait_for_selector("html[data-ready]", state="attached")
            return page

        page = visit(DESKTOP, "light")
        save_screenshot(page, "app-start.png")
        explain_photo(page, "chelsea")
        page.wait_for_selector(".point")
        wait_until_share(page, 0.68)
        save_screenshot(page, "app-walk.png")
        page.wait_for_selector("#brush:not([hidden])")
        save_screenshot(page, "app-desktop.png")
        answer = f"#{page.url.partition('#')[2]}"
        for size, scheme, name in ((PHONE, "light", "app-phone"), (PHONE, "dark", "app-phone-dark")):
            again = visit(size, scheme, answer)
            again.wait_for_selector("#brush:not([hidden])")
            save_screenshot(again, f"{name}.png")
        dark = visit(DESKTOP, "dark")
        explain_photo(dark, "coffee", methods=3)
        dark.wait_for_selector("#brush:not([hidden])")
        save_screenshot(dark, "app-desktop-dark.png")
        chromium.close()


if __name__ == "__main__":
    main()
