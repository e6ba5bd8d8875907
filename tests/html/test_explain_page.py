"""The page of `samp explain` in a real browser: themes, narrow screens, hostile names, nothing from the network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from browser import contrast, scrolls_sideways, visit
from cli_runs import a_photo, tiny

EVIL = """<script>document.title = "hit"<img src=x onerror='document.title = "hit"'>"'&lt;& näme.png"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    result = tiny(a_photo(folder / EVIL), "--top", "2", "--out", folder / "why.html")
    assert result.exit_code == 0, result.output
    return folder / "why.html"


def test_it_opens_and_its_pictures_load_under_its_own_policy(chromium: Any, path: Path) -> None:
    with visit(chromium, path) as seen:
        assert seen.page.evaluate("document.images.length") == 8  # four panels for each of two classes
        assert seen.page.evaluate("[...document.images].every(one => one.complete && one.naturalWidth > 0)")
        assert seen.page.evaluate("getComputedStyle(document.querySelector('.panels')).display") == "grid"
        assert seen.page.locator("h2").first.inner_text().startswith("Why ")
    assert seen.faults() == []


def test_its_policy_lets_no_script_run(chromium: Any, path: Path) -> None:
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', path.read_text(encoding="utf-8"))
    assert policy.startswith("default-src 'none'; img-src data:")
    hostile = path.with_name("hostile.html")
    script = "<script>document.title = 'hit'</script><img src=x onerror='document.title = \"hit\"'></body>"
    hostile.write_text(path.read_text(encoding="utf-8").replace("</body>", script), encoding="utf-8")
    with visit(chromium, hostile) as seen:
        assert seen.page.title() != "hit"
    assert any("Content Security Policy" in error for error in seen.errors)


def test_names_are_shown_as_they_are_and_run_nothing(chromium: Any, path: Path) -> None:
    with visit(chromium, path) as seen:
        assert seen.page.title() == f"{EVIL}: why?"
        assert EVIL in seen.page.locator("h1").inner_text()
        assert seen.page.locator("img[onerror]").count() == 0
    assert seen.faults() == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_both_themes_can_be_read(chromium: Any, path: Path, theme: str) -> None:
    with visit(chromium, path, color_scheme=theme) as seen:
        paper = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (int(re.findall(r"\d+", paper)[0]) > 128) == (theme == "light")
        for part in ("h1", "h2", "figcaption", "th", "td", ".notes", "footer"):
            assert contrast(seen.page, part) >= 4.5, part
    assert seen.faults() == []


@pytest.mark.parametrize("width", [320, 480, 1024])
def test_a_narrow_screen_does_not_scroll_sideways(chromium: Any, path: Path, width: int) -> None:
    with visit(chromium, path, width=width, height=740, has_touch=True, is_mobile=width < 500) as seen:
        assert not scrolls_sideways(seen.page)
        for part in ("h1", ".panels", "table", "footer"):
            box = seen.page.locator(part).first.bounding_box()
            assert box["x"] >= 0, part
            assert box["x"] + box["width"] <= width, part
    assert seen.faults() == []
