"""The report as one self-contained HTML page, on the base template and style sheet of samp's own pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from samp.html.embed import EmbeddedImage
from samp.html.render import render_page
from samp.html.svg import stacked_bar
from samp_lab.report.contents import Chapter, Report
from samp_lab.report.html_pictures import embed_picture
from samp_lab.report.html_tables import Badge, Table, badge_states, count_badge, link_to_chapters, make_table
from samp_lab.report.shared_tables import claim_table, summary_table, tally_sentences, tally_table
from samp_lab.report.texts import HEADINGS, LEAD, MEANINGS, PLURALS, SIGNS, TITLE
from samp_lab.sections import Block, Grid, Paragraph, Picture, State, Verdicts

ORDER: tuple[State, ...] = ("holds", "open", "fails", "missing")


@dataclass(frozen=True)
class BlockView:
    """A block of a chapter as the template writes it; `kind` is paragraph, table or picture."""

    kind: str
    text: str = ""
    title: str = ""
    bar: Markup | None = None
    table: Table | None = None
    image: EmbeddedImage | None = None
    caption: str = ""
    note: str = ""


def render_html(report: Report) -> str:
    """Return the whole page.

    >>> from pathlib import Path
    >>> from samp_lab.report.contents import gather_report
    >>> from samp_lab.store import Store
    >>> render_html(gather_report(Store(Path("no such folder")), [])).splitlines()[0]
    '<!doctype html>'
    """
    values = {
        "title": TITLE,
        "lead": LEAD,
        "contents": list(_contents(report)),
        "tallies": [
            _tally(sentence, report.counts(own=bool(own))) for own, sentence in enumerate(tally_sentences(report))
        ],
        "remarks": report.remarks,
        "summaries": list(_summaries(report)),
        "meanings": MEANINGS,
        "facts": report.facts,
        "commands": report.commands,
        "setups": make_table(report.setups) if report.setups.rows else None,
        "chapters": [_chapter(chapter, report) for chapter in report.chapters],
        "left_out": report.left_out,
    }
    scripts = ["theme.js", "paper.js"]
    return render_page("paper.html", values, styles=["paper.css"], scripts=scripts, package="samp_lab.report")


def _contents(report: Report) -> Iterator[dict[str, Any]]:
    """Yield the entries of the contents; the title after its colon is apart, as a narrow screen has no room for it."""
    places: list[tuple[str, str, list[Badge]]] = [
        ("in-short", "In short", []),
        ("reading", "How to read it", []),
        ("made", "How it was made", []),
        *((chapter.anchor, chapter.section.title, _count_badges(chapter)) for chapter in report.chapters),
        *([("not-shown", "Not shown, or stale", [])] if report.left_out else []),
    ]
    for anchor, title, badges in places:
        short, colon, rest = title.partition(":")
        yield {"anchor": anchor, "short": short, "rest": colon + rest if rest else "", "badges": badges}


def _count_badges(chapter: Chapter) -> list[Badge]:
    """Return how many claims of a chapter hold, are open and fail."""
    counts = chapter.counts()
    return [count_badge(state, counts[state]) for state in ORDER if counts[state] and state != "missing"]


def _tally(sentence: str, counts: Counter[State]) -> dict[str, Any]:
    """Return a sentence about claims, their bar, and the numbers below it; neither where there is no claim."""
    legend = [
        {"count": counts[state], "state": state, "text": f"{SIGNS[state]} {PLURALS[state]}"}
        for state in ORDER
        if counts and (counts[state] or state != "missing")
    ]
    return {"sentence": sentence, "bar": _bar(counts), "legend": legend}


def _bar(counts: Counter[State]) -> Markup:
    return stacked_bar({state: counts[state] for state in ORDER})


def _summaries(report: Report) -> Iterator[dict[str, Any]]:
    """Yield the tables of claims that fail or stay open, and the one of all claims."""
    for state, heading in HEADINGS.items():
        claims = report.claims(state)
        if claims:
            links = link_to_chapters(chapter.anchor for chapter, _ in claims)
            badge = Badge(state, SIGNS[state], hidden=True)
            yield {"badge": badge, "heading": heading, "table": make_table(summary_table(claims, heading), links)}
    chapters = [chapter for chapter in report.chapters if chapter.section.verdicts]
    if chapters:
        links = link_to_chapters(chapter.anchor for chapter in chapters)
        yield {"badge": None, "heading": "All claims", "table": make_table(tally_table(chapters), links)}


def _chapter(chapter: Chapter, report: Report) -> dict[str, Any]:
    return {
        "anchor": chapter.anchor,
        "title": chapter.section.title,
        "blocks": [_block(block, report) for block in chapter.section.blocks],
        "remarks": chapter.remarks,
    }


def _block(block: Block, report: Report) -> BlockView:
    match block:
        case Paragraph():
            return BlockView("paragraph", block.text)
        case Grid():
            return BlockView("table", title=block.title, table=make_table(block))
        case Verdicts():
            table = claim_table(block.rows, block.title, states=True)
            badges = badge_states(row.state for row in block.rows)
            bar = _bar(Counter(row.state for row in block.rows))
            return BlockView("table", title=block.title, bar=bar, table=make_table(table, badges))
        case Picture():
            image = embed_picture(block, report.figures)
            if isinstance(image, str):
                return BlockView("picture", note=image)
            return BlockView("picture", image=image, caption=block.caption)
