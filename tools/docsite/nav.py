"""The navigation in mkdocs.yml."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml


class _Loader(yaml.SafeLoader):
    """Reads mkdocs.yml without running what its tags name."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: suffix)


def read_config(root: Path) -> dict[str, Any]:
    """Return the settings in mkdocs.yml."""
    config: dict[str, Any] = yaml.load((root / "mkdocs.yml").read_text(encoding="utf-8"), _Loader)
    return config


def nav_of(root: Path) -> list[tuple[str, Any]]:
    """Return the title and the entries of each part of the site."""
    return [next(iter(part.items())) for part in read_config(root)["nav"]]


def walk_nav(entries: Any) -> Iterator[tuple[str, str]]:
    """Yield title ("" for the page's own) and place of each page, in order.

    >>> list(walk_nav(["a.md", {"B": [{"C": "c.md"}]}]))
    [('', 'a.md'), ('C', 'c.md')]
    """
    if isinstance(entries, str):
        yield "", entries
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, str):
            yield "", entry
            continue
        ((title, below),) = entry.items()
        yield from [(title, below)] if isinstance(below, str) else walk_nav(below)
