"""The matrix of methods and families: no cell is wrong, each check can fail, and the page shows what was measured."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from samp.methods import names, resolve_method
from samp_lab.matrix import cells
from samp_lab.matrix.cells import Cell, measure_cell
from samp_lab.matrix.families import FAMILIES, Family, make_family
from samp_lab.matrix.page import CHECKS, find_wrong, measure_matrix, write_page

PAGE = Path(__file__).parents[2] / "docs" / "matrix.md"
pytest.importorskip("transformers", reason="needs transformers")
pytest.importorskip("captum", reason="needs the extra compare")
pytest.importorskip("skimage", reason="needs the extra compare")


@pytest.fixture(scope="module")
def families() -> dict[str, Family]:
    return {name: make_family(name) for name in FAMILIES}


@pytest.mark.parametrize("method", names())
def test_no_cell_is_wrong_and_the_page_says_what_was_measured(method: str, families: dict[str, Family]) -> None:
    row = {name: measure_cell(method, family) for name, family in families.items()}
    assert find_wrong({method: row}) == []
    shown = read_page_row(method)
    assert shown == {name: "refuses" if cell.state == "refuses" else cell.state for name, cell in row.items()}
    said = {hide_numbers(note) for note in read_refusals()}
    for cell in row.values():
        assert cell.state != "refuses" or hide_numbers(cell.note) in said


def read_refusals() -> list[str]:
    return re.findall(r"^\d+\. (.*)$", PAGE.read_text(encoding="utf-8").replace("\\", ""), flags=re.M)


def hide_numbers(note: str) -> str:
    """Sums that a refusal names differ by rounding from machine to machine."""
    return re.sub(r"\d+(\.\d+)?", "0", note)


def read_page_row(method: str) -> dict[str, str]:
    states = {"✓ Σ": "sums", "✓ =": "agrees", "✓": "runs"}
    (line,) = (line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(f"| `{method}` |"))
    marks = [mark.strip() for mark in line.strip("|").split("|")[1:]]
    return {name: states.get(mark, "refuses") for name, mark in zip(FAMILIES, marks, strict=True)}


def test_a_method_with_a_plain_tick_names_the_test_that_compares_it() -> None:
    page, root = PAGE.read_text(encoding="utf-8"), PAGE.parents[1]
    plain = {method for method in names() if "runs" in read_page_row(method).values()}
    assert plain - set(CHECKS) <= {"random"}  # it has nothing to be compared with
    for method, check in CHECKS.items():
        file, name = check.test.split("::")
        assert f"def {name}(" in (root / file).read_text(encoding="utf-8")
        assert (f"- `{method}`: {check.what}" in page) == (method in plain)


def test_every_refusal_says_what_to_do_instead() -> None:
    notes = read_refusals()
    assert len(notes) > 10
    for note in notes:
        assert re.search(r"\b(use|pass|name|give|write)\b", note, re.IGNORECASE), note


def test_a_credit_that_does_not_sum_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "EXACT", ("samp",))
    assert measure_cell("samp", make_family("CNN, ReLU")).note == "the credit does not sum"


def test_a_credit_other_than_captums_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "peer_values", lambda name, family: list(torch.ones(2, 9)))
    assert measure_cell("ig", make_family("tabular")).note == "its peer has another credit"


def test_a_credit_that_depends_on_the_batch_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    explain = cells._explain

    def batch_dependent(family: Any, method: Any, samples: Any) -> Any:
        credit, residual, change = explain(family, method, samples)
        return [one + 0.1 * len(samples) * torch.arange(len(one)) for one in credit], residual, change

    monkeypatch.setattr(cells, "_explain", batch_dependent)
    assert measure_cell("ig", make_family("tabular")).note == "a sample alone gets another credit"


def test_a_crash_is_wrong_and_a_refusal_is_not() -> None:
    broken = replace(make_family("tabular"), model=torch.nn.Identity(), target=[99, 99])
    assert measure_cell("ig", broken).state == "refuses"
    family = make_family("tabular")
    family.model.register_forward_hook(lambda *_: 1 / 0)
    assert measure_cell("ig", family).state == "wrong"


def test_the_page_numbers_each_refusal_once() -> None:
    refusal = Cell("refuses", "no: use 'ig'.")
    page = write_page({"cam": {"a": refusal, "b": Cell("sums")}, "rise": {"a": refusal, "b": Cell("agrees")}})
    assert "| `cam` | 1 | ✓ Σ |" in page
    assert "| `rise` | 1 | ✓ = |" in page
    assert page.count("no: use 'ig'.") == 1


def test_a_part_of_the_matrix_can_be_measured() -> None:
    matrix = measure_matrix(["ig"], ["tabular"])
    assert matrix["ig"]["tabular"].state == "agrees"
    assert resolve_method("ig").about.paper
