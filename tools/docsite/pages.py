"""All pages of the site as files for MkDocs and Zensical, made from docs/ and from what it links to."""

from __future__ import annotations

import importlib.util
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docsite.llms import full_text
from docsite.nav import nav_of
from docsite.places import PAGES, place_of
from docsite.rewriting import rewrite

COPIED = (".png", ".svg", ".css", ".js", ".txt", ".html", ".gif", ".webp", ".jpg", ".ipynb")
NO_SIDEBAR = "---\nhide:\n  - navigation\n---\n\n"
"""Before a page that is a part of the site by itself, whose sidebar would list that page alone."""
NO_SEARCH = "---\nsearch:\n  exclude: true\n---\n\n"
LANGUAGES = {".py": "python", ".toml": "toml", ".json": "json", ".md": "markdown"}


def write_pages(root: Path, out: Path) -> None:
    """Write every page and picture below `out`, which is emptied first; raise ValueError for a link to no file."""
    shutil.rmtree(out, ignore_errors=True)
    pages = dict(make_pages(root))
    for place, text in pages.items():
        _write(out / place, text)
    for path in copied_files(root):
        place = out / path.relative_to(root / "docs")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
    for path in sorted((root / "results").rglob("*.html")):
        place = out / path.relative_to(root)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
    _write(out / "llms-full.txt", full_text(root))


def copied_files(root: Path) -> list[Path]:
    """Return the files of docs/ that the site has as they are: pictures, notebooks, and scripts of tutorials."""
    every = [path for path in sorted((root / "docs").rglob("*")) if path.suffix in COPIED]
    return every + sorted((root / "docs" / "tutorials").glob("*.py"))


def make_pages(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the place on the site and the Markdown of each page."""
    api = load_api(root)
    anchors = {anchor: f"api/{name}.md" for anchor, name in api.anchors().items()}
    linked: set[str] = set()
    alone = {entries for _, entries in nav_of(root) if isinstance(entries, str)}
    for path in source_pages(root):
        text = (root / path).read_text(encoding="utf-8")
        text = rewrite(text, path, anchors, linked.add)
        yield place_of(path), NO_SIDEBAR + text if place_of(path) in alone else text
    for name, text in api.pages().items():
        place = f"api/{name}.md"
        yield place, rewrite(text, "docs/api.md", anchors, linked.add, place)
    yield PAGES["examples"], examples_page(root)
    for path in sorted(linked):
        if not (root / path).exists():
            raise ValueError(f"a page links to {path}, which is not there.")
        if place_of(path).startswith("source/"):
            yield place_of(path), source_page(root, path)


def source_pages(root: Path) -> list[str]:
    """Return the pages of docs/ and those that come along from other folders, as paths in the repository."""
    own = [path.relative_to(root).as_posix() for path in sorted((root / "docs").rglob("*.md"))]
    return [*(path for path in own if path != "docs/api.md"), "CONTRIBUTING.md", "CHANGELOG.md", "lab/README.md"]


def load_api(root: Path) -> Any:
    """Return docs/build_api.py as a module."""
    spec = importlib.util.spec_from_file_location("build_api", root / "docs" / "build_api.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def examples_page(root: Path) -> str:
    """Return the page that shows the examples: what each says of itself, and its code."""
    parts = [
        "# Example programs",
        "Programs of `examples/` in full. All of them run in CI, which also checks what they print.",
    ]
    for path in [*sorted((root / "examples").glob("*.py")), *sorted((root / "examples").glob("*/app.py"))]:
        text = path.read_text(encoding="utf-8")
        title = path.relative_to(root / "examples").as_posix()
        first = re.match(r'"""(.*?)(?:\n\n|""")', text, re.DOTALL)
        summary = " ".join(first[1].split()) if first else ""
        parts += [f"## {title}", summary, f"```python\n{text.rstrip()}\n```"]
    return "\n\n".join(parts) + "\n"


def source_page(root: Path, path: str) -> str:
    """Return the page that shows a file of the repository."""
    text = (root / path).read_text(encoding="utf-8").rstrip()
    language = LANGUAGES.get((root / path).suffix, "text")
    return f"{NO_SEARCH}# `{path}`\n\n````{language}\n{text}\n````\n"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
