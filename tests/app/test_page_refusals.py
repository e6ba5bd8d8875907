"""What the page of `samp app` says when something is refused or goes wrong, and that it goes on afterwards."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from app_pages import (
    ask,
    choose,
    finish_all,
    job_of,
    opened,
    photo_file,
    problem,
    texts,
    upload,
    use,
    wait_for_answer,
    wait_for_end,
    wait_for_prediction,
    wait_until_ready,
)
from app_server import RunningApp, running_app
from browser import Visit, open_tab, visit_site, wait_until
from samp.app.limits import Limits


@pytest.fixture(scope="module")
def app() -> Iterator[RunningApp]:
    with running_app(Limits(bytes=2_000_000)) as running:
        yield running


@pytest.fixture
def seen(chromium: Any, app: RunningApp) -> Iterator[Visit]:
    with opened(chromium, app) as visited:
        yield visited
        finish_all(app)


def file(name: str, content: bytes) -> dict[str, Any]:
    return {"name": name, "mimeType": "image/png", "buffer": content}


def large_photo() -> bytes:
    """100 megapixels in a few kilobytes."""
    content = io.BytesIO()
    Image.new("1", (10_000, 10_000)).save(content, "PNG")
    return content.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        pytest.param("notes.jpg", b"Milk, eggs, bread. " * 20, "notes.jpg is no photo", id="text"),
        pytest.param("cut.png", photo_file()["buffer"][:900], "cut.png cannot be read", id="half-a-photo"),
        pytest.param("huge.png", large_photo(), "10,000 × 10,000 pixels, and up to 50 megapixels", id="100-megapixels"),
        pytest.param(
            "long.png", bytes(2_100_000), "long.png has 2.1 MB, and samp takes photos of up to 2.0 MB", id="long"
        ),
        pytest.param("empty.png", b"", "empty.png is empty", id="empty"),
    ],
)
def test_what_is_no_photo_is_refused_in_a_sentence(seen: Visit, name: str, content: bytes, words: str) -> None:
    upload(seen.page, file(name, content))
    assert words in problem(seen.page)
    assert seen.page.get_attribute("#problem", "role") == "alert"
    assert seen.page.is_visible("#drop")
    choose(seen.page)
    assert not seen.page.is_visible("#problem"), "what went well is the end of what went wrong"


DROP = """([name, content, type]) => {
  const files = new DataTransfer();
  if (name) files.items.add(new File([Uint8Array.from(content)], name, { type }));
  else files.setData("text/uri-list", content);
  const make = (kind) => new DragEvent(kind, { dataTransfer: files, bubbles: true, cancelable: true });
  document.body.dispatchEvent(make("dragenter"));
  const marked = document.body.classList.contains("dropping");
  document.body.dispatchEvent(make("drop"));
  return marked;
}"""

PASTE = """([name, content, type]) => {
  const files = new DataTransfer();
  files.items.add(new File([Uint8Array.from(content)], name, { type }));
  document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData: files, bubbles: true }));
}"""


@pytest.mark.parametrize("script", [DROP, PASTE], ids=["drop", "paste"])
def test_a_photo_is_dropped_or_pasted(seen: Visit, script: str) -> None:
    seen.page.evaluate(script, ["given.png", list(photo_file()["buffer"]), "image/png"])
    wait_for_prediction(seen.page)
    assert seen.page.inner_text("#name") == "given.png"
    assert not seen.page.evaluate("document.body.classList.contains('dropping')")


def test_a_dropped_link_is_not_followed(seen: Visit) -> None:
    seen.page.evaluate(DROP, ["", "https://example.org/cat.jpg", ""])
    assert "not a file" in problem(seen.page)


def test_a_model_that_raises_fails_in_a_sentence_and_others_go_on(seen: Visit, app: RunningApp) -> None:
    page = seen.page
    choose(page)
    page.select_option("#model", "raising")
    wait_until(page, lambda: page.inner_text("#says") == "What raising says")
    use(page, "ig")
    ask(page)
    wait_for_end(page)
    assert "the third layer is missing" in problem(page)
    assert app.describe(job_of(page))["state"] == "failed"
    page.select_option("#model", "held")
    wait_until(page, lambda: page.inner_text("#says") == "What held says")
    ask(page)
    wait_for_answer(page)
    assert not page.is_visible("#problem")


def test_two_tabs_share_one_queue_and_one_history(seen: Visit, app: RunningApp) -> None:
    first, other = seen.page, open_tab(seen, app.url)
    second = other.page
    wait_until_ready(second)
    choose(first)
    choose(second, "chelsea")
    use(first, "ig")
    use(second, "ig")
    app.held.hold(before=5)
    ask(first)
    app.held.wait_until_held()
    ask(second)
    wait_until(second, lambda: second.inner_text("#state") == "Waits for 1 other …")
    names = [job_of(first), job_of(second)]
    for page in (first, second):
        wait_until(page, lambda page=page: page.locator("#history button").count() >= 2)
    app.held.let_go()
    wait_for_answer(first)
    wait_for_answer(second)
    second.click(f"#history [data-job='{names[0]}']")
    wait_for_answer(second)
    assert second.inner_text("#name") == "coffee.jpg"
    assert job_of(second) == names[0]
    assert second.locator("#history [aria-current]").get_attribute("data-job") == names[0]
    assert other.errors == []
    assert other.requests == []


def test_a_job_that_is_gone_leads_back_to_the_start(seen: Visit, app: RunningApp) -> None:
    tab = open_tab(seen, f"{app.url}#job=0123456789abcdef")
    assert "no longer here" in problem(tab.page)
    assert tab.page.is_visible("#drop")


@pytest.mark.parametrize("query", ["?token=wrong", ""])
def test_without_the_right_token_there_is_no_page(chromium: Any, app: RunningApp, query: str) -> None:
    with visit_site(chromium, f"http://127.0.0.1:{app.port}/{query}") as visited:
        assert visited.page.inner_text("h1") == "This page needs its key"
        assert "use the address that `samp app` printed" in visited.page.inner_text("header p")
        assert visited.page.locator("script").count() == 0
        assert visited.requests == []


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files without a line for each request."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def other_site(folder: Path) -> Iterator[str]:
    """A server of somebody else on this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_address[1]}/"
        server.shutdown()


