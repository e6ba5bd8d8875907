"""Counts and tables that pages repeat are those of results/: all are compared, and the built ones are up to date."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

from samp_lab.measurements.base import name_of, spec_of
from samp_lab.setups import parse_setup
from samp_lab.tables.table1 import TABLE1

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"
spec = importlib.util.spec_from_file_location("build_numbers", ROOT / "docs" / "build_numbers.py")
assert spec
assert spec.loader
build_numbers = importlib.util.module_from_spec(spec)
spec.loader.exec_module(build_numbers)

TEXTS = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "lab").glob("*.md"))]
}


# ---- the pages


@pytest.mark.parametrize("page", build_numbers.PAGES)
def test_the_page_is_up_to_date(page: str) -> None:
    same = TEXTS[page] == build_numbers.fill_page(TEXTS[page], RESULTS)
    assert same, f"{page} is behind results/: run `python docs/build_numbers.py` and commit it."


def test_no_other_page_has_blocks() -> None:
    assert [page for page, text in TEXTS.items() if page not in build_numbers.PAGES and "<!-- /" in text] == []


def test_what_stands_within_a_line_does_not_begin_it() -> None:
    for page in build_numbers.PAGES:
        inside = [found for found in build_numbers.BLOCK.finditer(TEXTS[page]) if "\n" not in found["old"]]
        assert [found[0] for found in inside if TEXTS[page][found.start() - 1] == "\n"] == []


@pytest.mark.parametrize("page", TEXTS)
def test_every_count_on_every_page_is_that_of_the_report(page: str) -> None:
    """Any number before "claims" or "comparisons", and whole sentences on how many hold."""
    paper, own = (build_numbers.read_counts(RESULTS, whose) for whose in ("of the paper", "of our own"))
    text = " ".join(re.sub(r"<!--.*?-->", "", TEXTS[page]).split())
    judged = re.search(r"Of (\d+) claims of the paper, ", (RESULTS / "report.md").read_text(encoding="utf-8"))
    known = {paper[0], own[0], *([int(judged[1])] if judged else [])}
    assert {int(count) for count in re.findall(r"\b(\d+) (?:claims|comparisons)\b", text)} <= known
    for stated in re.findall(r"(\d+) \w+ that the paper draws, (\d+) hold, (\d+) stay open and (\d+)", text):
        assert tuple(map(int, stated)) == paper
    for stated in re.findall(r"(\d+) \w+ of the paper and (\d+) of our own", text):
        assert tuple(map(int, stated)) == (paper[0], own[0])


def test_the_counts_add_up_and_readme_and_guide_state_them() -> None:
    for whose in ("of the paper", "of our own"):
        total, *states = build_numbers.read_counts(RESULTS, whose)
        assert total == sum(states)
    for page in ("README.md", "docs/guide.md"):
        assert re.search(r"\d+ (claims|comparisons)\b", TEXTS[page]), page


# ---- the script


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two images of IG on MNIST, one of SAMP under both readings, and a report with counts."""
    cells = {}
    for setup, row, deletion, insertion in (
        ("mnist", "IG", [-0.25, -0.5, None], [0.75, 1.0, None]),
        ("mnist", "SAMP", [-1.0], [2.0]),
        ("mnist@authors", "SAMP", [0.125], [1.5]),
        ("imagenet/mobilenet_v2", "IG", [0.1], [0.2]),
    ):
        bed = parse_setup(setup)
        cell = dict(zip(TABLE1.rows, TABLE1.measurements([bed]), strict=True))[row]
        numbers = {"deletion": deletion, "insertion": insertion}
        cells[name_of(cell)] = {"asked": spec_of(cell), "facts": {}, "numbers": numbers}
    cells[name_of(cell)]["stale"] = "made long ago"
    results = {"about": {}, "commands": [], "images": {}, "cells": cells, "failed": {}}
    (tmp_path / "results.json").write_text(json.dumps(results))
    (tmp_path / "report.md").write_text(
        "**Of 25 claims of the paper, 9 hold, 5 are open, 6 fail and 4 depend on the reading; 1 were not measured.**\n"
        "**Of 7 comparisons of the paper that were tested here, 4 hold, 1 is open and 2 fail.**\n"
        "**Of 1 comparison of our own that was tested here, 1 holds, 0 are open and 0 fail.**\n"
    )
    return tmp_path


def test_a_table_has_the_papers_numbers_and_the_means_of_each_reading(folder: Path) -> None:
    page = "before\n<!-- table1: IG, SAMP -->\nold\n<!-- /table1 -->\nafter"
    assert build_numbers.fill_page(page, folder).splitlines() == [
        "before",
        "<!-- table1: IG, SAMP -->",
        "| Deletion ↓ / Insertion ↑ | MNIST: paper | ours, text | ours, authors | CIFAR-10: paper "
        "| ImageNet: paper | ours, text, MobileNetV2 |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| IG | −0.038 / 0.795 | −0.375 / 0.875 | – | −0.372 / 1.452 | 0.197 / 0.725 | 0.100 / 0.200 † |",
        "| SAMP | −0.093 / 1.074 | −1.000 / 2.000 | 0.125 / 1.500 | −0.733 / 1.458 | 0.154 / 0.984 | – |",
        "<!-- /table1 -->",
        "after",
    ]


def test_counts_are_read_from_the_report(folder: Path) -> None:
    page = "; ".join(f"<!-- {name} -->x<!-- /{name} -->" for name in ("counts", "both-counts", "claims"))
    assert re.sub("<!--.*?-->", "", build_numbers.fill_page(page, folder)) == (
        "of 7 comparisons that the paper draws, 4 hold, 1 stay open and 2 fail; 7 comparisons of the paper and 1 of "
        "our own; of 25 claims of the paper, 9 hold, 5 are open, 6 fail and 4 depend on the reading; "
        "1 were not measured"
    )


def test_what_cannot_be_made_is_refused(folder: Path) -> None:
    for page, said in (
        ("<!-- table9 --><!-- /table9 -->", "no block 'table9': the blocks are table1, gap, counts"),
        ("<!-- table1: IGG --><!-- /table1 -->", "no row 'IGG'"),
    ):
        with pytest.raises(ValueError, match=said):
            build_numbers.fill_page(page, folder)
    (folder / "report.md").write_text("nothing")
    for name in ("counts", "claims"):
        with pytest.raises(ValueError, match="write it again"):
            build_numbers.fill_page(f"<!-- {name} --><!-- /{name} -->", folder)
