"""The report as GitHub's Markdown; text that looks like markup is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from samp_lab.report.chapter import Chapter, select_part
from samp_lab.report.contents import Report
from samp_lab.report.disagreements import ClaimGroup, group_by_claim, own_group
from samp_lab.report.page_one import claims_sentence, claims_table
from samp_lab.report.remarks import Line, Remark, TextRun, parse
from samp_lab.report.shared_tables import (
    best_and_rest,
    claim_table,
    numeric_columns,
    picture_path,
    summary_table,
    tally_sentence,
    tally_table,
)
from samp_lab.report.texts import (
    ANCHORS,
    FIGURES,
    HEADINGS,
    LEAD,
    MEANINGS,
    OWN,
    OWN_LEAD,
    READINGS,
    TABLES,
    TITLE,
)
from samp_lab.sections import Block, Grid, Paragraph, Picture, Section, Verdicts

# What starts or ends markup wherever it stands; an underscore inside a word and a bracket without a target do not.
MARKUP = re.compile(r"[\\`*~|$]|(?<!\w)_|_(?!\w)|\](?=[(\[:])|!(?=\[)")
STARTS = re.compile(r"^(?P<number>\d*)(?P<mark>(?<=\d)[.)](?=\s)|(?<!\d)[-+#=])")


def render_markdown(report: Report) -> str:
    """Return the report as Markdown.

    >>> from pathlib import Path
    >>> from samp_lab.report.contents import gather_report
    >>> from samp_lab.store import Store
    >>> render_markdown(gather_report(Store(Path("no such folder")), [])).splitlines()[0]
    '# Path choice matters, measured again'
    """
    return "\n\n".join(_parts(report)) + "\n"


def render_section(section: Section, figures: Path) -> str:
    """Return one section as a page of its own; `figures` is the folder of its pictures.

    >>> print(render_section(Section("a", "A", (Paragraph("b"),)), Path("figures")), end="")
    # A
    <BLANKLINE>
    b
    """
    parts = [f"# {escape_text(section.title)}", *(part for block in section.blocks for part in _block(block, figures))]
    return "\n\n".join(parts) + "\n"


def _parts(report: Report) -> Iterator[str]:
    yield f"# {escape_text(TITLE)}"
    yield escape_text(LEAD)
    yield from _page_one(report)
    yield "## Contents"
    yield _contents(report)
    yield from _summary(report)
    yield _head_with_anchor("reading", "How to read it")
    yield _list(f"**{escape_text(term)}**: {escape_text(meaning)}" for term, meaning in MEANINGS)
    for chapter in (*select_part(report.chapters, "tables"), *select_part(report.chapters, "figures")):
        yield from _chapter(chapter, report)
    for state, heading in HEADINGS.items():
        groups = group_by_claim(report, state)
        if groups:
            yield _head_with_anchor(ANCHORS[state], heading)
            yield from _groups(groups)
    yield from _own(report)
    yield from _data_card(report)
    yield from _provenance(report)
    if report.left_out:
        yield _head_with_anchor("not-shown", "Not shown, or stale")
        yield _list(escape_paragraph(sentence) for sentence in report.left_out)


def _page_one(report: Report) -> Iterator[str]:
    yield _head_with_anchor("claims", "The paper's claims")
    yield f"**{escape_text(claims_sentence(report.claims))}**"
    yield _table(claims_table(report.claims), [line.anchor for line in report.claims])
    yield from (_remark(remark) for remark in parse(READINGS))


def _contents(report: Report) -> str:
    """Return the table of contents: chapters below the part that they belong to."""
    lines = ["- [The paper's claims](#claims)", "- [In short](#in-short)", "- [How to read it](#reading)"]
    for title, chapters in (
        (TABLES, select_part(report.chapters, "tables")),
        (FIGURES, select_part(report.chapters, "figures")),
    ):
        lines += [f"- {escape_text(title)}", *_chapter_links(chapters)] if chapters else []
    lines += [f"- [{HEADINGS[state]}](#{ANCHORS[state]})" for state in HEADINGS if group_by_claim(report, state)]
    own = select_part(report.chapters, "own")
    lines += [f"- [{escape_text(OWN)}](#own)", *_chapter_links(own)] if own else []
    lines += ["- [Data card](#data)"] if report.data.rows or report.nets.rows else []
    lines += ["- [How it was made](#made)"]
    return "\n".join([*lines, *(["- [Not shown, or stale](#not-shown)"] if report.left_out else [])])


def _chapter_links(chapters: Iterable[Chapter]) -> list[str]:
    return [f"  - [{escape_label(chapter.section.title)}](#{chapter.anchor})" for chapter in chapters]


def _summary(report: Report) -> Iterator[str]:
    yield _head_with_anchor("in-short", "In short")
    yield f"**{escape_text(tally_sentence(report.counts(own=False), 'of the paper'))}**"
    yield from (_remark(remark) for remark in report.remarks)
    yield from _tallies([chapter for chapter in report.chapters if chapter.part != "own"])


def _tallies(chapters: Iterable[Chapter]) -> Iterator[str]:
    judged = [chapter for chapter in chapters if chapter.section.verdicts]
    if judged:
        yield "### All comparisons"
        yield _table(tally_table(judged), [chapter.anchor for chapter in judged])


def _groups(groups: Iterable[ClaimGroup]) -> Iterator[str]:
    for group in groups:
        yield f"### {escape_text(group.title)}"
        yield _table(summary_table(group.comparisons, group.title), group.anchors)


def _own(report: Report) -> Iterator[str]:
    """Yield our own method's part: its counts, what fails and what is open, and its chapters."""
    chapters, counts = select_part(report.chapters, "own"), report.counts(own=True)
    if not (chapters or counts):
        return
    yield _head_with_anchor("own", OWN)
    yield escape_text(OWN_LEAD)
    yield f"**{escape_text(tally_sentence(counts, 'of our own'))}**"
    yield from _tallies(chapters)
    for state, heading in HEADINGS.items():
        for group in own_group(report, state):
            yield f"### {heading} of our own"
            yield _table(summary_table(group.comparisons, heading), group.anchors)
    for chapter in chapters:
        yield from _chapter(chapter, report)


