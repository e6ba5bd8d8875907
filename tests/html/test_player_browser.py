"""The path player in a real browser: slider, play, keys, themes, narrow screens, and nothing from the network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import samp
from browser import (
    PATIENCE,
    Visit,
    contrast,
    pass_time,
    scrolls_sideways,
    stop_clock,
    visit,
    wait_until,
)
from samp.html import player
from samp.html.player import film
from samp.plots.palette import HEAT, rgb
from small_player import EVIL, SIDE, Bumpy, data_of, explain_tiny, image, tiny


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = player.page(explain_tiny(samp.SAMPPlusPlus(eta=0.05)), tiny(name=EVIL), name=EVIL)
    return player.save(page, tmp_path_factory.mktemp("player") / 'a "page" & <more>.html')


@pytest.fixture
def seen(chromium: Any, path: Path) -> Iterator[Visit]:
    """The page, opened; afterwards it must not have complained or asked the network for anything."""
    with opened(chromium, path) as visited:
        yield visited
    assert visited.faults() == []


@contextmanager
def opened(chromium: Any, path: Path, **context: Any) -> Iterator[Visit]:
    with visit(chromium, path, **context) as visited:
        visited.page.wait_for_selector("html[data-ready]")
        yield visited


# From a copy: reading the page's own canvas again and again would make chromium complain.
READ = """canvas => {
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  return Array.from(copy.getImageData(0, 0, canvas.width, canvas.height).data);
}"""


def position(page: Any) -> int:
    return int(page.input_value("#position"))


def last(page: Any) -> int:
    return int(page.get_attribute("#position", "max"))


def pixels(page: Any, canvas: str) -> np.ndarray:
    """h w 3 of what a canvas shows."""
    levels = np.array(page.eval_on_selector(canvas, READ), dtype=float)
    return levels.reshape(SIDE, SIDE, 4)[..., :3]


def shown(page: Any) -> dict[str, Any]:
    """What the page says of the point where it stands."""
    return {
        "where": page.inner_text("#where"),
        "score": float(page.inner_text("#score").replace("−", "-")),
        "top": page.eval_on_selector_all("#top li", "rows => rows.map(row => row.textContent)"),
        "marker": float(page.get_attribute("#marker", "cx")),
        "direction": page.get_attribute("#player", "data-walk"),
    }


def test_a_page_at_fault_would_be_caught(chromium: Any, tmp_path: Path) -> None:
    out = tmp_path / "faulty.html"
    out.write_text("<script>console.error('oh'); fetch('http://localhost:9/x').catch(() => 0); missing()</script>")
    with visit(chromium, out) as visited:
        wait_until(visited.page, lambda: any("missing is not defined" in error for error in visited.errors))
        wait_until(visited.page, lambda: visited.requests == ["http://localhost:9/x"])
        wait_until(visited.page, lambda: "oh" in visited.errors)


def test_it_opens_on_the_photo_with_the_whole_map(seen: Visit) -> None:
    photo = film.colours(image(), tiny())[0]
    assert np.abs(pixels(seen.page, "#point") - photo).max() <= film.TOLERANCE
    assert shown(seen.page)["direction"] == "to_image"
    assert pixels(seen.page, "#map").max() > 200


@pytest.mark.parametrize("method", [samp.SAMPPlusPlus(eta=0.05), "guidedig"])
def test_every_frame_is_the_point_of_the_walk(chromium: Any, tmp_path: Path, method: Any) -> None:
    result = explain_tiny(method)
    out = player.save(player.page(result, tiny(), frames=9), tmp_path / "page.html")
    reels = [film.make_film(result, way, tiny(), frames=9) for way in player.WALKS if way in result.tapes]
    wanted = np.concatenate([reel.pixels for reel in reels])
    with opened(chromium, out) as visited:
        assert last(visited.page) == len(wanted) - 1
        for number, picture in enumerate(wanted):
            visited.page.fill("#position", str(number))
            off = np.abs(pixels(visited.page, "#point") - picture)
            assert off.max() <= film.TOLERANCE if reels[0].is_straight else off.mean() < 10  # JPEG has half the colours
    assert visited.faults() == []


def first_of_second_walk(path: Path) -> int:
    return len(data_of(path.read_text(encoding="utf-8"))["walks"][0]["steps"])


def test_the_map_grows_along_each_walk_from_nothing(seen: Visit, path: Path) -> None:
    second = first_of_second_walk(path)
    for walk in (range(second), range(second, last(seen.page) + 1)):
        light = []
        for number in walk:
            seen.page.fill("#position", str(number))
            light.append((pixels(seen.page, "#map") - rgb(HEAT[0])).sum())
        assert light[0] == 0
        assert light[-1] > 1000
        assert all(after >= 0.99 * before for before, after in pairwise(light))


def test_the_slider_moves_score_marker_and_classes(seen: Visit) -> None:
    seen.page.fill("#position", "0")
    start = shown(seen.page)
    seen.page.fill("#position", str(last(seen.page) // 4))
    middle = shown(seen.page)
    assert middle["marker"] > start["marker"] + 50
    for what in ("where", "score", "top"):
        assert middle[what] != start[what]
    seen.page.fill("#position", str(last(seen.page)))
    assert shown(seen.page)["direction"] == "to_baseline"
    assert "Pixels disappear" in seen.page.get_attribute("#position", "aria-valuetext")


def test_the_thumb_runs_below_the_marker(seen: Visit) -> None:
    box = seen.page.locator("#position").bounding_box()
    for number in (0, last(seen.page) // 3, last(seen.page)):
        seen.page.fill("#position", str(number))
        thumb = box["x"] + 11 + (box["width"] - 22) * number / last(seen.page)
        marker = seen.page.locator("#marker").bounding_box()
        assert marker["x"] + marker["width"] / 2 == pytest.approx(thumb, abs=1.5)


def test_the_curve_can_be_dragged(seen: Visit) -> None:
    box = seen.page.locator("#chart").bounding_box()
    middle = box["y"] + box["height"] / 2
    seen.page.mouse.move(box["x"] + 60, middle)
    seen.page.mouse.down()
    seen.page.mouse.move(box["x"] + box["width"] * 0.3, middle, steps=5)
    left = position(seen.page)
    seen.page.mouse.move(box["x"] + box["width"] - 2, middle, steps=5)
    seen.page.mouse.up()
    assert 0 < left < last(seen.page) // 2
    assert position(seen.page) == last(seen.page)
    seen.page.mouse.move(box["x"] + 60, middle)
    assert position(seen.page) == last(seen.page)  # let go of


def test_play_walks_from_the_start_and_pause_stops_it(seen: Visit) -> None:
    stop_clock(seen.page)
    seen.page.click("#play")
    assert position(seen.page) == 0
    pass_time(seen.page, 700)
    assert 3 < position(seen.page) < last(seen.page) // 2
    assert seen.page.get_attribute("#play", "aria-label") == "Pause"
    seen.page.click("#play")
    stood = position(seen.page)
    pass_time(seen.page, 2000)
    assert position(seen.page) == stood
    assert seen.page.get_attribute("#play", "aria-label") == "Play"


def test_play_goes_through_both_walks_and_ends(seen: Visit) -> None:
    stop_clock(seen.page)
    seen.page.select_option("#speed", "4")
    seen.page.click("#play")
    pass_time(seen.page, 20_000)
    assert seen.page.get_attribute("#play", "aria-label") == "Play"
    assert position(seen.page) == last(seen.page)


def test_speed_changes_the_pace(seen: Visit) -> None:
    stop_clock(seen.page)
    reached = {}
    for speed in ("0.5", "4"):
        seen.page.select_option("#speed", speed)
        seen.page.keyboard.press("Home")
        seen.page.click("#play")
        pass_time(seen.page, 700)
        seen.page.click("#play")
        reached[speed] = position(seen.page)
    assert reached["4"] > 2 * reached["0.5"]


def test_keys_walk_jump_play_and_pause(seen: Visit) -> None:
    keyboard, end = seen.page.keyboard, last(seen.page)
    seen.page.locator("#position").focus()
    for key, place in {
        "Home": 0,
        "ArrowLeft": 0,
        "ArrowRight": 1,
        "ArrowUp": 2,
        "ArrowDown": 1,
        "PageUp": 11,
        "PageDown": 1,
        "End": end,
    }.items():
        keyboard.press(key)
        assert position(seen.page) == place, key
    keyboard.press("Home")
    stop_clock(seen.page)
    keyboard.press("Space")
    pass_time(seen.page, 500)
    assert position(seen.page) > 1
    keyboard.press("Space")
    assert seen.page.get_attribute("#play", "aria-label") == "Play"


def test_a_page_can_be_scrolled_by_keys(seen: Visit) -> None:
    seen.page.set_viewport_size({"width": 1280, "height": 400})
    seen.page.keyboard.press("PageDown")
    wait_until(seen.page, lambda: seen.page.evaluate("scrollY") > 100)


def test_keys_work_once_whatever_has_the_focus(seen: Visit) -> None:
    stop_clock(seen.page)
    for focused in ("#position", "#play", "#theme"):
        seen.page.keyboard.press("Home")
        seen.page.focus(focused)
        seen.page.keyboard.press("ArrowRight")
        assert position(seen.page) == 1, focused
    seen.page.focus("#play")
    seen.page.keyboard.press("Space")
    assert seen.page.get_attribute("#play", "aria-label") == "Pause"
    seen.page.focus("#speed")
    seen.page.keyboard.press("Home")  # the list's own key
    assert position(seen.page) > 0


def test_buttons_lead_to_the_walks_and_their_ends(seen: Visit, path: Path) -> None:
    middle = first_of_second_walk(path) - 1
    seen.page.click("text=Pixels disappear")
    assert shown(seen.page)["where"].startswith("Step 0 of")
    assert shown(seen.page)["direction"] == "to_baseline"
    places = []
    for button in seen.page.query_selector_all("#ends button"):
        button.click()
        places.append(position(seen.page))
    assert places == [0, middle, last(seen.page)]
    seen.page.click("#forward")
    seen.page.click("#back")
    assert position(seen.page) == last(seen.page) - 1


def test_the_map_can_be_laid_over_the_photo(seen: Visit) -> None:
    seen.page.keyboard.press("Home")
    alone = pixels(seen.page, "#map")
    seen.page.check("#over")
    assert (
        pixels(seen.page, "#map").mean() > alone.mean() + 20
    )  # nothing has moved, so all there is to see is the photo


TEXTS = ("h1 em", "header p", "#way", "#top li span", "#score", "#chance", "#where", "#walks button", "dd", ".keys")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_themes_follow_the_system_can_be_switched_and_be_read(chromium: Any, path: Path, scheme: str) -> None:
    with opened(chromium, path, color_scheme=scheme) as visited:
        other = {"light": "dark", "dark": "light"}[scheme]
        for theme in (scheme, other):
            paper = visited.page.eval_on_selector("body", "b => getComputedStyle(b).backgroundColor")
            assert (int(re.findall(r"\d+", paper)[0]) < 128) == (theme == "dark")
            for place in ("Home", "End"):
                visited.page.keyboard.press(place)
                for text in TEXTS:
                    assert contrast(visited.page, text) >= 4.5, (theme, place, text)
            visited.page.click("#theme")
    assert visited.faults() == []


PARTS = (
    "#point",
    "#map",
    "#play",
    "#position",
    "#speed",
    "#where",
    "#ends button:first-child",
    "#ends button:last-child",
)


@pytest.mark.parametrize("width", [320, 375, 700])
def test_a_narrow_screen_has_all_in_it(chromium: Any, tmp_path: Path, width: int) -> None:
    out = player.save(player.page(explain_tiny(), tiny(classes=("cup",) * 6), name="photo.jpg"), tmp_path / "page.html")
    with opened(chromium, out, width=width, height=740, has_touch=True, is_mobile=True) as visited:
        assert not scrolls_sideways(visited.page)
        boxes = {part: visited.page.locator(part).bounding_box() for part in PARTS}
        for part, box in boxes.items():
            assert box["x"] >= 0, part
            assert box["x"] + box["width"] <= width, part
        assert boxes["#play"]["height"] >= 44  # a thumb's width
        if width < 480:  # pictures and slider are seen together
            assert boxes["#position"]["y"] + boxes["#position"]["height"] <= 740
    assert visited.faults() == []


def test_long_names_do_not_widen_a_narrow_screen(chromium: Any, path: Path) -> None:
    with opened(chromium, path, width=320, height=740, is_mobile=True) as visited:
        assert not scrolls_sideways(visited.page)


def test_names_are_shown_as_they_are_and_run_nothing(seen: Visit) -> None:
    assert seen.page.title() == f"Why {EVIL}? {EVIL}"
    assert seen.page.inner_text("h1") == f"Why {EVIL}?"
    assert EVIL in seen.page.inner_text("header p")
    assert seen.page.query_selector("img[onerror]") is None
    rows: set[str] = set()
    for number in range(last(seen.page) + 1):
        seen.page.fill("#position", str(number))
        rows |= {row.rstrip(" %.<>0123456789") for row in shown(seen.page)["top"]}
    assert EVIL in rows


def test_nothing_moves_by_itself_for_who_wants_less_motion(chromium: Any, path: Path) -> None:
    moving = "b => getComputedStyle(b).transitionDuration"
    with opened(chromium, path, reduced_motion="reduce") as still, opened(chromium, path) as lively:
        assert float(still.page.eval_on_selector("#top b", moving).removesuffix("s")) == 0
        assert float(lively.page.eval_on_selector("#top b", moving).removesuffix("s")) > 0


def test_everything_that_can_be_used_has_a_name_and_a_visible_focus(seen: Visit) -> None:
    unnamed = """() => [...document.querySelectorAll("button, input, select, canvas[role], svg[role]")].filter(
      one => !(one.ariaLabel || one.labels?.length || one.textContent.trim())).map(one => one.outerHTML)"""
    assert seen.page.evaluate(unnamed) == []
    for _ in range(4):
        seen.page.keyboard.press("Tab")
        width = seen.page.evaluate("parseFloat(getComputedStyle(document.activeElement).outlineWidth)")
        assert width >= 2


def test_one_walk_has_one_button_and_two_ends(chromium: Any, tmp_path: Path) -> None:
    out = player.save(player.page(explain_tiny("ig"), tiny()), tmp_path / "ig.html")
    with opened(chromium, out) as visited:
        assert visited.page.inner_text("#walks") == "Pixels appear"
        assert visited.page.locator("#ends button").all_inner_texts() == ["baseline", "photo"]
    assert visited.faults() == []


def test_a_walk_that_goes_nowhere_is_shown_all_the_same(chromium: Any, tmp_path: Path) -> None:
    result = samp.explain(tiny().net.eval(), 0 * image(), target=2, method="ig", keep_points=True)
    out = player.save(player.page(result, tiny()), tmp_path / "still.html")
    with opened(chromium, out) as visited:
        visited.page.keyboard.press("Space")
        assert shown(visited.page)["score"] == 0
    assert visited.faults() == []


def test_deletion_alone_opens_half_way(chromium: Any, tmp_path: Path) -> None:
    out = player.save(player.page(explain_tiny(samp.SAMP(direction="to_baseline")), tiny()), tmp_path / "deletion.html")
    with opened(chromium, out) as visited:
        assert 0 < position(visited.page) < last(visited.page)
        assert visited.page.inner_text("#walks") == "Pixels disappear"
    assert visited.faults() == []


def test_an_old_browser_is_told_so(chromium: Any, path: Path) -> None:
    with chromium.new_context() as context:
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.add_init_script("delete window.DecompressionStream")
        page.goto(path.as_uri())
        page.wait_for_selector("#trouble:not([hidden])")
        assert "try a newer one" in page.inner_text("#trouble")


def test_a_single_output_shows_its_score_and_no_list(chromium: Any, tmp_path: Path) -> None:
    net = torch.nn.Sequential(Bumpy(), torch.nn.Linear(6, 1)).eval()
    result = samp.explain(net, image(), target=0, keep_points=True)
    path = player.save(player.page(result, tiny(net, classes=())), tmp_path / "one.html")
    with opened(chromium, path) as visited:
        assert not visited.page.locator("#top").is_visible()
        assert visited.page.locator("#top-title").inner_text() == "At this point"
        assert visited.page.locator("#chance").inner_text() == "score"
        assert "%" not in visited.page.locator(".classes").inner_text()
        assert visited.page.locator("#score").inner_text()
    assert visited.faults() == []
