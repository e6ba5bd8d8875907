"""The page of `samp compare`: what it holds, and how it behaves in a real browser."""

from __future__ import annotations

import base64
import html
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from browser import Visit, contrast, scrolls_sideways, visit
from compared_photos import EVIL, EVIL_FILE, NAMES, classify_test_photo, page_of, tiny
from samp.cli.compare import compare_all
from samp.compare import Compared, label_methods
from samp.compare_columns import COLUMNS
from samp.html import compare_page, svg
from samp.html.compare_facts import comparison_record, missing_notes
from samp.html.render import read_source
from samp.metrics.protocol_text import describe_protocol
from samp.models.prediction import ClassifiedPhoto
from samp.models.zero_colour import zero_colour
from samp.plots.answer_rows import region_sentence
from samp.plots.shading import brightness
from samp.region import region_of


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> ClassifiedPhoto:
    return classify_test_photo(tmp_path_factory.mktemp("photo"))


@pytest.fixture(scope="module")
def compared(asked: ClassifiedPhoto) -> Compared:
    found, left_out = compare_all(asked, label_methods(NAMES), None, seed=5)
    assert left_out == {}
    return found


@pytest.fixture(scope="module")
def text(asked: ClassifiedPhoto, compared: Compared) -> str:
    return page_of(asked, compared)


def pictures(text: str, kind: str) -> list[Image.Image]:
    found = re.findall(rf'<img class="{kind}[^>]*base64,([^"]*)">', text)
    return [Image.open(io.BytesIO(base64.b64decode(one))) for one in found]


# ---- what the page holds


def test_the_pictures_are_the_maps(text: str, asked: ClassifiedPhoto, compared: Compared) -> None:
    grey, over = pictures(text, "grey"), pictures(text, "over")
    assert len(grey) == len(over) == len(NAMES)
    photo = np.asarray(asked.crop.convert("RGB"), dtype=float)
    for picture, outlined, row in zip(grey, over, compared.rows, strict=True):
        shade = brightness(row.attribution.map[0])
        assert np.array_equal(np.asarray(picture), (255 * shade).round().astype(np.uint8))
        region = region_of(row.attribution)
        assert region_sentence(region) in text
        shown = np.asarray(outlined.resize((12, 12), Image.Resampling.NEAREST), dtype=float)  # the middle of each pixel
        inside = region.mask.numpy()
        assert np.abs(shown - photo)[inside].mean() < 8  # JPEG
        assert shown[~inside].mean() < 0.85 * photo[~inside].mean()


def test_the_curves_are_the_curves(text: str, compared: Compared) -> None:
    for kind, chart in zip(("deletion", "insertion"), re.findall(r'<svg viewBox="0 0 440.*?</svg>', text), strict=True):
        grid = re.findall(r'y1="([\d.]+)".*?<text[^>]*>([−\d.]+)</text>', chart)
        (low, at_low), (high, at_high) = [
            (float(words.replace("−", "-")), float(y)) for y, words in (grid[0], grid[-1])
        ]
        for number, row in enumerate(compared.rows):
            (path,) = re.findall(rf'data-method="{number}">.*?<path class="line" d="M([^"]*)"', chart)
            x, y = np.array([[float(v) for v in point.split(" ")] for point in path.split("L")]).T
            scores = low + (y - at_low) / (at_high - at_low) * (high - low)
            assert scores == pytest.approx(
                getattr(row.curves, f"{kind}_curve")[0].numpy(), abs=0.01
            )  # a tenth of a pixel
            share = (x - svg.CURVES.x_of(0)) / (svg.CURVES.x_of(1) - svg.CURVES.x_of(0))
            assert share == pytest.approx(row.curves.shares.numpy(), abs=0.001)


def test_the_table_holds_the_numbers_and_marks_the_best(text: str, compared: Compared) -> None:
    rows = re.findall(r'<tr class="c\d d\d" data-method="(\d)">(.*?)</tr>', text)
    assert len(rows) == len(NAMES)
    for number, line in rows:
        row = compared.rows[int(number)]
        cells = re.findall(r'<td data-value="([^"]*)">(.*?)</td>', line)
        for column, (value, words) in zip(COLUMNS, cells, strict=True):
            expected = row.numbers(0)[column.key]
            assert (float(value) if value else None) == expected
            assert html.escape(column.format_value(expected)) in words
            assert ("<strong>" in words) == (row.name in compared.best(column, 0))