ATTACK = """async ([url, token]) => {
  const body = JSON.stringify({ photo: "coffee", methods: ["ig"] });
  const ask = (options) => fetch(url + "api/jobs", { method: "POST", body, ...options });
  const send = (options) => ask(options).then((answer) => answer.status, () => "blocked");
  const blind = await send({ mode: "no-cors" }); // as a form would send it: the answer cannot be read
  return [blind, await send({ headers: { "X-Samp-Token": token } })];
}"""


def test_a_page_of_another_site_gets_nothing_and_starts_nothing(chromium: Any, app: RunningApp, tmp_path: Path) -> None:
    before = len(app.call("GET", "/api/jobs").json["jobs"])
    (tmp_path / "index.html").write_text(f"<iframe src='{app.url}'></iframe>", encoding="utf-8")
    with other_site(tmp_path) as address, visit_site(chromium, address) as visited:
        answers = visited.page.evaluate(ATTACK, [f"http://127.0.0.1:{app.port}/", app.token])
        assert answers == ["blocked", "blocked"]
        inside = visited.page.frames[1]
        assert "Why did the model" not in inside.content()
    assert len(app.call("GET", "/api/jobs").json["jobs"]) == before


def test_a_server_that_has_gone_is_missed_in_a_sentence(chromium: Any) -> None:
    with visit_site(chromium, "about:blank") as visited:
        with running_app() as app:
            visited.page.goto(app.url)
            wait_until_ready(visited.page)
            choose(visited.page)
        visited.page.click("#why")
        assert "see whether `samp app` is still running" in problem(visited.page)


def test_a_demo_offers_its_own_photos_only(chromium: Any) -> None:
    with running_app(demo=True) as demo, opened(chromium, demo) as visited:
        page = visited.page
        assert not page.is_visible("#drop")
        assert page.inner_text("#embedded h2") == "Try one of these"
        assert texts(page, "#samples button") == ["coffee", "chelsea"]
        page.evaluate(DROP, ["given.png", list(photo_file()["buffer"]), "image/png"])
        assert "its own photos only" in problem(page), "and the browser does not leave the page for the file"
        choose(page)
        use(page, "ig")
        ask(page)
        wait_for_answer(page)
        page.keyboard.press("o")
        page.wait_for_selector("#samples", state="visible")
