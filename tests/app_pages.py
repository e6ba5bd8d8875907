"""What tests of the app's page do again and again: open it, choose a photo, ask, wait for the answer."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from PIL import Image

import firefox
from app_server import RunningApp
from browser import Visit, visit_site, wait_until

REFUSED = "Failed to load resource"  # what chromium writes into the console for every refusal


@contextmanager
def opened(chromium: Any, app: RunningApp, **context: Any) -> Iterator[Visit]:
    """The page, ready to be used; afterwards it must not have complained, nor asked another server for anything."""
    with visit_site(chromium, app.url, **context) as seen:
        wait_until_ready(seen.page)
        yield seen
        assert [fault for fault in seen.faults() if not fault.startswith(REFUSED)] == []


def finish_all(app: RunningApp) -> None:
    """Let the net go, and wait until no job is left that could take its calls from the next test."""
    app.held.let_go()
    queue = app.state.queue
    firefox.wait_until(lambda: queue.running is None and not queue.waiting, "every job ends")


def wait_until_ready(page: Any) -> None:
    page.wait_for_selector("html[data-ready]", state="attached")


def photo_file(name: str = "a photo.png", size: tuple[int, int] = (60, 40)) -> dict[str, Any]:
    """A file to upload, as Playwright takes it."""
    pixels = np.random.default_rng(0).integers(0, 256, (*size[::-1], 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return {"name": name, "mimeType": "image/png", "buffer": file.getvalue()}


def upload(page: Any, file: dict[str, Any]) -> None:
    page.set_input_files("#file", file)


def choose(page: Any, photo: str = "coffee") -> None:
    """Choose an embedded photo, and wait for what the model says of it."""
    page.click(f"[data-photo={photo}]")
    wait_for_prediction(page)


def wait_for_prediction(page: Any) -> None:
    page.wait_for_selector("#top label")
    page.wait_for_selector("body:not(.busy)")


def use(page: Any, *methods: str, quality: str = "draft") -> None:
    """Choose these methods, and a quality."""
    for place, name in enumerate(methods):
        if place:
            page.click("#methods > button")
        page.select_option(f"#method-{place}", name)
    page.check(f"#qualities input[value={quality}]", force=True)


def ask(page: Any) -> None:
    """Press the button, and wait until the page has a job, which may be over in a moment."""
    before = page.url
    page.click("#why")
    wait_until(page, lambda: "job=" in page.url and page.url != before)


def wait_for_end(page: Any) -> None:
    page.wait_for_selector("body[data-running=no]")


def wait_for_answer(page: Any) -> None:
    wait_for_end(page)
    page.wait_for_selector("[data-state=answered]")


def job_of(page: Any) -> str:
    """The id of the job on the page, which stands in its address."""
    return str(page.url.partition("job=")[2])


def problem(page: Any) -> str:
    """The sentence that the page shows about what went wrong."""
    page.wait_for_selector("#problem:not([hidden])")
    return str(page.inner_text("#problem span"))


def texts(page: Any, selector: str) -> list[str]:
    return [str(text).strip() for text in page.locator(selector).all_inner_texts()]


def is_drawn(page: Any, selector: str) -> bool:
    """Whether every picture of this selector is loaded, and there is one."""
    script = "all => all.length > 0 && all.every(one => one.complete && one.naturalWidth > 0)"
    return bool(page.eval_on_selector_all(selector, script))