def test_it_says_what_was_asked_and_how_to_repeat_it(text: str, asked: ClassifiedPhoto, compared: Compared) -> None:
    said = html.unescape(text)
    for row in compared.rows:
        assert row.attribution.method in said
    assert describe_protocol(compared.protocol, 16, zero_colour(asked.classifier), "score") in said
    assert "logit" not in said  # nothing shows that these positive outputs are any
    assert f"{EVIL} (1), score {float(asked.scores[1]):.3f}" in said
    assert "torch.float32, seed 5" in said
    assert torch.__version__ in said
    assert "One photo is no statistics" in said
    for column in COLUMNS:
        assert column.meaning in said


def test_labels_and_names_are_escaped(text: str) -> None:
    assert "<script>document" not in text
    assert "<img src=x" not in text
    assert text.count("</script>") == 2  # facts and program
    (facts,) = re.findall(r'<script type="application/json" id="facts">(.*?)</script>', text)
    assert json.loads(facts)["class"] == EVIL


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    asked = classify_test_photo(tmp_path, tiny(sign=-1.0))
    compared, _ = compare_all(asked, label_methods(["ig", "random"]), None, 0)
    found = comparison_record(asked, compared, {"lrp": "no rule for <Sin>."}, "")
    left_out, curves = missing_notes(compared, found)
    assert left_out == "lrp is left out: no rule for <Sin>."
    assert "divides by the photo's score, which is not above 0 (-" in curves
    text = compare_page.comparison_page(asked, compared, found)
    assert "no rule for &lt;Sin&gt;." in text
    assert 'class="line" d="M1 5H25"' in text  # the legend's
    assert 'class="curve c' not in text
    assert json.dumps(found, allow_nan=False)  # JSON knows no NaN
    assert found["methods"][0]["deletion"] is None
    assert set(found["methods"][0]["deletion_curve"]) == {None}
    assert found["methods"][0]["gradients"] == 51


def test_a_map_without_positive_credit_is_dark_and_says_so() -> None:
    assert compare_page.describe_scale(brightness(-torch.ones(3, 3))) == "no positive credit: all dark"
    assert compare_page.describe_scale(brightness(torch.tensor([[1.0, -1.0]]))) == (
        "brightest: top 1%; dark: no credit, or negative (50% of pixels)"
    )


@pytest.mark.parametrize("size", [(8, 24), (24, 8)])
def test_pictures_keep_their_shape(tmp_path: Path, size: tuple[int, int]) -> None:
    asked = classify_test_photo(tmp_path, tiny(size))
    text = page_of(asked, compare_all(asked, label_methods(["ig"]), None, 0)[0])
    for kind in ("grey", "over"):
        (picture,) = pictures(text, kind)
        assert picture.height * size[1] == picture.width * size[0]
    shown = np.asarray(pictures(text, "over")[0].convert("L"))
    for edge in (shown[0], shown[-1], shown[:, 0], shown[:, -1]):  # no paper beside it, outlines aside
        assert np.median(edge) < 200


def test_further_methods_repeat_the_colours_in_other_dashes() -> None:
    looks = [svg.css_classes(number) for number in range(28)]
    assert len(set(looks)) == 28
    css = read_source("style.css")
    for look in " ".join(looks).split():
        assert look == "d0" or f".{look} {{" in css


# ---- the page in a browser


