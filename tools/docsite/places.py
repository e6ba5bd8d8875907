"""Where a file of the repository stands on the site.

Pages of docs/ keep their paths. What they link to outside of docs/ comes along: reports as they are, some pages under
names of their own, and any other file as a page that shows its text. So no link depends on where the repository is.
"""

from __future__ import annotations

import posixpath

PAGES = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
    "lab/README.md": "laboratory.md",
    "README.md": "index.md",
    "examples": "how-to/examples.md",
    "docs/api.md": "api/index.md",
}
"""Of files that are not in docs/, or not as they stand there."""


def place_of(path: str) -> str:
    """Return where on the site this file of the repository is shown, both from their roots.

    >>> place_of("docs/guide.md"), place_of("results/report.md"), place_of("examples/detection.py")
    ('guide.md', 'results/report.html', 'how-to/examples.md')
    >>> place_of("src/samp/compare.py")
    'source/src/samp/compare.py.md'
    """
    if path in PAGES:
        return PAGES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path.startswith("examples/") and path.endswith(".py") and path.count("/") == 1:
        return PAGES["examples"]
    if path.startswith("results/") and path.endswith((".md", ".html")):
        return posixpath.splitext(path)[0] + ".html"
    return f"source/{path}.md"


def relative_link(here: str, there: str) -> str:
    """Return the link from one page of the site to another, both from its root.

    >>> relative_link("how-to/photos.md", "api/explain.md")
    '../api/explain.md'
    """
    return posixpath.relpath(there, posixpath.dirname(here) or ".")
