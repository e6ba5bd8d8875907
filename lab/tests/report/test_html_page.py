"""The page of the report in a real browser: nothing runs, nothing overflows, all can be read and reached."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from browser import Visit, contrast, scrolls_sideways, visit, wait_until
from paper_results import EVIL, cells_of, hostile_report, write_results
from samp.html.render import read_source
from samp.plots.palette import PAGE
from samp_lab.paper_claims import CLAIMS
from samp_lab.report.contents import gather_report
from samp_lab.report.html_page import render_html
from samp_lab.report.texts import LEAD, TITLE
from samp_lab.tables.metric_table import MetricTable
from samp_lab.tables.table1 import SEEDS, TABLE1


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evil")
    path = folder / "report.html"
    path.write_text(render_html(hostile_report(folder)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Table 1 on two data sets, one in both readings and with seeds, and two more tables to scroll to."""
    folder = tmp_path_factory.mktemp("usual")
    (folder / "remarks").mkdir()
    whys = "".join(f"{key}: A sentence of some sixty letters that says why it is so here.\n" for key in CLAIMS)
    (folder / "remarks" / "claims.md").write_text(whys, encoding="utf-8")
    more = [MetricTable(name, f"{name}: more", {"IG": "ig"}, ("mnist",), {}) for name in ("two", "three")]
    store = write_results(folder, cells_of([TABLE1], ["mnist", "mnist@authors", *SEEDS[:4], "imagenet/mobilenet_v2"]))
    path = folder / "report.html"
    path.write_text(render_html(gather_report(store, [TABLE1, *more])), encoding="utf-8")
    return path


@pytest.fixture
def seen(chromium: Any, evil: Path) -> Iterator[Visit]:
    with visit(chromium, evil) as visited:
        yield visited
        assert visited.faults() == []


# ---- text


def test_text_is_shown_as_it_is_and_runs_nothing(seen: Visit) -> None:
    assert seen.page.title() == TITLE
    assert seen.page.locator("img[onerror], main script").count() == 0
    shown = seen.page.locator("body").inner_text().replace("\N{NO-BREAK SPACE}", " ")
    assert LEAD in shown
    assert shown.count(EVIL) >= 20
    assert seen.page.locator("img").get_attribute("alt") == EVIL
    assert seen.page.evaluate("[...document.links].map(one => one.protocol)") != []
    assert set(seen.page.evaluate("[...document.links].map(one => one.protocol)")) == {"file:", "https:"}


def test_pictures_and_style_load_under_the_pages_own_policy(seen: Visit) -> None:
    assert seen.page.evaluate("[...document.images].every(one => one.complete && one.naturalWidth === 900)")
    assert seen.page.evaluate("getComputedStyle(document.querySelector('td.n')).textAlign") == "right"
    assert "tabular-nums" in seen.page.evaluate("getComputedStyle(document.querySelector('td.n')).fontVariantNumeric")
    policy = seen.page.locator("meta[http-equiv]").get_attribute("content")
    assert policy.startswith("default-src 'none'; img-src data:; script-src 'sha256-")
    assert "unsafe" not in policy


def test_a_state_is_a_word_and_not_a_colour_alone(seen: Visit) -> None:
    badges = seen.page.locator("main td .state")
    assert badges.all_inner_texts() == ["✓ holds", "? open", "✗ fails", "– not measured"]
    colours = badges.evaluate_all("all => all.map(one => getComputedStyle(one).color)")
    assert len(set(colours)) == 4


# ---- order and names


def test_headings_go_down_one_level_at_a_time_and_ids_are_unique(seen: Visit) -> None:
    levels = seen.page.evaluate("[...document.querySelectorAll('h1, h2, h3, h4')].map(one => +one.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    ids = seen.page.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)")
    assert len(set(ids)) == len(ids)


def test_every_link_into_the_page_leads_somewhere(seen: Visit) -> None:
    lost = "all => all.map(one => one.hash.slice(1)).filter(anchor => !document.getElementById(anchor))"
    assert seen.page.locator("a[href^='#']").evaluate_all(lost) == []
    # claims, in short, reading; two chapters; what fails and is open; data, made, not shown
    assert seen.page.locator("#contents a").count() == 3 + 2 + 2 + 3


def test_tables_have_captions_heads_and_names(seen: Visit) -> None:
    assert seen.page.locator("table:not(:has(caption))").count() == 0
    assert seen.page.locator("tbody tr:not(:has(th[scope=row]))").count() == 0
    assert seen.page.locator("thead th:not([scope])").count() == 0
    nameless = """() => [...document.querySelectorAll("button, [role=region], nav, section, img")].filter(
      one => !(one.ariaLabel || one.alt || one.getAttribute("aria-labelledby"))).map(one => one.outerHTML)"""
    assert seen.page.evaluate(nameless) == []
    assert seen.page.locator("html").get_attribute("lang") == "en"


def test_wide_tables_can_be_reached_and_scrolled_by_keyboard(chromium: Any, usual: Path) -> None:
    with visit(chromium, usual, width=390, height=800) as visited:
        box = visited.page.locator("#table1 .scroll").first
        box.focus()
        assert visited.page.evaluate("parseFloat(getComputedStyle(document.activeElement).outlineWidth)") >= 2
        visited.page.keyboard.press("ArrowRight")
        wait_until(visited.page, lambda: visited.page.evaluate("document.activeElement.scrollLeft") > 0)  # smoothly
        name = box.locator("tbody th").first.bounding_box()
        assert name["x"] == pytest.approx(box.bounding_box()["x"], abs=2)  # names stay in sight
    assert visited.faults() == []


