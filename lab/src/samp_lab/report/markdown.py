"""The report as Markdown, as GitHub shows it; text that looks like markup is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from samp_lab.report.contents import Chapter, Report
from samp_lab.report.remarks import Line, Remark, Run
from samp_lab.report.shared_tables import (
    best_and_rest,
    claim_table,
    numeric,
    picture_path,
    summary_table,
    tallies,
    tally_table,
)
from samp_lab.report.texts import HEADINGS, LEAD, MEANINGS, TITLE
from samp_lab.sections import Block, Grid, Picture, Verdicts, Words

# What starts or ends markup wherever it stands; an underscore inside a word and a bracket without a target do not.
MARKUP = re.compile(r"[\\`*~|$]|(?<!\w)_|_(?!\w)|\](?=[(\[:])|!(?=\[)")
STARTS = re.compile(r"^(?P<number>\d*)(?P<mark>(?<=\d)[.)](?=\s)|(?<!\d)[-+#=])")


def markdown(report: Report) -> str:
    """The whole report.

    >>> from pathlib import Path
    >>> from samp_lab.report.contents import gather
    >>> from samp_lab.store import Store
    >>> markdown(gather(Store(Path("no such folder")), [])).splitlines()[0]
    '# Path choice matters, measured again'
    """
    return "\n\n".join(_parts(report)) + "\n"


def _parts(report: Report) -> Iterator[str]:
    yield f"# {plain(TITLE)}"
    yield plain(LEAD)
    yield from _summary(report)
    yield "## Contents"
    yield _list(f"[{label(chapter.section.title)}](#{chapter.anchor})" for chapter in report.chapters)
    yield "## How to read it"
    yield _list(f"**{plain(term)}**: {plain(meaning)}" for term, meaning in MEANINGS)
    yield from _made(report)
    for chapter in report.chapters:
        yield from _chapter(chapter, report)
    if report.left_out:
        yield "## Not shown, or stale"
        yield _list(paragraph(sentence) for sentence in report.left_out)


def _summary(report: Report) -> Iterator[str]:
    yield "## In short"
    yield from (f"**{plain(sentence)}**" for sentence in tallies(report))
    yield from (_remark(remark) for remark in report.remarks)
    for state, heading in HEADINGS.items():
        claims = report.claims(state)
        if claims:
            yield f"### {heading}"
            yield _table(summary_table(claims, heading), [chapter.anchor for chapter, _ in claims])
    with_claims = [chapter for chapter in report.chapters if chapter.section.verdicts]
    if with_claims:
        yield "### All claims"
        yield _table(tally_table(with_claims), [chapter.anchor for chapter in with_claims])


def _made(report: Report) -> Iterator[str]:
    yield "## How it was made"
    yield _list(f"**{plain(term)}**: {plain(fact)}" for term, fact in report.facts)
    if report.commands:
        yield "By these commands:"
        yield "\n".join(f"    {line}" for command in report.commands for line in command.splitlines())
    if report.beds.rows:
        yield _grid(report.beds)


def _chapter(chapter: Chapter, report: Report) -> Iterator[str]:
    yield f'<a id="{chapter.anchor}"></a>\n\n## {plain(chapter.section.title)}'
    for block in chapter.section.blocks:
        yield from _block(block, report)
    if chapter.remarks:
        yield "### Remarks"
        yield from (_remark(remark) for remark in chapter.remarks)


def _block(block: Block, report: Report) -> Iterator[str]:
    match block:
        case Words():
            yield paragraph(block.text)
        case Grid():
            yield from ([f"### {plain(block.title)}"] if block.title else [])
            yield _grid(block)
        case Verdicts():
            yield f"### {plain(block.title)}"
            yield _table(claim_table(block.rows, states=True))
        case Picture():
            path = picture_path(block, report.figures)
            target = re.sub(r"[^\w.-]", "", block.file)
            yield (
                f"![{label(block.caption)}](figures/{target})"
                if path
                else f"The figure {plain(block.file)} is not there."
            )
            yield f"*{plain(block.caption)}*"


# ---- tables


def _grid(grid: Grid) -> str:
    return _table(Grid(grid.full_heads, grid.rows))


def _table(grid: Grid, anchors: Sequence[str] = ()) -> str:
    """A table; with anchors, the first cell of each row leads to one."""
    rows = [[_cell(cell) for cell in row] for row in grid.rows]
    if anchors:
        links = [f"[{label(row[0])}](#{anchor})" for row, anchor in zip(grid.rows, anchors, strict=True)]
        rows = [[link, *rest] for link, (_, *rest) in zip(links, rows, strict=True)]
    heads = [plain(head) for head in grid.heads]
    rules = ["---:" if right else "---" for right in numeric(grid)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (heads, rules, *rows))


def _cell(cell: str) -> str:
    best, rest = best_and_rest(cell)
    return (f"**{plain(best)}**" if best else "") + plain(rest)


# ---- words


def plain(text: str) -> str:
    """Text that shows as it is, on one line.

    >>> print(plain("a_b | **c** <i>"))
    a_b \\| \\*\\*c\\*\\* &lt;i&gt;
    """
    safe = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return MARKUP.sub(r"\\\g<0>", re.sub(r"\s+", " ", safe))


def label(text: str) -> str:
    """The same between the brackets of a link or a picture.

    >>> print(label("[a](b)"))
    \\[a\\](b)
    """
    return re.sub(r"(?<!\\)[\[\]]", r"\\\g<0>", plain(text))


def paragraph(text: str) -> str:
    """The same where a line begins, at which a number or a dash would start a list and # a heading.

    >>> print(paragraph("1. to x⁰"), paragraph("- 2"), paragraph("1.5"))
    1\\. to x⁰ \\- 2 1.5
    """
    return STARTS.sub(r"\g<number>\\\g<mark>", plain(text).lstrip())


def _list(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _remark(remark: Remark) -> str:
    lines = [_line(line) for line in remark.lines]
    return _list(lines) if remark.bullets else lines[0]


def _line(line: Line) -> str:
    first, *rest = line
    return "".join([paragraph(first.text) if first.kind == "text" else _run(first), *(_run(run) for run in rest)])


def _run(run: Run) -> str:
    match run.kind:
        case "bold":
            return f"**{plain(run.text).strip()}**"
        case "code":
            return f"`{run.text}`"
        case "link":
            return f"[{label(run.text)}](<{run.to}>)"
    return plain(run.text)
