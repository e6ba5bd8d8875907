"""The matrix as a page of the documentation."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping

import torch

import samp
from samp.methods import names
from samp_lab.matrix.cells import AGREE_BOUND, BATCH_BOUND, SUM_BOUND, Cell, measure_cell
from samp_lab.matrix.families import FAMILIES, make_family

MARKS = {"sums": "✓ Σ", "agrees": "✓ =", "runs": "✓", "wrong": "✗"}
Matrix = Mapping[str, Mapping[str, Cell]]
"""By method and family."""


def measure_matrix(methods: Iterable[str] = (), families: Iterable[str] = ()) -> dict[str, dict[str, Cell]]:
    """Return the cells of these methods on these families, of all if none are named."""
    chosen = list(methods) or names()
    made = {name: make_family(name) for name in (list(families) or FAMILIES)}
    return {method: {name: measure_cell(method, family) for name, family in made.items()} for method in chosen}


def write_page(matrix: Matrix) -> str:
    """Return the page: what the marks mean, the matrix, and every refusal in its own words."""
    families = list(next(iter(matrix.values())))
    notes: dict[str, int] = {}
    lines = [
        "# Which method explains which model",
        "",
        "Made by `samp bench matrix` "
        f"(samp {samp.__version__}, torch {torch.__version__}, Python {platform.python_version()}); "
        "every cell is one or more calls of `samp.explain` or `samp.text.explain` on a small seeded net of that "
        "family, in float64. It says that a method works, not how good its maps are, nor that a sum of many steps is "
        "close: [how well each method sums](completeness.md) on real nets is another page.",
        "",
        f"- **✓ Σ**: the credit sums to the change of the score, to {SUM_BOUND:g} of it or better.",
        f"- **✓ =**: the credit is Captum's, to {AGREE_BOUND:g} of its largest entry or better (IG: of its trapezoids, "
        "whose weights sum to (n − 1)/n, scaled to 1).",
        f"- **✓**: the credit is finite, not constant, and the same (to {BATCH_BOUND:g}) for a sample explained alone; "
        "but for LIME, whose draws depend on the largest number of superpixels among the images of a call.",
        "- **a number**: the method refuses; what it says stands below.",
        f"- **✗**: a crash, a sum that does not hold, a credit other than Captum's: {len(find_wrong(matrix))} cells.",
        "",
        "| method | " + " | ".join(families) + " |",
        "|---" * (len(families) + 1) + "|",
    ]
    for method, row in matrix.items():
        lines.append(f"| `{method}` | " + " | ".join(_mark(row[name], notes) for name in families) + " |")
    lines += ["", "## What the refusals say", ""]
    lines += [f"{number}. {_escape(note)}" for note, number in notes.items()]
    return "\n".join(lines) + "\n"


def find_wrong(matrix: Matrix) -> list[str]:
    """Return a line for each cell that is wrong: a crash, a broken sum, another credit than Captum's.

    >>> find_wrong({"ig": {"tabular": Cell("sums"), "ViT": Cell("wrong", "the credit does not sum", 0.5)}})
    ['ig on ViT: the credit does not sum (0.5)']
    """
    return [
        f"{method} on {family}: {cell.note} ({cell.size:.2g})"
        for method, row in matrix.items()
        for family, cell in row.items()
        if cell.state == "wrong"
    ]


def _mark(cell: Cell, notes: dict[str, int]) -> str:
    if cell.state != "refuses":
        return MARKS[cell.state]
    return str(notes.setdefault(cell.note, len(notes) + 1))


def _escape(note: str) -> str:
    return note.replace("<", "\\<").replace("|", "\\|").replace("*", "\\*")
