"""Remarks: a little Markdown (paragraphs, bullets, bold, code, links), read once for both kinds of report.

Anything else is plain text: a remark cannot bring markup of its own into a report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Kind = Literal["text", "bold", "code", "link"]
INLINE = re.compile(
    r"`(?P<code>[^`]+)`|\*\*(?P<bold>[^*]+)\*\*|\[(?P<link>[^\]]+)\]\((?P<to>(?:https?://|#)[^\s()]+)\)"
)
BULLET = re.compile(r"\s*[-*]\s+")
HEADING = re.compile(r"\s*#+\s+")


@dataclass(frozen=True)
class TextRun:
    """Text of one kind; `to` is the target of a link.

    >>> TextRun("link", "here", "#table1").to
    '#table1'
    """

    kind: Kind
    text: str
    to: str = ""


Line = tuple[TextRun, ...]


@dataclass(frozen=True)
class Remark:
    """A paragraph, which is one line, or a list of them.

    >>> Remark(((TextRun("text", "Why?"),),)).bullets
    False
    """

    lines: tuple[Line, ...]
    bullets: bool = False


def read_remarks(path: Path) -> tuple[Remark, ...]:
    """Return the remarks in a file; none if there is no file.

    >>> read_remarks(Path("no such file.md"))
    ()
    """
    return parse(read_text(path))


def read_text(path: Path) -> str:
    """Return the text of a file, "" if there is none; raise ValueError if it is no UTF-8.

    >>> read_text(Path("no such file.md"))
    ''
    """
    try:
        return path.read_text(encoding="utf-8") if path.is_file() else ""
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no text in UTF-8 ({error}): save it again as that.") from error


def parse(text: str) -> tuple[Remark, ...]:
    """Return the paragraphs and lists of a text, separated by blank lines; a heading becomes a bold paragraph.

    >>> [(remark.bullets, len(remark.lines)) for remark in parse("Why?\\n\\n- one\\n- two")]
    [(False, 1), (True, 2)]
    """
    return tuple(remark for part in re.split(r"\n\s*\n", text.strip()) for remark in _remarks(part.splitlines()))


def _remarks(lines: list[str]) -> Iterator[Remark]:
    """Yield the remarks between two blank lines: text, then bullets with their continuation lines."""
    words: list[str] = []
    bullets: list[str] = []
    for line in lines:
        if HEADING.match(line):
            yield Remark(((TextRun("bold", HEADING.sub("", line, count=1).strip()),),))
        elif BULLET.match(line):
            bullets.append(BULLET.sub("", line, count=1))
        elif bullets:
            bullets[-1] += f" {line.strip()}"
        else:
            words.append(line.strip())
    if words:
        yield Remark((inline(" ".join(words)),))
    if bullets:
        yield Remark(tuple(inline(bullet) for bullet in bullets), bullets=True)


def inline(text: str) -> Line:
    """Return the runs of a line.

    >>> [run.kind for run in inline("see **this** and `that`")]
    ['text', 'bold', 'text', 'code']
    """
    runs: list[TextRun] = []
    end = 0
    for match in INLINE.finditer(text):
        if match.start() > end:
            runs.append(TextRun("text", text[end : match.start()]))
        kind: Kind = "code" if match["code"] else "bold" if match["bold"] else "link"
        runs.append(TextRun(kind, match[kind], match["to"] or ""))
        end = match.end()
    return (*runs, TextRun("text", text[end:])) if end < len(text) else tuple(runs)
