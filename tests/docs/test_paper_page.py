"""The page on the paper: every place in the code that it names is there, and so is every anchor that the code names."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
NAMES = sorted(set(re.findall(r"`(samp(?:_lab)?\.[\w.]+)`", PAGE)))
SOURCES = [path for folder in ("src", "lab", "tests", "docs", "examples") for path in (ROOT / folder).rglob("*.py")]


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_there(name: str) -> None:
    assert resolve_name(name) is not None


def test_every_equation_is_placed() -> None:
    table = PAGE.partition("## Equations")[2].partition("\n## ")[0]
    places = {
        number for row in re.findall(r"^\| ([^|]*Eq\.[^|]*)\|", table, re.MULTILINE) for number in numbers_of(row)
    }
    assert places == set(range(1, 11))


def numbers_of(text: str) -> list[int]:
    """The equations named in a cell: "Eq. 6 and 7"."""
    return [int(number) for number in re.findall(r"\d+", text.partition("Eq.")[2])]


def test_every_command_is_one_of_the_laboratory() -> None:
    if not find_spec("samp_lab"):
        pytest.skip("needs the package samp-lab: pip install -e lab")
    from samp_lab.registry import EXPERIMENTS

    table = PAGE.partition("## Tables and figures")[2].partition("\n## ")[0]
    commands = re.findall(r"^\|[^|]+\|[^|]+\| `([\w-]+)` \|", table, re.MULTILINE)
    beyond = {"ours", "transfer", "budget", "rematch", "transformer", "optimum", "theory"}
    assert sorted(set(commands) - {"train"}) == sorted(set(EXPERIMENTS) - beyond)


def test_every_anchor_that_the_code_names_is_on_the_page() -> None:
    anchors = re.findall(r'<a id="([^"]+)"></a>', PAGE)
    assert len(anchors) == len(set(anchors))
    references = {
        (anchor, path.relative_to(ROOT).as_posix())
        for path in SOURCES
        for names in re.findall(r"docs/paper\.md((?:#[\w-]+|, (?=#))+)", path.read_text(encoding="utf-8"))
        for anchor in re.findall(r"#([\w-]+)", names)
    }
    assert len(references) >= 10
    assert [reference for reference in references if reference[0] not in anchors] == []


def test_no_other_note_is_referred_to() -> None:
    """The code speaks of this page alone, by anchors: numbered points of a note cannot be looked up."""
    numbered = re.compile(r"\bREADING\b|\bpoints? \d+\b(?! of)", re.MULTILINE)
    notes = [path.name for path in SOURCES if path != Path(__file__) and numbered.search(path.read_text("utf-8"))]
    assert notes == []
