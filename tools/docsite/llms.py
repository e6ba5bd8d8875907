"""llms.txt: the site for a language model, as a list of its pages with what each is about (https://llmstxt.org)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docsite.nav import nav_of, walk_nav

HEAD = """# samp

> Why did the model say that? `samp` is a PyTorch library of attributions: the credit of every pixel, column or token
> for a score of a model. `samp.explain(model, inputs)` explains the predicted class with `consensus`, whose credit sums
> to the change of the score; `method=` chooses another of its methods, `target=` another score, `groups=` other
> features. `samp.metrics` judges maps from anywhere, and `samp explain PHOTO` does it on the command line.

All pages in one file: [llms-full.txt](llms-full.txt)."""


def index_text(root: Path) -> str:
    """Return llms.txt: each page of the navigation, part by part, with its first sentence."""
    parts = [HEAD]
    for part, entries in nav_of(root):
        lines = [
            f"- [{title}]({place.removesuffix('.md')}.html): {summary_of(text)}"
            for title, place, text in _pages(root, entries)
        ]
        parts.append(f"## {part}\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def full_text(root: Path) -> str:
    """Return llms-full.txt: the Markdown of all pages, in the order of the navigation."""
    texts = [
        f"<!-- {place} -->\n\n{text.strip()}" for _, entries in nav_of(root) for _, place, text in _pages(root, entries)
    ]
    return "\n\n".join(texts) + "\n"


def _pages(root: Path, entries: Any) -> Iterator[tuple[str, str, str]]:
    """Yield title, place and Markdown of each page of docs/ or its like; generated ones are left out."""
    from docsite.places import PAGES

    origin = {place: path for path, place in PAGES.items() if path.endswith(".md") and path != "README.md"}
    for title, place in walk_nav(entries):
        path = root / origin.get(place, f"docs/{place}")
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            yield title or heading_of(text), place, text


def heading_of(text: str) -> str:
    """Return the first heading of a page."""
    found = re.search(r"^# (.*)$", text, re.MULTILINE)
    return found[1] if found else ""


def summary_of(text: str) -> str:
    """Return the first sentence of a page's prose, without its links.

    >>> summary_of("# Guide\\n\\nWhat [samp](x.md) can do,\\nby example. The code runs.")
    'What samp can do, by example.'
    """
    prose = re.sub(r"^(```.*?^```|<!--.*?-->|#.*?|!\[.*?|\|.*?)$", "", text, flags=re.DOTALL | re.MULTILINE)
    first = next((part for part in prose.split("\n\n") if part.strip()), "")
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(first.split()))
    sentence = re.match(r".*?[.?!](?= |$)", plain)
    return sentence[0] if sentence else plain