def _data_card(report: Report) -> Iterator[str]:
    tables = [grid for grid in (report.data, report.nets) if grid.rows]
    if tables:
        yield _head_with_anchor("data", "Data card")
        for grid in tables:
            yield f"### {escape_text(grid.title)}"
            yield _grid(grid)


def _provenance(report: Report) -> Iterator[str]:
    yield _head_with_anchor("made", "How it was made")
    yield _list(f"**{escape_text(term)}**: {escape_text(fact)}" for term, fact in report.facts)
    if report.setups.rows:
        yield _grid(report.setups)
    if report.commands:
        yield "By these commands:"
        yield "\n".join(f"    {line}" for command in report.commands for line in command.splitlines())


def _head_with_anchor(anchor: str, title: str) -> str:
    return f'<a id="{anchor}"></a>\n\n## {escape_text(title)}'


def _chapter(chapter: Chapter, report: Report) -> Iterator[str]:
    yield _head_with_anchor(chapter.anchor, chapter.section.title)
    yield from (f"*{escape_text(sentence)}*" for sentence in chapter.stale)
    for block in chapter.section.blocks:
        yield from _block(block, report.figures)
    if chapter.remarks:
        yield "### Remarks"
        yield from (_remark(remark) for remark in chapter.remarks)


def _block(block: Block, figures: Path) -> Iterator[str]:
    match block:
        case Paragraph():
            yield escape_paragraph(block.text)
        case Grid():
            yield from ([f"### {escape_text(block.title)}"] if block.title else [])
            yield _grid(block)
        case Verdicts():
            yield f"### {escape_text(block.title)}"
            yield _table(claim_table(block.rows, states=True))
        case Picture():
            path = picture_path(block, figures)
            target = re.sub(r"[^\w.-]", "", block.file)
            yield (
                f"![{escape_label(block.caption)}](figures/{target})"
                if path
                else f"The figure {escape_text(block.file)} is not there."
            )
            yield f"*{escape_text(block.caption)}*"


# ---- tables


def _grid(grid: Grid) -> str:
    return _table(Grid(grid.full_heads, grid.rows))


def _table(grid: Grid, anchors: Sequence[str] = ()) -> str:
    """Return a table; with anchors, the first cell of each row links to one, unless that is empty."""
    rows = [[_cell(cell) for cell in row] for row in grid.rows]
    for row, cells, anchor in zip(grid.rows, rows, anchors, strict=False):
        cells[0] = f"[{escape_label(row[0])}](#{anchor})" if anchor else cells[0]
    heads = [escape_text(head) for head in grid.heads]
    rules = ["---:" if right else "---" for right in numeric_columns(grid)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (heads, rules, *rows))


def _cell(cell: str) -> str:
    best, rest = best_and_rest(cell)
    return (f"**{escape_text(best)}**" if best else "") + escape_text(rest)


# ---- words


def escape_text(text: str) -> str:
    """Return text escaped, on one line.

    >>> print(escape_text("a_b | **c** <i>"))
    a_b \\| \\*\\*c\\*\\* &lt;i&gt;
    """
    safe = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return MARKUP.sub(r"\\\g<0>", re.sub(r"\s+", " ", safe))


def escape_label(text: str) -> str:
    """Return text escaped for the brackets of a link or a picture.

    >>> print(escape_label("[a](b)"))
    \\[a\\](b)
    """
    return re.sub(r"(?<!\\)[\[\]]", r"\\\g<0>", escape_text(text))


def escape_paragraph(text: str) -> str:
    """Return text escaped for the start of a line, where a number or a dash would start a list and # a heading.

    >>> print(escape_paragraph("1. to x⁰"), escape_paragraph("- 2"), escape_paragraph("1.5"))
    1\\. to x⁰ \\- 2 1.5
    """
    return STARTS.sub(r"\g<number>\\\g<mark>", escape_text(text).lstrip())


def _list(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _remark(remark: Remark) -> str:
    lines = [_line(line) for line in remark.lines]
    return _list(lines) if remark.bullets else lines[0]


def _line(line: Line) -> str:
    first, *rest = line
    return "".join(
        [escape_paragraph(first.text) if first.kind == "text" else _run(first), *(_run(run) for run in rest)]
    )


def _run(run: TextRun) -> str:
    match run.kind:
        case "bold":
            return f"**{escape_text(run.text).strip()}**"
        case "code":
            return f"`{run.text}`"
        case "link":
            return f"[{escape_label(run.text)}](<{run.to}>)"
    return escape_text(run.text)
