"""The documentation site: every page has its place, every link leads somewhere, and nothing comes from the network.

Most tests look at the pages that MkDocs and Zensical are given. Those of the built site need one: `.ci/site` builds it
with both and runs this file with SITE set to its folder.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from browser import scrolls_sideways, visit, wait_until

yaml = pytest.importorskip("yaml", reason="needs PyYAML")

from docsite.check import check_site, read_page  # noqa: E402  (after the skip above)
from docsite.llms import full_text, index_text  # noqa: E402  (likewise)
from docsite.nav import nav_of, read_config, walk_nav  # noqa: E402  (likewise)
from docsite.pages import copied_files, load_api, make_pages  # noqa: E402  (likewise)
from docsite.rewriting import rewrite, space_blocks  # noqa: E402  (likewise)

ROOT = Path(__file__).parents[2]
PARTS = ["Start here", "Tutorials", "How-to", "Explanation", "Reference", "The report", "Benchmarks"]
NAV = [place for _, entries in nav_of(ROOT) for _, place in walk_nav(entries)]


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """Return the Markdown of every page by its place; equations stay as they are without latex2mathml."""
    pytest.importorskip("latex2mathml", reason="needs latex2mathml: .ci/site")
    return dict(make_pages(ROOT))


# ---- the navigation


def test_the_site_has_seven_parts_and_starts_with_five_minutes() -> None:
    assert [title for title, _ in nav_of(ROOT)] == PARTS
    assert "takes five minutes" in (ROOT / "docs" / "index.md").read_text(encoding="utf-8")


def test_every_page_of_docs_is_in_the_navigation_and_every_entry_is_a_page() -> None:
    own = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")} - {"api.md"}
    sections = {f"api/{name}.md" for name in load_api(ROOT).pages()}
    along = {"contributing.md", "changes.md", "laboratory.md", "how-to/examples.md"}
    tutorials = {place for place in NAV if place.startswith("tutorials/0")}  # the folder may not have all of them yet
    assert sorted(NAV) == sorted(own | sections | along | tutorials)
    assert len(tutorials) == 8
    assert len(NAV) == len(set(NAV))


def test_nothing_is_asked_of_the_network_by_the_settings() -> None:
    config = read_config(ROOT)
    assert config["theme"]["font"] is False
    assert [
        address
        for address in re.findall(r"https?://\S+", (ROOT / "mkdocs.yml").read_text())
        if "localhost" not in address
    ] == []
    assert "iframe-worker" in config["extra"]["polyfills"][0]  # else the offline plugin names one on a server


def test_what_is_built_is_not_committed() -> None:
    assert "build/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert read_config(ROOT)["site_dir"].startswith("build/")
    assert read_config(ROOT)["docs_dir"].startswith("build/")


# ---- llms.txt


def test_llms_txt_is_up_to_date() -> None:
    same = (ROOT / "docs" / "llms.txt").read_text(encoding="utf-8") == index_text(ROOT)
    assert same, "docs/llms.txt is behind the pages: run `python tools/build_site.py --llms` and commit it."


def test_llms_txt_names_every_page_and_the_other_file_has_their_text() -> None:
    listed = re.findall(r"\]\(([^)]+)\.html\)", index_text(ROOT))
    made = re.compile(r"api/(?!index)|how-to/examples")  # by a script, and not in docs/
    written = [place for place in NAV if not made.match(place)]
    there = [place for place in written if (ROOT / "docs" / place).is_file() or "/" not in place or "api/" in place]
    assert listed == [place.removesuffix(".md") for place in there]
    assert "samp.explain(model, images)" in full_text(ROOT)


# ---- pages before they are built


def test_every_link_between_pages_leads_to_one(pages: dict[str, str]) -> None:
    along = {path.relative_to(ROOT / "docs").as_posix() for path in copied_files(ROOT)}
    along.add("player.html")  # by docsite.player, when the site is built
    for place, text in pages.items():
        prose = re.sub(r"^(`{3,}).*?^\1$|`[^`\n]*`", "", text, flags=re.DOTALL | re.MULTILINE)
        for link in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", prose):
            there = os.path.normpath(os.path.join(os.path.dirname(place), link))
            assert there in pages or there in along or there.startswith("results/"), (place, link)


def test_each_tutorial_comes_along_as_a_notebook_and_as_a_script() -> None:
    along = {path.relative_to(ROOT / "docs").as_posix() for path in copied_files(ROOT)}
    for place in NAV:
        if place.startswith("tutorials/0"):
            assert {place.replace(".md", ".ipynb"), place.replace(".md", ".py")} <= along
    assert not any(path.endswith(".py") and "/" not in path for path in along), "no script that only builds docs"


def test_links_that_leave_docs_and_the_api_page_are_led_to_where_the_site_has_them() -> None:
    api = {"sampexplain": "api/explain.md"}
    used: list[str] = []

    def on_site(text: str, path: str = "docs/how-to/photos.md") -> str:
        return rewrite(text, path, api, used.append)

    assert on_site("[a](../api.md#sampexplain)") == "[a](../api/explain.md#sampexplain)"
    assert on_site("[a](../../results/report.md#table1)") == "[a](../results/report.html#table1)"
    assert on_site("[a](../../examples/detection.py)") == "[a](examples.md#detectionpy)"
    assert on_site("[a](docs/guide.md)", "CONTRIBUTING.md") == "[a](guide.md)"
    assert on_site("`[a](../api.md)` and [b](https://x.org/a)") == "`[a](../api.md)` and [b](https://x.org/a)"
    assert on_site("```\n[a](../api.md)\n```") == "```\n[a](../api.md)\n```"
    assert "docs/api.md" in used


def test_a_list_after_a_paragraph_is_a_list_and_one_that_goes_on_stays_one() -> None:
    assert space_blocks("Either\n- one\n- two") == "Either\n\n- one\n- two"
    assert space_blocks("- one\n  more\n- two\n\n  of it\n- three") == "- one\n  more\n- two\n\n  of it\n- three"
    assert space_blocks("a\n| b |\n|---|\n| c |") == "a\n\n| b |\n|---|\n| c |"


def test_a_page_that_links_to_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for name in ("mkdocs.yml", "CONTRIBUTING.md", "CHANGELOG.md"):
        (tmp_path / name).write_text("nav: []" if name == "mkdocs.yml" else "# A", encoding="utf-8")
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "README.md").write_text("# B", encoding="utf-8")
    (tmp_path / "docs" / "build_api.py").write_text("anchors = pages = dict", encoding="utf-8")
    (tmp_path / "docs" / "a.md").write_text("[b](b.md)", encoding="utf-8")
    with pytest.raises(ValueError, match=r"a page links to docs/b\.md, which is not there"):
        list(make_pages(tmp_path))


# ---- the check of a built site


def test_the_check_finds_dead_links_and_files_of_others(tmp_path: Path) -> None:
    head = (
        '<link rel="stylesheet" href="https://fonts.example.org/a.css"><script src="//cdn.example.org/a.js"></script>'
    )
    links = '<a href="b.html">1</a><a href="c.html">2</a><a href="b.html#no">3</a><a href="b.html#yes">4</a>'
    (tmp_path / "a.html").write_text(f'{head}{links}<img src="d.png"><a href="https://nowhere">5</a>')
    (tmp_path / "b.html").write_text('<h1 id="yes">b</h1><a href="a.html">back</a><a href="#yes">up</a>')
    faults, summary = check_site(tmp_path)
    assert faults == [
        "a.html loads https://fonts.example.org/a.css",
        "a.html loads //cdn.example.org/a.js",
        "a.html loads d.png, which is not there",
        "a.html links to c.html, which is not there",
        "a.html links to b.html#no, which has no such heading",
        "a.html links to https://nowhere, which is no address",
    ]
    assert summary == "2 pages, 7 links, 1 addresses elsewhere"


# ---- the site as it was built


@pytest.fixture(scope="module")
def site() -> Path:
    if "SITE" not in os.environ:
        pytest.skip("needs a built site: .ci/site builds one and runs this")
    return Path(os.environ["SITE"]).resolve()


def test_nothing_is_wrong_with_the_built_site(site: Path) -> None:
    faults, _ = check_site(site)
    assert faults == []
    for place in NAV:
        assert (site / place).with_suffix(".html").is_file(), place


def test_pages_are_read_as_a_repository_browser_reads_them(site: Path) -> None:
    """By Python-Markdown as by CommonMark: as many items, rows, headings and emphases."""
    markdown_it = pytest.importorskip("markdown_it", reason="needs markdown-it-py")
    reader = markdown_it.MarkdownIt("commonmark", {"html": True}).enable("table")
    for place, text in make_pages(ROOT):
        built = (site / place).with_suffix(".html").read_text(encoding="utf-8")
        article = re.search(r"<article.*?>(.*?)</article>", built, re.DOTALL)
        assert article, place
        assert _counts(article[1]) == _counts(reader.render(re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL))), (
            place
        )


def _counts(html: str) -> dict[str, int]:
    html = re.sub(r"<pre.*?</pre>", "", html, flags=re.DOTALL)
    return {tag: len(re.findall(rf"<{tag}[ >]", html)) for tag in ("li", "tr", "h1", "h2", "h3", "em", "strong", "img")}


def test_the_page_on_the_walk_has_the_player_and_its_equations(site: Path) -> None:
    page = site / "how-it-works.html"
    assert "player.html" in read_page(page).loaded
    assert page.read_text(encoding="utf-8").count("<math ") == 5
    assert "Why espresso?" in (site / "player.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_pages_open_from_disk_without_the_network(site: Path, chromium: Any, width: int, scheme: str) -> None:
    for place in ("index.html", "how-it-works.html", "api/explain.html", "how-to/photos.html"):
        with visit(chromium, site / place, width=width, color_scheme=scheme) as seen:
            seen.page.wait_for_load_state()
            assert not scrolls_sideways(seen.page), place
            assert [address for address in seen.requests if not address.startswith("file:")] == []
            assert seen.errors == []


def test_the_player_in_the_page_plays(site: Path, chromium: Any) -> None:
    with visit(chromium, site / "how-it-works.html") as seen:
        frame = seen.page.frame_locator("iframe.page")
        assert "espresso" in frame.locator("h1").inner_text()
        frame.locator("#position").press("Home")
        start = frame.locator("#position").input_value()
        frame.locator("#play").click()
        wait_until(seen.page, lambda: frame.locator("#position").input_value() != start)
        assert [address for address in seen.requests if not address.startswith("file:")] == []


def test_search_finds_a_function_by_its_words_from_disk(site: Path, chromium: Any) -> None:
    with visit(chromium, site / "index.html") as seen:
        page = seen.page
        page.keyboard.press("/")
        wait_until(page, lambda: page.evaluate("document.activeElement !== document.body"))
        page.keyboard.type("pointing game")
        wait_until(page, lambda: page.locator("a", has_text="samp.metrics.pointing_game").count())  # in a shadow, too
