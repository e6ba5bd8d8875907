"""The report as one self-contained HTML page, on the base template and style sheet of samp's own pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from samp.html.embed import EmbeddedImage
from samp.html.render import render_page
from samp.html.svg import stacked_bar
from samp_lab.report.chapter import Chapter, Part, select_part
from samp_lab.report.contents import Report
from samp_lab.report.disagreements import ClaimGroup, group_by_claim, own_group
from samp_lab.report.html_pictures import embed_picture
from samp_lab.report.html_tables import (
    Badge,
    Table,
    badge_claims,
    badge_states,
    count_badge,
    link_to_chapters,
    make_table,
)
from samp_lab.report.page_one import claims_sentence, claims_table
from samp_lab.report.remarks import parse
from samp_lab.report.shared_tables import claim_table, summary_table, tally_sentence, tally_table
from samp_lab.report.texts import (
    ANCHORS,
    FIGURES,
    HEADINGS,
    LEAD,
    MEANINGS,
    OWN,
    OWN_LEAD,
    PLURALS,
    READINGS,
    SIGNS,
    TABLES,
    TITLE,
)
from samp_lab.sections import Block, Grid, Paragraph, Picture, State, Verdicts

ORDER: tuple[State, ...] = ("holds", "open", "fails", "missing")
PARTS: tuple[Part, ...] = ("tables", "figures")


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
        "claims_sentence": claims_sentence(report.claims),
        "claims": make_table(claims_table(report.claims), badge_claims(report.claims)),
        "readings": parse(READINGS),
        "tally": _tally(report.counts(own=False), "of the paper"),
        "remarks": report.remarks,
        "tally_table": _tally_table([chapter for chapter in report.chapters if chapter.part != "own"]),
        "meanings": MEANINGS,
        "chapters": [_chapter(one, report) for part in PARTS for one in select_part(report.chapters, part)],
        "disagreements": list(_disagreements(report)),
        "own": _own_part(report),
        "card": [
            {"heading": grid.title, "table": make_table(grid)} for grid in (report.data, report.nets) if grid.rows
        ],
        "facts": report.facts,
        "commands": report.commands,
        "setups": make_table(report.setups) if report.setups.rows else None,
        "left_out": report.left_out,
    }
    scripts = ["theme.js", "paper.js"]
    return render_page("paper.html", values, styles=["paper.css"], scripts=scripts, package="samp_lab.report")


def _disagreements(report: Report) -> Iterator[dict[str, Any]]:
    """Yield the sections on what fails and what stays open."""
    for state, heading in HEADINGS.items():
        groups = [_group(group, group.title) for group in group_by_claim(report, state)]
        if groups:
            badge = Badge(state, SIGNS[state], hidden=True)
            yield {"anchor": ANCHORS[state], "badge": badge, "heading": heading, "groups": groups}


def _own_part(report: Report) -> dict[str, Any] | None:
    """Return our own method's part: its counts, what fails and what is open, and its chapters; None without any."""
    chapters, counts = select_part(report.chapters, "own"), report.counts(own=True)
    if not (chapters or counts):
        return None
    return {
        "title": OWN,
        "lead": OWN_LEAD,
        "tally": _tally(counts, "of our own"),
        "tally_table": _tally_table(chapters),
        "groups": [
            _group(one, f"{heading} of our own")
            for state, heading in HEADINGS.items()
            for one in own_group(report, state)
        ],
        "chapters": [_chapter(chapter, report) for chapter in chapters],
    }


def _contents(report: Report) -> Iterator[dict[str, Any]]:
    """Yield the entries of the contents; the title after its colon is apart, as a narrow screen has no room for it.

    An entry without an anchor is the name of a part of the report.
    """
    yield from (_place("claims", "The paper's claims"), _place("in-short", "In short"))
    yield _place("reading", "How to read it")
    for title, chapters in (
        (TABLES, select_part(report.chapters, "tables")),
        (FIGURES, select_part(report.chapters, "figures")),
    ):
        if chapters:
            yield _place("", title)
            yield from (_place(one.anchor, one.section.title, _count_badges(one)) for one in chapters)
    for state, heading in HEADINGS.items():
        if group_by_claim(report, state):
            yield _place(ANCHORS[state], heading)
    own = select_part(report.chapters, "own")
    if own or report.counts(own=True):
        yield _place("own", OWN)
        yield from (_place(one.anchor, one.section.title, _count_badges(one)) for one in own)
    if report.data.rows or report.nets.rows:
        yield _place("data", "Data card")
    yield _place("made", "How it was made")
    if report.left_out:
        yield _place("not-shown", "Not shown, or stale")


def _place(anchor: str, title: str, badges: list[Badge] | None = None) -> dict[str, Any]:
    short, colon, rest = title.partition(":")
    return {"anchor": anchor, "short": short, "rest": colon + rest if rest else "", "badges": badges or []}


def _count_badges(chapter: Chapter) -> list[Badge]:
    """Return how many claims of a chapter hold, are open and fail."""
    counts = chapter.counts()
    return [count_badge(state, counts[state]) for state in ORDER if counts[state] and state != "missing"]


def _tally(counts: Counter[State], whose: str) -> dict[str, Any]:
    """Return a sentence about comparisons, their bar, and the numbers below it; neither where there are none."""
    legend = [
        {"count": counts[state], "state": state, "text": f"{SIGNS[state]} {PLURALS[state]}"}
        for state in ORDER
        if counts and (counts[state] or state != "missing")
    ]
    return {"sentence": tally_sentence(counts, whose), "bar": _bar(counts), "legend": legend}


def _bar(counts: Counter[State]) -> Markup:
    return stacked_bar({state: counts[state] for state in ORDER})


def _tally_table(chapters: Sequence[Chapter]) -> Table | None:
    judged = [chapter for chapter in chapters if chapter.section.verdicts]
    return make_table(tally_table(judged), link_to_chapters(one.anchor for one in judged)) if judged else None


def _group(group: ClaimGroup, heading: str) -> dict[str, Any]:
    table = make_table(summary_table(group.comparisons, heading), link_to_chapters(group.anchors))
    return {"heading": heading, "table": table}


def _chapter(chapter: Chapter, report: Report) -> dict[str, Any]:
    return {
        "anchor": chapter.anchor,
        "title": chapter.section.title,
        "blocks": [_block(block, report) for block in chapter.section.blocks],
        "remarks": chapter.remarks,
        "stale": chapter.stale,
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
