"""The map of the tree: every file and folder that it names is there, and none of the larger ones is missing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def tree() -> Iterator[str]:
    """The paths of the map, from the repository's root."""
    folder = ""
    for line in PAGE.partition("```\n")[2].partition("```")[0].splitlines():
        name = line.split()[0]
        folder = folder if line.startswith("  ") else name
        yield folder + name if line.startswith("  ") else name


def test_all_that_is_named_is_there() -> None:
    paths = [*tree(), *re.findall(r"`((?:src|lab|tests|docs|tools)/[\w./]+)`", PAGE)]
    assert len(paths) > 40
    for path in paths:
        there = ROOT / path
        assert there.is_dir() if path.endswith("/") else there.is_file(), path


def test_every_package_is_on_the_map() -> None:
    for home in ("src/samp/", "lab/src/samp_lab/"):
        packages = {f"{path.parent.relative_to(ROOT).as_posix()}/" for path in (ROOT / home).glob("*/__init__.py")}
        assert packages
        assert packages <= set(tree())


def test_every_layer_names_modules_of_samp() -> None:
    layers = PAGE.partition("## Layers")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| [^|]+ \| (`.*`) \|$", layers, re.MULTILINE)
    names = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert len(names) == len(set(names))
    for name in names:
        assert (ROOT / "src/samp" / name).is_dir() or (ROOT / "src/samp" / f"{name}.py").is_file(), name
    packages = {path.parent.name for path in (ROOT / "src/samp").glob("*/__init__.py")}
    assert packages <= set(names)
