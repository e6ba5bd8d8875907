"""What is checked of a built site: its links lead somewhere, and nothing is loaded from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src"}
"""Attributes whose address a browser fetches by itself; so it does for most links in the head."""
NOT_FETCHED = {"canonical", "alternate", "next", "prev", "author", "license"}


@dataclass
class Page(HTMLParser):
    """The ids of a page, where its links lead, and what it loads."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        values = {name: value or "" for name, value in attrs}
        self.ids |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "link" and not NOT_FETCHED & set(values.get("rel", "").split()):
            self.loaded.append(values.get("href", ""))
        if LOADING.get(tag, "") in values:
            self.loaded.append(values[LOADING[tag]])
        self.loaded += re.findall(r"url\([\"']?([^\"')]+)", values.get("style", ""))


def check_site(site: Path) -> tuple[list[str], str]:
    """Return what is wrong with a built site, and a sentence on what was looked at."""
    pages = {path: read_page(path) for path in sorted(site.rglob("*.html"))}
    faults = [fault for path, page in pages.items() for fault in faults_of(site, path, page, pages)]
    faults += [
        f"{path.relative_to(site)} loads {address}"
        for path in sorted(site.rglob("*.css"))
        for address in re.findall(r"url\([\"']?(https?:[^\"')]+)|@import", path.read_text(encoding="utf-8"))
    ]
    links = sum(len(page.links) for page in pages.values())
    outside = external_links(pages.values())
    return faults, f"{len(pages)} pages, {links} links, {len(outside)} addresses elsewhere"


def read_page(path: Path) -> Page:
    """Return what a page has."""
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def external_links(pages: Iterable[Page]) -> set[str]:
    """Return the addresses outside of the site that its pages link to."""
    return {link for page in pages for link in page.links if urlsplit(link).scheme in ("http", "https")}


def faults_of(site: Path, path: Path, page: Page, pages: dict[Path, Page]) -> Iterator[str]:
    """Yield a line for each link of a page that leads nowhere, and for each file that it loads from elsewhere."""
    name = path.relative_to(site)
    for address in page.loaded:
        if urlsplit(address).scheme not in ("", "data") or address.startswith("//"):
            yield f"{name} loads {address}"
        elif not address.startswith("data:") and not _file(site, path, address).is_file():
            yield f"{name} loads {address}, which is not there"
    for link in page.links:
        parts = urlsplit(link)
        if parts.scheme in ("http", "https"):
            if not re.fullmatch(r"[\w.-]+\.[a-z]{2,}", parts.netloc):
                yield f"{name} links to {link}, which is no address"
        elif parts.scheme not in ("data", "blob", "javascript", "mailto"):
            there = _file(site, path, link)
            if not there.is_file():
                yield f"{name} links to {link}, which is not there"
            elif parts.fragment and unquote(parts.fragment) not in (pages[there].ids if there in pages else ()):
                yield f"{name} links to {link}, which has no such heading"


def _file(site: Path, path: Path, link: str) -> Path:
    """Return the file that a link without a scheme leads to."""
    where = unquote(urlsplit(link).path)
    start = site if where.startswith("/") else path.parent
    there = (start / where.lstrip("/")).resolve() if where else path
    return there / "index.html" if there.is_dir() else there
