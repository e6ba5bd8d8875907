"""What a page's Markdown needs before Python-Markdown reads it: other links, MathML, embedded pages.

The pages of docs/ are written so that a repository browser shows them well. On the site

- links that leave docs/, or go to the one page docs/api.md, lead to where the site has it;
- a block of `$$ … $$` becomes MathML, which browsers draw without a script;
- a picture below `<!-- site: FILE -->` is replaced by that file in a frame;
- lists and tables get the empty line before them that Python-Markdown wants, and examples of the prompt their language.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping

from docsite.places import place_of, relative_link

FENCE = re.compile(r"^( *)(```+|~~~+).*?^\1\2 *$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?<=\]\()<?(?P<path>(?!https?:|mailto:|#)[^)#>\s]+)(?P<anchor>#[^)>\s]*)?>?(?=\))")
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
FRAME = re.compile(r"^<!-- site: (?P<file>\S+) -->\n!\[(?P<title>[^\]]*)\]\([^)]*\)$", re.MULTILINE)
EQUATION = re.compile(r"^\$\$\n(?P<tex>.*?)\n\$\$$", re.DOTALL | re.MULTILINE)


def rewrite(text: str, path: str, api: Mapping[str, str], used: Callable[[str], None], place: str = "") -> str:
    """Return a page's Markdown for the site.

    `path` is the file in the repository, and `place` where on the site it stands, if that is unusual; `api` has the
    page of each anchor of docs/api.md; `used` is told of every file that is linked to.
    """
    here = place or place_of(path)

    def link(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), found["path"]))
        anchor = found["anchor"] or ""
        used(target)
        there = api.get(anchor[1:], place_of(target)) if target == "docs/api.md" else place_of(target)
        if place_of(target) == place_of("examples") and target != "examples":
            anchor = f"#{posixpath.basename(target).replace('.', '')}"
        return relative_link(here, there) + anchor

    def prose(part: str) -> str:
        return space_blocks(_outside(CODE, part, lambda words: embed(LINK.sub(link, words))))

    return _outside(FENCE, name_prompts(text), prose)


def _outside(inside: re.Pattern[str], text: str, change: Callable[[str], str]) -> str:
    """Return the text with what the pattern does not match changed; each match is one character meanwhile."""
    mark = "\0" if inside is FENCE else "\1"
    kept = [found[0] for found in inside.finditer(text)]
    pieces = change(inside.sub(mark, text)).split(mark)
    return "".join(piece + code for piece, code in zip(pieces, [*kept, ""], strict=True))


def embed(text: str) -> str:
    """Return the text with its equations as MathML, and frames in place of pictures that stand for a page."""

    def frame(found: re.Match[str]) -> str:
        return (
            f'<iframe class="page" src="{found["file"]}" title="{found["title"]}" loading="lazy"></iframe>\n\n'
            f"[Open it alone]({found['file']})"
        )

    return EQUATION.sub(lambda found: mathml(found["tex"]), FRAME.sub(frame, text))


def mathml(tex: str) -> str:
    """Return a displayed equation."""
    from latex2mathml.converter import convert

    return f'<div class="equation">{convert(" ".join(tex.split()), display="block")}</div>'


def space_blocks(text: str) -> str:
    """Return the text with an empty line between a paragraph and the list or table that follows it.

    >>> space_blocks("Either\\n- one, or\\n  both\\n- two")
    'Either\\n\\n- one, or\\n  both\\n- two'
    """
    lines = text.split("\n")
    return "\n".join(_insert_spaces(lines))


def _insert_spaces(lines: list[str]) -> Iterator[str]:
    before, in_block = "", False
    for line in lines:
        starts = re.match(r"(- |\* |\d+\. |\|)", line) is not None
        if starts and before.strip() and not in_block and not before.startswith("#"):
            yield ""
        in_block = starts or (in_block and line.startswith(" ")) or (in_block and not line.strip())
        yield line
        before = line


def name_prompts(text: str) -> str:
    """Return the text with blocks of the interactive prompt named as such, for their colours."""
    return text.replace("```python\n>>> ", "```pycon\n>>> ")
