"""The report as one self-contained HTML page: it needs no network, and all text in it is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from importlib.resources import files
from string import Template

from samp.html.embed import content_security_policy
from samp_lab.report.contents import Chapter, Report
from samp_lab.report.html_pictures import embed_picture
from samp_lab.report.html_tables import badge_states, bar, labelled_bar, link_to_chapters, state_badge, table
from samp_lab.report.remarks import Line, Remark, TextRun
from samp_lab.report.shared_tables import claim_table, summary_table, tally_sentences, tally_table
from samp_lab.report.texts import HEADINGS, LEAD, MEANINGS, SIGNS, TITLE
from samp_lab.sections import Block, Grid, Paragraph, Picture, Verdicts


def render_html(report: Report) -> str:
    """The whole page.

    >>> from pathlib import Path
    >>> from samp_lab.report.contents import gather_report
    >>> from samp_lab.store import Store
    >>> render_html(gather_report(Store(Path("no such folder")), [])).splitlines()[0]
    '<!doctype html>'
    """
    css, script = _read_source("css"), _read_source("js")
    return Template(_read_source("html")).substitute(
        policy=content_security_policy(script, css),
        title=escape(TITLE),
        lead=escape(LEAD),
        css=css,
        script=script,
        contents=_contents(report),
        main="\n".join(_main(report)),
    )


def _contents(report: Report) -> str:
    places = [("in-short", "In short", ""), ("reading", "How to read it", ""), ("made", "How it was made", "")]
    places += [(chapter.anchor, chapter.section.title, _marks(chapter)) for chapter in report.chapters]
    places += [("not-shown", "Not shown, or stale", "")] if report.left_out else []
    items = (f'<li><a href="#{anchor}">{_title(title)}{marks}</a></li>' for anchor, title, marks in places)
    return f"<ol>{''.join(items)}</ol>"


def _title(title: str) -> str:
    """The part behind the colon apart, for which a narrow screen has no room."""
    short, colon, rest = title.partition(":")
    return escape(short) + (f'<span class="rest">{escape(colon + rest)}</span>' if rest else "")


def _marks(chapter: Chapter) -> str:
    """How many claims of a chapter hold, fail and are open, as one line of small signs."""
    counts = chapter.counts()
    signs = (state_badge(state, f"{counts[state]}") for state in ("holds", "open", "fails") if counts[state])
    return f'<span class="marks">{"".join(signs)}</span>' if counts else ""


def _main(report: Report) -> Iterator[str]:
    yield _section("in-short", "In short", _summary(report))
    yield _section("reading", "How to read it", [f'<dl class="card words">{_items(MEANINGS)}</dl>'])
    yield _section("made", "How it was made", _provenance(report))
    for chapter in report.chapters:
        yield _section(chapter.anchor, chapter.section.title, _chapter(chapter, report))
    if report.left_out:
        said = "".join(f"<li>{escape(sentence)}</li>" for sentence in report.left_out)
        yield _section("not-shown", "Not shown, or stale", [f'<ul class="quiet">{said}</ul>'])


def _section(anchor: str, title: str, blocks: Iterable[str]) -> str:
    head = f'<h2 id="{anchor}-title">{escape(title)}</h2>'
    return "\n".join([f'<section id="{anchor}" aria-labelledby="{anchor}-title">', head, *blocks, "</section>"])


def _summary(report: Report) -> Iterator[str]:
    for own, sentence in enumerate(tally_sentences(report)):
        yield f'<p class="tally">{escape(sentence)}</p>'
        yield labelled_bar(report.counts(own=bool(own)))
    yield from (_remark(remark) for remark in report.remarks)
    for state, heading in HEADINGS.items():
        claims = report.claims(state)
        if claims:
            yield f"<h3>{state_badge(state, SIGNS[state], spoken=False)} {escape(heading)}</h3>"
            yield table(summary_table(claims, heading), link_to_chapters(chapter.anchor for chapter, _ in claims))
    chapters = [chapter for chapter in report.chapters if chapter.section.verdicts]
    if chapters:
        yield "<h3>All claims</h3>"
        yield table(tally_table(chapters), link_to_chapters(chapter.anchor for chapter in chapters))


def _provenance(report: Report) -> Iterator[str]:
    yield f'<dl class="card words">{_items(report.facts)}</dl>'
    if report.commands:
        lines = "\n".join(escape(command) for command in report.commands)
        yield '<h3 id="commands">Commands</h3>'
        yield f'<pre class="card" role="region" aria-labelledby="commands" tabindex="0">{lines}</pre>'
    if report.setups.rows:
        yield "<h3>Test beds</h3>"
        yield table(report.setups)


def _chapter(chapter: Chapter, report: Report) -> Iterator[str]:
    for block in chapter.section.blocks:
        yield from _block(block, report)
    if chapter.remarks:
        yield '<div class="remarks"><h3>Remarks</h3>'
        yield from (_remark(remark) for remark in chapter.remarks)
        yield "</div>"


def _block(block: Block, report: Report) -> Iterator[str]:
    match block:
        case Paragraph():
            yield f"<p>{escape(block.text)}</p>"
        case Grid():
            yield from ([f"<h3>{escape(block.title)}</h3>"] if block.title else [])
            yield table(block)
        case Verdicts():
            yield f"<h3>{escape(block.title)}</h3>"
            yield bar(block.rows)
            yield table(
                claim_table(block.rows, block.title, states=True), badge_states(row.state for row in block.rows)
            )
        case Picture():
            yield embed_picture(block, report.figures)


def _items(pairs: Iterable[tuple[str, str]]) -> str:
    return "".join(f"<div><dt>{escape(term)}</dt><dd>{escape(text)}</dd></div>" for term, text in pairs)


def _remark(remark: Remark) -> str:
    lines = [_line(line) for line in remark.lines]
    return f"<ul>{''.join(f'<li>{line}</li>' for line in lines)}</ul>" if remark.bullets else f"<p>{lines[0]}</p>"


def _line(line: Line) -> str:
    return "".join(_run(run) for run in line)


def _run(run: TextRun) -> str:
    text = escape(run.text)
    match run.kind:
        case "bold":
            return f"<b>{text}</b>"
        case "code":
            return f"<code>{text}</code>"
        case "link":
            return f'<a href="{escape(run.to)}" rel="noreferrer">{text}</a>'
    return text


def _read_source(kind: str) -> str:
    return (files("samp_lab") / "report" / "templates" / f"paper.{kind}").read_text(encoding="utf-8")
