"""The library stands without its laboratory: neither its modules nor its tests import it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ABOUT_BOTH = ("docs", "repository")
"""Folders of tests that are about the whole repository, and so about both packages."""


def imported_packages(path: Path) -> set[str]:
    """The top-level packages that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").partition(".")[0])
    return found


@pytest.mark.parametrize("folder", ["src/samp", "tests"])
def test_the_library_does_not_import_the_laboratory(folder: str) -> None:
    paths = list((ROOT / folder).rglob("*.py"))
    own = [path for path in paths if path.relative_to(ROOT / folder).parts[0] not in ABOUT_BOTH or folder != "tests"]
    assert len(own) > 50
    assert [str(path.relative_to(ROOT)) for path in own if "samp_lab" in imported_packages(path)] == []


def test_every_kind_of_import_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "one.py"
    path.write_text("import a.b\nfrom c.d import e\nfrom .f import g\ndef h():\n    import i as j, k\n")
    assert imported_packages(path) == {"a", "c", "i", "k"}
