"""The page of `samp app` on every screen: phones, dark mode, keys alone, screen readers, and Firefox."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app_pages import (
    ask,
    choose,
    finish_all,
    job_of,
    opened,
    photo_file,
    texts,
    use,
    wait_for_answer,
    wait_for_end,
    wait_until_ready,
)
from app_server import RunningApp, running_app
from browser import contrast, scrolls_sideways, wait_until
from firefox import PATIENCE, launch_firefox
from samp.app.page import list_assets, read_asset, render_app


@pytest.fixture(scope="module")
def app() -> Iterator[RunningApp]:
    with running_app() as running:
        yield running


@pytest.fixture(autouse=True)
def _let_go_in_the_end(app: RunningApp) -> Iterator[None]:
    yield
    finish_all(app)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_no_screen_is_too_narrow_and_all_words_can_be_read(
    chromium: Any, app: RunningApp, width: int, scheme: str
) -> None:
    with opened(chromium, app, width=width, color_scheme=scheme) as seen:
        page = seen.page
        assert not scrolls_sideways(page)
        choose(page)
        assert not scrolls_sideways(page)
        page.evaluate("document.querySelector('#options').open = true")
        use(page, "consensus", "ig")
        ask(page)
        wait_for_answer(page)
        page.wait_for_selector("#brush:not([hidden])")
        assert not scrolls_sideways(page)
        for selector in (
            "h1 em",
            "#why span",
            ".sentence",
            "#brush .quiet",
            ".facts dt",
            "#top label span",
            ".legend span",
        ):
            assert contrast(page, selector) >= 4.5, selector


# Of each chart, the right edge of what stands at its start and the left edge of what stands at its end.
AXIS_WORDS = """charts => charts.map(chart => {
  const [start, end] = [...chart.querySelectorAll("text")].slice(-2).map(words => words.getBoundingClientRect());
  return [start.right, end.left];
})"""


@pytest.mark.parametrize("width", [320, 1190, 1280])
def test_four_walks_side_by_side_have_room_for_their_words_and_sliders(
    chromium: Any, app: RunningApp, width: int, every_step: None
) -> None:
    with opened(chromium, app, width=width) as seen:
        page = seen.page
        choose(page)
        page.evaluate("document.querySelector('#options').open = true")
        use(page, "consensus", "coupled", "samp", "samp++")
        ask(page)
        wait_for_answer(page)
        # the charts are drawn with the screen's next frame, then without the dots of the walk
        wait_until(page, lambda: page.locator(".chart:has(polyline.now)").count() == 4)
        wait_until(page, lambda: page.locator("circle.dot").count() == 0)
        sliders = page.locator(".reel:not([hidden]) input")
        charts = page.eval_on_selector_all(".walk:not([hidden]) .chart", AXIS_WORDS)
        assert len(charts) == sliders.count() == 4
        assert all(slider.bounding_box()["width"] >= 100 for slider in sliders.all())
        assert all(start + 5 < end for start, end in charts)


def test_the_history_tells_qualities_apart(chromium: Any, app: RunningApp) -> None:
    with opened(chromium, app) as seen:
        page = seen.page
        choose(page)
        for quality in ("standard", "draft"):
            use(page, "coupled", quality=quality)
            ask(page)
            wait_for_answer(page)
            words = "Coupled" if quality == "standard" else "Coupled · draft"
            wait_until(page, lambda words=words: page.inner_text("#history [aria-current] span") == words)


# Each list of jobs that the server sends waits in `answers` until the test calls it.
HOLD_ANSWERS = """(() => {
  const real = window.fetch;
  window.answers = [];
  window.fetch = async (path, options) => {
    const answer = await real(path, options);
    if (path !== "api/jobs" || options.method) return answer;
    return new Promise((done) => window.answers.push(() => done(answer)));
  };
})()"""


def test_an_answer_about_the_history_that_was_overtaken_changes_nothing(chromium: Any, app: RunningApp) -> None:
    with opened(chromium, app) as seen:
        page = seen.page
        choose(page)
        use(page, "ig")
        page.evaluate(HOLD_ANSWERS)
        app.held.hold(before=3)
        ask(page)
        wait_until(page, lambda: page.evaluate("answers.length") == 1)  # the job waits or runs
        app.held.let_go()
        wait_for_answer(page)
        wait_until(page, lambda: page.evaluate("answers.length") == 2)
        entry = f"#history [data-job='{job_of(page)}'] span"
        page.evaluate("answers[1]()")
        wait_until(page, lambda: texts(page, entry) == ["Integrated Gradients · draft"])
        page.evaluate("answers[0]()")
        page.evaluate("new Promise((done) => setTimeout(done, 50))")
        assert texts(page, entry) == ["Integrated Gradients · draft"]


def test_an_entry_of_the_history_keeps_the_focus_when_another_job_ends(chromium: Any, app: RunningApp) -> None:
    with opened(chromium, app) as seen:
        page = seen.page
        choose(page)
        use(page, "ig")
        ask(page)
        wait_for_answer(page)
        first = job_of(page)
        app.held.hold(before=3)
        ask(page)
        second = job_of(page)
        page.wait_for_selector(f"#history [data-job='{second}']")
        page.focus(f"#history [data-job='{first}']")
        app.held.let_go()
        wait_until(page, lambda: texts(page, f"[data-job='{second}'] span") == ["Integrated Gradients · draft"])
        assert page.evaluate("document.activeElement.dataset.job") == first
        assert page.get_attribute("#history button >> nth=0", "data-job") == second, "the newest is first"


def test_the_names_in_the_history_can_be_read_on_a_phone(chromium: Any, app: RunningApp) -> None:
    with opened(chromium, app, width=390, height=844) as seen:
        page = seen.page
        choose(page)
        for _ in range(4):
            ask(page)
            wait_for_answer(page)
        wait_until(page, lambda: page.locator("#history li").count() >= 4)
        cut = "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.innerText)"
        assert page.eval_on_selector_all("#history strong", cut) == []
        assert not scrolls_sideways(page)


def test_the_button_is_in_sight_on_a_phone_before_during_and_after_a_walk(chromium: Any, app: RunningApp) -> None:
    with opened(chromium, app, width=390, height=844, has_touch=True) as seen:
        page = seen.page
        choose(page)
        height = page.viewport_size["height"]
        for button, act in (("#why", ask), ("#cancel", lambda page: page.click("#cancel")), ("#why", wait_for_end)):
            if button == "#why" and act is ask:
                app.held.hold(before=8)
            box = page.locator(button).bounding_box()
            assert 0 <= box["y"] <= height - box["height"]
            act(page)
            if act is ask:
                app.held.wait_until_held()
            else:
                app.held.let_go()
                wait_for_end(page)


def test_everything_can_be_done_by_keys(chromium: Any, app: RunningApp) -> None:
    with opened(chromium, app) as seen:
        page = seen.page
        page.focus("[data-photo=chelsea]")
        page.keyboard.press("Enter")
        wait_until(page, lambda: page.evaluate("document.activeElement.id") == "why")
        app.held.hold(before=8)
        page.keyboard.press("Enter")
        app.held.wait_until_held()
        page.wait_for_selector("body[data-running=yes]")
        page.keyboard.press("Escape")
        wait_until(page, lambda: "Stopping" in page.inner_text("#state"))
        app.held.let_go()
        wait_for_end(page)
        page.keyboard.press("c")
        assert page.locator("#methods select").count() == 2
        page.click("h1")
        before = page.url
        page.keyboard.press("Enter")
        wait_until(page, lambda: page.url != before)
        wait_for_answer(page)
        for key, view in (("1", "overlay"), ("2", "glow"), ("5", "rest")):
            page.keyboard.press(key)
            assert page.is_checked(f"#views input[value={view}]")
        page.keyboard.press("e")
        assert page.evaluate("document.activeElement.dataset.kind") == "png"
        page.keyboard.press("Escape")
        assert not page.is_visible("#export button")
        page.keyboard.press("h")
        assert page.evaluate("document.activeElement.closest('#history') !== null")
        page.keyboard.press("?")
        assert {"Enter", "Esc", "1 – 5", "?"} <= set(texts(page, "#key-list kbd"))
        page.keyboard.press("Escape")
        assert not page.is_visible("#help-box")


def test_what_has_the_focus_can_be_seen(chromium: Any, app: RunningApp) -> None:
    with opened(chromium, app) as seen:
        choose(seen.page)
        outlines = set()
        for _ in range(12):
            seen.page.keyboard.press("Tab")
            outlines.add(seen.page.evaluate(OUTLINE))
        assert "none" not in outlines


# Of what has the focus, or of the part of its label that shows it; after the last control nothing has it.
OUTLINE = """(() => {
  const one = document.activeElement;
  if (one === document.body) return "past the last";
  const all = [one, one.nextElementSibling, one.closest("label")].filter(Boolean);
  return all.map((each) => getComputedStyle(each).outlineStyle).find((style) => style !== "none") ?? "none";
})()"""

UNNAMED = """[...document.querySelectorAll("button, input, select, canvas, img, summary, [role=listbox]")]
  .filter((one) => !one.closest("[hidden]") && one.type !== "file")
  .filter((one) => !(one.textContent.trim() || one.labels?.length || one.ariaLabel || one.hasAttribute("alt")))
  .map((one) => one.outerHTML.slice(0, 80))"""


def test_screen_readers_are_told_names_and_progress(chromium: Any, app: RunningApp) -> None:
    with opened(chromium, app) as seen:
        page = seen.page
        choose(page)
        use(page, "ig")
        ask(page)
        page.wait_for_selector("#brush:not([hidden])")
        assert page.evaluate(UNNAMED) == []
        assert page.get_attribute("#live", "aria-live") == "polite"
        assert "held says" in page.inner_text("#live")


def test_the_theme_that_was_chosen_is_kept(chromium: Any, app: RunningApp) -> None:
    with opened(chromium, app, color_scheme="light") as seen:
        paper = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
        seen.page.click("#theme")
        dark = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert dark != paper
        seen.page.reload()
        wait_until_ready(seen.page)
        assert seen.page.evaluate("getComputedStyle(document.body).backgroundColor") == dark


def test_the_page_names_nothing_but_its_own_files() -> None:
    page = render_app()
    assert "style=" not in page
    assert "http:" not in page
    assert "https:" not in page
    for name in list_assets():
        text, kind = read_asset(name) or ("", "")
        assert kind.startswith("text/")
        assert "https://" not in text
        assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert read_asset("nothing.js") is None


@pytest.mark.browser
def test_firefox_goes_from_an_upload_to_an_answer_and_asks_nobody_else(app: RunningApp, tmp_path: Path) -> None:
    photo, profile = tmp_path / "photo.png", tmp_path / "profile"
    photo.write_bytes(photo_file()["buffer"])
    profile.mkdir()
    app.held.let_go()
    with launch_firefox(profile) as firefox:
        firefox.resize(1280, 950)
        firefox.open(app.url)
        firefox.wait_for("'ready' in document.documentElement.dataset")
        firefox.run("document.querySelector('#file').hidden = false")  # Firefox types into what it shows
        firefox.type("#file", str(photo))
        firefox.wait_for("document.querySelector('#top label') && !document.body.classList.contains('busy')")
        app.held.hold(before=10)
        firefox.click("#why")
        app.held.wait_until_held()
        firefox.wait_for("document.querySelector('.point.to_image img')?.naturalWidth > 0")
        firefox.click("#cancel")
        firefox.wait_for("document.querySelector('#state').textContent.startsWith('Stopping')")
        assert app.state.queue.running.stopped.wait(PATIENCE), "the server is told"
        app.held.let_go()
        firefox.wait_for("document.querySelector('#state').textContent === 'Stopped.'")
        firefox.click("#methods > button")
        firefox.click("#why")
        firefox.wait_for("document.querySelectorAll('[data-state=answered]').length === 2")
        firefox.wait_for("!document.querySelector('#brush').hidden")
        firefox.run("document.querySelector('#canvas').scrollIntoView({ block: 'center' })")
        firefox.drag("#canvas", (-40, 0), (40, 0))
        firefox.wait_for("!document.querySelector('#removed').hidden")
        firefox.run("window.isOld = true; location.reload()")
        firefox.wait_for("!window.isOld && document.querySelectorAll('[data-state=answered]').length === 2")
        asked = firefox.run("return performance.getEntriesByType('resource').map(one => one.name)")
        assert asked
        assert all(name.startswith((app.url.partition("?")[0], "data:", "blob:")) for name in asked)
        assert not firefox.run("return document.querySelector('#problem').hidden === false")