# ---- room


@pytest.mark.parametrize("width", [320, 390, 768, 1080, 1280, 1800])
@pytest.mark.parametrize("which", ["evil", "usual"])
def test_nothing_is_wider_than_the_window(
    chromium: Any, request: pytest.FixtureRequest, which: str, width: int
) -> None:
    with visit(chromium, request.getfixturevalue(which), width=width, height=800, is_mobile=width < 500) as visited:
        assert not scrolls_sideways(visited.page)
        inside = visited.page.locator("header, #contents, main > section, .card, img, p, h2").evaluate_all(
            "all => all.map(one => one.getBoundingClientRect()).map(e => e.left >= 0 && e.right <= innerWidth + 0.5)"
        )
        assert len(inside) > 20
        assert all(inside)
    assert visited.faults() == []


def test_table_1_fits_a_laptop(chromium: Any, usual: Path) -> None:
    with visit(chromium, usual, width=1280) as visited:
        boxes = visited.page.locator(".scroll")
        assert boxes.count() >= 6
        assert boxes.evaluate_all("all => all.filter(one => one.scrollWidth > one.clientWidth).length") == 0


# A page of A4 or US letter between chromium's usual margins, in CSS pixels.
@pytest.mark.parametrize("width", [718, 739])
def test_no_column_is_cut_off_in_print(chromium: Any, usual: Path, width: int) -> None:
    with visit(chromium, usual, width=width, height=1000) as visited:
        visited.page.emulate_media(media="print")
        assert not scrolls_sideways(visited.page)
        inside = visited.page.locator("th, td").evaluate_all(
            "all => all.map(one => one.getBoundingClientRect()).map(e => e.left >= 0 && e.right <= innerWidth)"
        )
        assert len(inside) > 300
        assert all(inside)
        assert not visited.page.locator("#theme").is_visible()


# ---- contents


@pytest.mark.parametrize("width", [390, 1280])
def test_the_contents_stay_in_sight_and_mark_where_the_reader_is(chromium: Any, usual: Path, width: int) -> None:
    with visit(chromium, usual, width=width, height=700) as visited:
        now = visited.page.locator("#contents [aria-current]")
        assert now.get_attribute("href") == "#claims"
        for anchor in ("table1", "three"):
            # not by the mouse: the list of links may move on under it while it is on its way
            visited.page.locator(f"#contents a[href='#{anchor}']").evaluate("link => link.click()")
            visited.page.wait_for_selector(f"#contents a[aria-current][href='#{anchor}']")
            assert now.count() == 1
            assert 0 <= now.bounding_box()["y"] < 700
            assert 0 <= now.bounding_box()["x"] < width
    assert visited.faults() == []


def test_all_is_there_without_a_script(chromium: Any, usual: Path) -> None:
    with visit(chromium, usual, java_script_enabled=False) as visited:
        fails_or_open = visited.page.locator("#what-fails, #what-is-open").count()
        assert visited.page.locator("#contents a:visible").count() == 3 + 3 + fails_or_open + 2
        assert visited.page.locator("#table1 tbody tr:visible").count() > 30


# ---- colours


def test_every_colour_of_the_style_sheet_is_in_the_palette() -> None:
    used = re.findall(r"var\(--([a-z0-9-]+)", read_source("paper.css", "samp_lab.report"))
    assert set(used) - {"gap"} <= set(PAGE)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_both_themes_can_be_read(chromium: Any, evil: Path, theme: str) -> None:
    parts = [
        "h1",
        "header p",
        ".tally",
        "thead th",
        "tbody th",
        "td strong",
        ".sure",
        "dd",
        "figcaption",
        "main a",
        "code",
    ]
    parts += [f"td .state.{state}" for state in ("holds", "open", "fails", "missing")]
    parts += ["#contents a", "#contents a[aria-current]", ".note", ".quiet", ".remarks p", "pre"]
    with visit(chromium, evil, color_scheme=theme) as visited:
        light = "getComputedStyle(document.body).backgroundColor"
        usual = visited.page.evaluate(light)
        assert (int(re.findall(r"\d+", usual)[0]) > 128) == (theme == "light")
        for _ in range(2):
            for part in parts:
                assert contrast(visited.page, part) >= 4.5, part
            visited.page.locator("#theme").click()
        assert visited.page.evaluate(light) == usual
    assert visited.faults() == []


# ---- page one


def test_page_one_is_about_one_screen(chromium: Any, usual: Path) -> None:
    """All claims, none hidden, before anything else."""
    with visit(chromium, usual, width=1440, height=900) as visited:
        rows = visited.page.locator("#claims tbody tr")
        assert rows.count() == len(CLAIMS)
        assert visited.page.evaluate("document.querySelector('#claims').getBoundingClientRect().bottom") < 1.5 * 900
        tops = visited.page.locator("h2").evaluate_all("all => all.map(one => one.getBoundingClientRect().top)")
        assert tops[0] == min(tops)
    assert visited.faults() == []
