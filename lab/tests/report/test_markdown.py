"""Text in the report: what looks like markup stays text, and remarks bring only the little Markdown they may."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

import pytest

from paper_results import EVIL, hostile_report, table_rows
from samp_lab.report.markdown import escape_paragraph, escape_text, render_markdown
from samp_lab.report.remarks import Remark, TextRun, parse
from samp_lab.report.shared_tables import best_and_rest, numeric_columns
from samp_lab.sections import Grid

BENCHMARK = "https://github.com/zbr17/ExplainAttr"
PLACES = ("claims", "in-short", "reading", "what-fails", "what-is-open", "data", "made", "not-shown")

# ---- markup


def test_cells_know_their_best_and_columns_their_numbers() -> None:
    assert best_and_rest("**0.1** ± 0.2 [0, 1]") == ("0.1", " ± 0.2 [0, 1]")
    assert best_and_rest("** not **best**") == ("", "** not **best**")
    grid = Grid(("", "a", "b", "c", "d"), (("1", "**−0.5**", "+1", "x 1", "–"), ("2", "–", "3 %", "2", "–")))
    assert numeric_columns(grid) == [False, True, True, False, False]


@pytest.mark.parametrize(
    "text", ["1. one", "- a", "+ a", "# a", "1.5 [a, b]", "a_b_c", "~~a~~ `b` $c$", "&amp; <b>", EVIL]
)
def test_plain_text_shows_as_it_is(text: str) -> None:
    library = pytest.importorskip("markdown_it", reason="needs markdown-it-py")
    reader = library.MarkdownIt("gfm-like", {"linkify": False})
    assert reader.render(escape_paragraph(text)) == f"<p>{escape(text, quote=False).replace(chr(34), '&quot;')}</p>\n"
    assert f"<td>{escape(text, quote=False).replace(chr(34), '&quot;')}</td>" in reader.render(
        f"| a |\n| --- |\n| {escape_text(text)} |"
    )


def test_hostile_text_stays_text_in_markdown(tmp_path: Path) -> None:
    text = render_markdown(hostile_report(tmp_path))
    without_code = re.sub(r"(?m)^    .*$|(?<!\\)`[^`\n]*`", "", text)
    assert set(re.findall(r"<[^>]*>", without_code)) == {
        *(f'<a id="{place}">' for place in PLACES),
        '<a id="table0">',
        '<a id="script-document-title-hit-script-a-b-c-img-src-x-onerror-document-title-hit-d-e-f-g">',
        "</a>",
        "<https://example.org/?a=1&b=2>",
        f"<{BENCHMARK}>",
    }
    tables = [table_rows(block) for block in text.split("\n\n") if block.startswith("|")]
    assert len(tables) == 10
    assert all(len({len(row) for row in table}) == 1 for table in tables)


def test_another_reader_finds_no_markup_in_hostile_text(tmp_path: Path) -> None:
    library = pytest.importorskip("markdown_it", reason="needs markdown-it-py")
    tokens = library.MarkdownIt("gfm-like", {"linkify": False}).parse(render_markdown(hostile_report(tmp_path)))
    every = [*tokens, *(child for token in tokens for child in token.children or ())]
    raw = "".join(token.content for token in every if token.type in ("html_block", "html_inline"))
    anchors = re.findall(r'<a id="([a-z0-9-]+)"></a>', raw)
    assert re.sub(r'<a id="[a-z0-9-]+"></a>|\s', "", raw) == ""
    links = {token.attrGet("href") for token in every if token.type == "link_open"}
    assert links == {*(f"#{anchor}" for anchor in anchors), "https://example.org/?a=1&b=2", BENCHMARK}
    assert [token.attrGet("src") for token in every if token.type == "image"] == ["figures/good.png"]
    shown = "".join(token.content for token in every if token.type in ("text", "code_inline", "code_block"))
    assert shown.count(EVIL) >= 15  # unescaped again, whole


# ---- remarks


def test_remarks_are_paragraphs_bullets_bold_code_and_links() -> None:
    text = "One **bold** `co<de>` line\ngoes on.\n\n- a [link](https://x.org)\n  and more\n- b\n\n## Head\nTail"
    words, bullets, head, tail = parse(text)
    assert words == Remark(
        (
            (
                TextRun("text", "One "),
                TextRun("bold", "bold"),
                TextRun("text", " "),
                TextRun("code", "co<de>"),
                TextRun("text", " line goes on."),
            ),
        )
    )
    assert bullets.bullets
    assert bullets.lines[0] == (
        TextRun("text", "a "),
        TextRun("link", "link", "https://x.org"),
        TextRun("text", " and more"),
    )
    assert head.lines == ((TextRun("bold", "Head"),),)
    assert tail.lines == ((TextRun("text", "Tail"),),)


@pytest.mark.parametrize(
    "to", ["javascript:alert(1)", "data:text/html,x", "//x.org", "https://x.org/a b", "file:///etc"]
)
def test_a_link_elsewhere_is_no_link(to: str) -> None:
    assert all(run.kind == "text" for remark in parse(f"see [this]({to})") for line in remark.lines for run in line)
