"""The list of the paper's parts: whole, with commands and claims that exist, and a reason where something differs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from samp_lab.experiment_commands import OTHER_COMMANDS
from samp_lab.paper_claims import CLAIMS
from samp_lab.registry import EXPERIMENTS

PAGE = (Path(__file__).parents[2] / "docs" / "parts.md").read_text(encoding="utf-8")
HEADS, _, *ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line[:1] == "|"
]
STATES = {"done", "stand-in", "not done"}


def column(name: str) -> list[str]:
    return [row[HEADS.index(name)] for row in ROWS]


def test_every_line_is_whole_and_numbered() -> None:
    assert {len(row) for row in ROWS} == {len(HEADS)}
    assert [int(number) for number in column("#")] == list(range(1, 56))
    assert len(set(column("part"))) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[1])
def test_the_command_exists(row: list[str]) -> None:
    (command,) = re.findall(r"`([\w-]+)`", row[HEADS.index("samp bench")])
    assert command in EXPERIMENTS or command in OTHER_COMMANDS


def test_what_is_not_as_in_the_paper_has_a_reason() -> None:
    assert set(column("state")) <= STATES
    without = [row for row in ROWS if row[HEADS.index("state")] != "done" and not row[-1]]
    assert without == []


def test_every_claim_of_the_paper_is_decided_by_one_part() -> None:
    named = re.findall(r"`([\w-]+)`", " ".join(column("claims")))
    assert sorted(named) == sorted(CLAIMS)


def test_every_equation_table_and_figure_is_there() -> None:
    parts = " ".join(column("part"))
    for name in [*(f"Eq. {n}" for n in range(1, 11)), *(f"Table {n}" for n in range(1, 9)), "Algorithm 1"]:
        assert re.search(rf"{name}\b", parts), name
    paper = (Path(__file__).parents[2] / "docs" / "paper.md").read_text(encoding="utf-8")
    figures = re.findall(r"^\| (Fig\. [^|]+?) \|", paper, re.MULTILINE)
    assert len(figures) >= 12
    assert [name for name in figures if name not in parts] == []
