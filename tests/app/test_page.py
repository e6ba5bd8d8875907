"""The page of `samp app` in chromium, with the real server: from a photo to an answer, step by step."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import samp
from app_pages import (
    ask,
    choose,
    finish_all,
    is_drawn,
    job_of,
    opened,
    photo_file,
    texts,
    upload,
    use,
    wait_for_answer,
    wait_for_end,
    wait_for_prediction,
    wait_until_ready,
)
from app_server import CLASSES, RunningApp, running_app
from browser import Visit, wait_until
from samp.plots.answer_rows import format_share


@pytest.fixture(scope="module")
def app() -> Iterator[RunningApp]:
    with running_app() as running:
        yield running


@pytest.fixture
def seen(chromium: Any, app: RunningApp) -> Iterator[Visit]:
    with opened(chromium, app) as visited:
        yield visited
        finish_all(app)


def test_a_first_visitor_is_offered_a_drop_area_and_the_embedded_photos(seen: Visit) -> None:
    assert seen.page.inner_text("h1") == "Why did the model say that?"
    assert seen.page.is_visible("#drop")
    assert texts(seen.page, "#samples button") == ["coffee", "chelsea"]
    assert is_drawn(seen.page, "#samples img")
    assert not seen.page.is_visible("#question")


def test_an_uploaded_photo_is_looked_at_watched_and_explained(seen: Visit, app: RunningApp, every_step: None) -> None:
    page = seen.page
    upload(page, photo_file("My <i>cup.png"))
    wait_for_prediction(page)
    assert page.inner_text("#name") == "My <i>cup.png"
    assert page.inner_text("#size") == "60 × 40"
    assert sorted(texts(page, "#top span:first-of-type")) == sorted(CLASSES)
    assert is_drawn(page, "#whole")
    best = texts(page, "#top span:first-of-type")[0]
    assert page.inner_text("#why") == f"Why {best}?"
    use(page, "consensus")
    app.held.hold(before=12)
    ask(page)
    app.held.wait_until_held()
    # events come one by one, and each waits for the screen's next frame
    for picture in (".point.to_image img", ".point.to_baseline img", ".map img"):
        wait_until(page, lambda picture=picture: is_drawn(page, picture))
    for mark in ("polyline.now", "circle.dot"):
        wait_until(page, lambda mark=mark: page.locator(mark).count() == 2)
    wait_until(page, lambda: 0 < float(page.eval_on_selector("progress", "bar => bar.value")) < 1)
    assert page.locator(".column[data-state=running]").count() == 1
    before = page.get_attribute(".point.to_image img", "src")
    app.held.let_go()
    wait_for_answer(page)
    assert page.inner_text("h1") == f"Why did the model say {best}?"
    assert page.get_attribute(".map img", "src") != before
    assert is_drawn(page, ".pictures figure:not([hidden]) img")
    assert f"held says {best}" in page.inner_text("#state")
    assert "Without it: " in page.inner_text(".sentence")
    assert texts(page, ".bars dt")[:2] == ["the whole picture", "the outlined part alone"]
    assert {"Method", "Residual", "Cost"} <= set(texts(page, ".facts dt"))


def test_the_walk_can_be_watched_again_and_leads_back_to_the_answer(seen: Visit, every_step: None) -> None:
    page = seen.page
    choose(page)
    use(page, "consensus")
    ask(page)
    wait_for_answer(page)
    answer = page.get_attribute(".map img", "src")
    page.fill(".reel input", "0")
    assert page.get_attribute(".column", "data-shows") == "walk"
    assert texts(page, ".point figcaption")[0].startswith("Pixels appear: ")
    first = page.get_attribute(".map img", "src")
    assert first != answer
    page.click(".reel button")
    page.wait_for_selector("[data-shows=answer]")
    assert page.get_attribute(".map img", "src") == answer


def test_each_score_stands_at_its_own_dot(seen: Visit, every_step: None) -> None:
    page = seen.page
    choose(page)
    use(page, "consensus")
    ask(page)
    wait_for_answer(page)
    above = set()
    for moment in range(int(page.get_attribute(".reel input", "max")) + 1):
        page.fill(".reel input", str(moment))
        dots = page.evaluate(DOTS)
        if len(dots) == 2:
            high, low = sorted(dots, key=lambda dot: dot["y"])
            assert high["score"] < high["y"] < low["y"] < low["score"]
            above.add(high["direction"])
    assert above == {"to_image", "to_baseline"}, "either was the higher one at some moment"


# The chart is drawn with the screen's next frame; dots found in one call and read in another may be of two drawings.
DOTS = """new Promise((done) => requestAnimationFrame(() => done(
  [...document.querySelectorAll("circle.dot")].map((dot) => ({
    direction: dot.classList[1], y: Number(dot.getAttribute("cy")), score: Number(dot.nextSibling.getAttribute("y")),
  })),
)))"""


def test_the_page_answers_while_a_walk_runs(seen: Visit, app: RunningApp, every_step: None) -> None:
    page = seen.page
    choose(page)
    app.held.hold(before=6)
    ask(page)
    app.held.wait_until_held()
    assert page.evaluate("new Promise(go => requestAnimationFrame(() => requestAnimationFrame(() => go(true))))")
    page.click("#theme")
    assert page.get_attribute("html", "data-theme") == "dark"
    page.fill("#search", "cup")
    page.wait_for_selector("#found li")  # the server answers too: the job has a thread of its own
    assert texts(page, "#found li") == ["cup"]
    assert page.get_attribute("body", "data-running") == "yes"


def test_cancel_stops_the_walk_at_its_next_step(seen: Visit, app: RunningApp) -> None:
    page = seen.page
    choose(page)
    app.held.hold(before=7)
    ask(page)
    app.held.wait_until_held()
    page.click("#cancel")
    wait_until(page, lambda: "Stopping" in page.inner_text("#state"))
    job = job_of(page)
    wait_until(page, lambda: app.state.queue.get(job).stopped.is_set())
    app.held.let_go()
    wait_for_end(page)
    assert page.inner_text("#state") == "Stopped."
    assert app.describe(job)["state"] == "cancelled"
    assert app.held.calls == 7, "the call that was under way was the last one"
    ask(page)
    wait_for_answer(page)


def test_another_class_is_found_by_name_and_explained(seen: Visit, app: RunningApp) -> None:
    page = seen.page
    choose(page)
    assert texts(page, "#top span:first-of-type")[0] != "Egyptian cat"
    page.press("body", "/")
    page.keyboard.type("egypt")
    wait_until(page, lambda: texts(page, "#found li") == ["Egyptian cat"])  # and not what "e" alone finds
    page.keyboard.press("Enter")
    assert page.inner_text("#why") == "Why Egyptian cat?"
    use(page, "ig")
    ask(page)
    wait_for_answer(page)
    assert app.describe(job_of(page))["target"] == CLASSES.index("Egyptian cat")
    assert page.inner_text("h1") == "Why would the model say Egyptian cat?", "its answer is another"
    page.reload()
    wait_for_answer(page)
    wait_until(page, lambda: page.inner_text("h1") == "Why would the model say Egyptian cat?")
    page.click("#another")
    assert page.inner_text("h1") == "Why did the model say that?"


def test_one_of_the_best_classes_is_chosen_by_a_click(seen: Visit, app: RunningApp) -> None:
    choose(seen.page)
    second = texts(seen.page, "#top span:first-of-type")[1]
    seen.page.click("#top label >> nth=1")
    assert seen.page.inner_text("#why") == f"Why {second}?"
    ask(seen.page)
    wait_for_answer(seen.page)
    assert app.describe(job_of(seen.page))["target"] == CLASSES.index(second)


def test_shares_are_written_as_in_the_pictures(seen: Visit) -> None:
    with seen.page.expect_response("**/api/predict") as answer:
        choose(seen.page)
    best = answer.value.json()["top"]
    assert texts(seen.page, "#top label > span:nth-of-type(2)") == [format_share(one["probability"]) for one in best]
    by_page = seen.page.evaluate(
        "import('./page/dom.js').then((dom) => [0, 0.004, 0.07, 0.5, 0.996, 1].map(dom.percent))"
    )
    assert by_page == [format_share(share) for share in (0, 0.004, 0.07, 0.5, 0.996, 1)]


def test_a_name_that_no_class_has_is_said_to_be_none(seen: Visit) -> None:
    choose(seen.page)
    seen.page.fill("#search", "zeppelin")
    seen.page.wait_for_selector("#found li")
    assert texts(seen.page, "#found li") == ["No class has “zeppelin” in its name"]
    seen.page.press("#search", "Escape")
    assert not seen.page.is_visible("#found")


def test_up_to_four_methods_are_compared_side_by_side(seen: Visit, app: RunningApp) -> None:
    page = seen.page
    choose(page)
    use(page, "consensus", "samp++", "ig", "random")
    assert not page.is_visible("#methods > button"), "four are the most"
    ask(page)
    wait_for_answer(page)
    assert page.locator(".column[data-state=answered]").count() == 4
    assert texts(page, ".column h3:not(.bars h3)") == ["Consensus", "SAMP++", "Integrated Gradients", "random"]
    assert is_drawn(page, ".column .map img")
    tops = page.eval_on_selector_all(
        ".column .map", "all => all.map(one => Math.round(one.getBoundingClientRect().top))"
    )
    assert len(set(tops)) <= 2
    page.keyboard.press("3")
    assert page.is_checked("#views input[value=map]")
    pictures = page.eval_on_selector_all(".column .map img", "all => all.map(one => one.src)")
    assert len(set(pictures)) == 4
    assert app.describe(job_of(page))["methods"] == ["consensus", "samp++", "ig", "random"]


def test_results_are_exported_in_every_form(seen: Visit, app: RunningApp, tmp_path: Path) -> None:
    page = seen.page
    choose(page)
    use(page, "ig")
    ask(page)
    wait_for_answer(page)
    files = {}
    for kind in ("png", "html", "npz", "samp"):
        page.click("#export summary")
        with page.expect_download() as download:
            page.click(f"#export [data-kind={kind}]")
        files[kind] = tmp_path / download.value.suggested_filename
        download.value.save_as(files[kind])
    assert [path.name for path in files.values()] == [f"coffee-ig.{kind}" for kind in files]
    assert Image.open(files["png"]).width > 300
    assert files["html"].read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "map" in np.load(io.BytesIO(files["npz"].read_bytes()))
    outcome = app.state.queue.get(job_of(page)).outcomes["ig"].explained.result
    assert samp.Attribution.load(files["samp"]).map.equal(outcome.map)
    page.click("#export summary")
    page.click("#export [data-kind=py]")
    page.wait_for_selector("#lines[open]")
    lines = page.inner_text("#lines code")
    compile(lines, "lines", "exec")
    assert "samp.explain(" in lines
    assert "seed=0" in lines


def test_a_refresh_in_the_middle_takes_the_walk_up_again(seen: Visit, app: RunningApp, every_step: None) -> None:
    page = seen.page
    choose(page, "chelsea")
    use(page, "consensus", "ig")
    app.held.hold(before=9)
    ask(page)
    app.held.wait_until_held()
    job = job_of(page)
    page.reload()
    wait_until_ready(page)
    assert job_of(page) == job
    page.wait_for_selector("body[data-running=yes]")
    wait_until(page, lambda: is_drawn(page, "[data-state=running] .point.to_image img"))
    assert page.inner_text("#name") == "chelsea.jpg"
    assert page.get_attribute("body", "data-running") == "yes"
    app.held.let_go()
    wait_for_answer(page)
    wait_for_prediction(page)
    assert page.locator(".column[data-state=answered]").count() == 2
    assert [page.input_value(f"#method-{place}") for place in (0, 1)] == ["consensus", "ig"]
    page.wait_for_selector("#brush:not([hidden])")
    page.reload()
    wait_for_answer(page)
    assert page.locator(".column[data-state=answered]").count() == 2


def test_a_refresh_before_the_question_keeps_the_photo(seen: Visit) -> None:
    upload(seen.page, photo_file("kept.png"))
    wait_for_prediction(seen.page)
    seen.page.reload()
    wait_for_prediction(seen.page)
    assert seen.page.inner_text("#name") == "kept.png"
    seen.page.go_back()
    seen.page.wait_for_selector("#drop", state="visible")


def test_painting_over_a_part_tells_what_the_model_says_without_it(seen: Visit) -> None:
    page = seen.page
    choose(page)
    use(page, "ig")
    ask(page)
    page.wait_for_selector("#brush:not([hidden])")
    page.locator("#canvas").scroll_into_view_if_needed()
    box = page.locator("#canvas").bounding_box()
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 0.5 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + 0.5 * box["height"], steps=5)
    page.mouse.up()
    page.wait_for_selector("#removed:not([hidden])")
    assert texts(page, "#effect .bars >> nth=0 >> dt") == ["with it", "without it"]
    blurred = page.get_attribute("#removed img", "src")
    page.check("#fill input[value=black]", force=True)
    wait_until(page, lambda: page.get_attribute("#removed img", "src") != blurred)
    page.click("#undo")
    page.wait_for_selector("#removed", state="hidden")


def test_the_brush_is_moved_and_set_down_by_keys(seen: Visit) -> None:
    page = seen.page
    choose(page)
    use(page, "ig")
    ask(page)
    page.wait_for_selector("#brush:not([hidden])")
    page.keyboard.press("b")
    for key in ("ArrowLeft", "ArrowUp", "Space"):
        page.keyboard.press(key)
    page.wait_for_selector("#removed:not([hidden])")
    page.keyboard.press("Backspace")
    page.wait_for_selector("#removed", state="hidden")