@pytest.fixture(scope="module")
def path(text: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("page") / "comparison.html"
    out.write_text(text, encoding="utf-8")
    return out


@pytest.fixture
def seen(chromium: Any, path: Path) -> Iterator[Visit]:
    with visit(chromium, path) as visited:
        yield visited
        assert visited.faults() == []


def lit(page: Any) -> set[tuple[str, str]]:
    """What stands out: the kind of each element and its method."""
    found = page.evaluate("[...document.querySelectorAll('.on')].map(e => [e.tagName.toLowerCase(), e.dataset.method])")
    return {(kind, method) for kind, method in found}


def everywhere(method: int) -> set[tuple[str, str]]:
    return {(kind, str(method)) for kind in ("button", "figure", "g", "tr")}


def test_pointing_at_a_method_shows_it_everywhere(seen: Visit) -> None:
    page = seen.page
    assert lit(page) == set()
    for place in (".chip", ".maps figure[data-method]", "tbody tr"):
        page.locator(place).nth(2).hover()
        assert lit(page) == everywhere(2), place
        page.locator("h1").hover()
        assert lit(page) == set(), place


def test_pointing_at_a_curve_picks_it_out_of_the_others(chromium: Any, path: Path) -> None:
    with visit(chromium, path, reduced_motion="reduce") as seen:  # nothing fades slowly
        curve = seen.page.locator(".curve[data-method='7']").last  # the last one drawn lies on top
        curve.scroll_into_view_if_needed()
        place = curve.locator(".line").evaluate(
            "line => { const p = line.getPointAtLength(line.getTotalLength() / 2).matrixTransform(line.getScreenCTM());"
            " return [p.x, p.y]; }"
        )
        seen.page.mouse.move(place[0], place[1] + 3)  # near it is near enough
        assert lit(seen.page) == everywhere(7)
        opacity = "curves => curves.map(one => getComputedStyle(one).opacity)"
        assert set(seen.page.locator(".curve.on").evaluate_all(opacity)) == {"1"}
        assert set(seen.page.locator(".curve:not(.on)").evaluate_all(opacity)) == {"0.16"}
        seen.page.mouse.click(*place)
        seen.page.locator("h1").hover()
        assert lit(seen.page) == everywhere(7)  # a click keeps it


def test_the_readings_tell_the_areas_of_the_method(seen: Visit, compared: Compared) -> None:
    seen.page.locator(".chip").nth(1).hover()
    readings = seen.page.locator(".reading").all_inner_texts()
    row = compared.rows[1]
    assert readings == [
        f"samp: {float(row.curves.deletion[0]):.3f}, lower is better".replace("-", "−"),
        f"samp: {float(row.curves.insertion[0]):.3f}, higher is better".replace("-", "−"),
    ]
    seen.page.locator("h1").hover()
    assert seen.page.locator(".reading").all_inner_texts() == ["lower is better", "higher is better"]


def test_a_method_is_kept_and_let_go_by_keyboard(seen: Visit) -> None:
    page = seen.page
    page.keyboard.press("Tab")  # the theme
    page.keyboard.press("Tab")
    assert lit(page) == everywhere(0)
    page.keyboard.press("Tab")
    assert lit(page) == everywhere(1)
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert lit(page) == everywhere(2)
    page.locator("h1").click()
    assert lit(page) == everywhere(1)
    assert page.locator(".chip[aria-pressed='true']").all_inner_texts() == ["samp"]
    page.keyboard.press("Escape")
    assert lit(page) == set()
    assert page.locator(".chip[aria-pressed='true']").count() == 0


def column(page: Any, place: int) -> list[str]:
    return [row.locator("th, td").nth(place).get_attribute("data-value") for row in page.locator("tbody tr").all()]


@pytest.mark.parametrize(
    ("key", "best_first"), [("deletion", False), ("insertion", True), ("completeness_error", False)]
)
def test_headings_sort_the_best_first_and_then_the_other_way(seen: Visit, key: str, best_first: bool) -> None:
    place = [c.key for c in COLUMNS].index(key) + 1
    head = seen.page.locator("thead th").nth(place)
    for descending in (best_first, not best_first):
        head.locator("button").click()
        values = column(seen.page, place)
        known = [float(value) for value in values if value]
        assert known == sorted(known, reverse=descending)
        assert values[len(known) :] == [""] * (len(values) - len(known))  # dashes stay last
        assert head.get_attribute("aria-sort") == ("descending" if descending else "ascending")
    assert seen.page.locator("[aria-sort]").count() == 1
    seen.page.locator("thead button").first.press("Enter")
    assert column(seen.page, 0) == [str(number) for number in range(len(NAMES))]


def test_maps_are_shown_alone_or_on_the_photo(seen: Visit) -> None:
    grey, over = seen.page.locator(".grey"), seen.page.locator(".over")
    assert grey.first.is_visible()
    assert not over.first.is_visible()
    seen.page.locator("#alone").focus()
    seen.page.keyboard.press("ArrowRight")
    assert not grey.first.is_visible()
    assert over.last.is_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_both_themes_can_be_read(chromium: Any, path: Path, theme: str) -> None:
    with visit(chromium, path, color_scheme=theme) as visited:
        page = visited.page
        light = "getComputedStyle(document.body).backgroundColor"
        usual = page.evaluate(light)
        assert (int(re.findall(r"\d+", usual)[0]) > 128) == (theme == "light")
        for switched in (False, True):
            if switched:
                page.locator("#theme").click()
                assert page.evaluate(light) != usual
            for part in (
                "h1",
                "h1 em",
                "header p",
                ".chip",
                ".quiet",
                "thead button",
                "tbody th",
                "td strong",
                "dd",
                "summary",
            ):
                assert contrast(page, part) >= 4.5, part
        page.locator("#theme").click()
        assert page.evaluate(light) == usual
    assert visited.faults() == []


@pytest.mark.parametrize("width", [320, 360, 480, 768, 1024])
def test_a_narrow_screen_does_not_scroll_sideways(chromium: Any, path: Path, width: int) -> None:
    with visit(chromium, path, width=width, height=740, has_touch=True, is_mobile=width < 500) as visited:
        assert not scrolls_sideways(visited.page)
        for part in ("h1", ".maps", ".charts", ".scroll", ".words", "#methods"):
            box = visited.page.locator(part).first.bounding_box()
            assert box["x"] >= 0, part
            assert box["x"] + box["width"] <= width, part
        if width < 500:
            assert visited.page.evaluate("document.querySelector('.scroll').scrollWidth > innerWidth")
    assert visited.faults() == []


# A page of A4 or US letter between chromium's usual margins, in CSS pixels.
@pytest.mark.parametrize("width", [718, 739])
def test_no_column_is_cut_off_in_print(chromium: Any, path: Path, width: int) -> None:
    with visit(chromium, path, width=width, height=1000) as visited:
        visited.page.emulate_media(media="print")
        assert not scrolls_sideways(visited.page)
        cells = visited.page.locator("th, td").evaluate_all(
            "cells => cells.map(cell => cell.getBoundingClientRect()).map(e => e.left >= 0 && e.right <= innerWidth)"
        )
        assert len(cells) == (len(NAMES) + 1) * (len(COLUMNS) + 1)
        assert all(cells)
        assert visited.page.evaluate("getComputedStyle(document.querySelector('.scroll')).overflowX") == "visible"
        assert not visited.page.locator("#theme").is_visible()
    assert visited.faults() == []


def test_names_are_shown_as_they_are_and_run_nothing(seen: Visit) -> None:
    assert EVIL in seen.page.title()
    assert seen.page.title() != "hit"
    assert seen.page.locator("h1").inner_text() == f"Why {EVIL}?"
    assert EVIL_FILE in seen.page.locator("header p").inner_text()
    assert seen.page.locator("img[onerror]").count() == 0


def test_maps_curves_and_numbers_need_no_script(chromium: Any, path: Path) -> None:
    with visit(chromium, path, java_script_enabled=False) as visited:
        page = visited.page
        assert page.locator(".maps img:visible").count() == len(NAMES) + 1
        assert page.locator(".curve").count() == 2 * len(NAMES)
        assert page.locator("tbody tr").count() == len(NAMES)


def test_everything_that_can_be_used_has_a_name_and_a_visible_focus(seen: Visit) -> None:
    unnamed = """() => [...document.querySelectorAll("button, input, svg[role], [tabindex], img, nav, section")].filter(
      one => !(one.ariaLabel || one.alt || one.labels?.length || one.getAttribute("aria-labelledby")
        || one.textContent.trim())).map(one => one.outerHTML)"""
    assert seen.page.evaluate(unnamed) == []
    for _ in range(30):
        seen.page.keyboard.press("Tab")
        if seen.page.evaluate("document.activeElement === document.body"):
            break
        assert seen.page.evaluate("parseFloat(getComputedStyle(document.activeElement).outlineWidth)") >= 2


def test_pictures_load_under_the_pages_own_policy(seen: Visit) -> None:
    assert seen.page.evaluate("[...document.images].every(one => one.complete && one.naturalWidth > 0)")
    assert seen.page.evaluate("getComputedStyle(document.querySelector('.curve.c1 .line')).stroke") == "rgb(213, 94, 0)"
