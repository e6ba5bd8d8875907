"""The table of a vision transformer: methods made for those stand in it, and are measured nowhere else."""

from __future__ import annotations

from pathlib import Path

from samp_lab.measurements.base import name_of
from samp_lab.measurements.method_maps import MethodCurves
from samp_lab.sections import Grid
from samp_lab.setups import parse_setup
from samp_lab.store import Results
from samp_lab.tables.table1 import TABLE1
from samp_lab.tables.transformer import MADE_FOR_TRANSFORMERS, TRANSFORMER_RANKING

VIT, CNN = parse_setup("imagenet/dinov2_vits14"), parse_setup("digits/mnist-slim")


def test_it_is_measured_on_transformers_alone() -> None:
    cells = TRANSFORMER_RANKING.measurements([CNN, VIT])
    assert {cell.setup for cell in cells} == {VIT}
    methods = {str(cell.method) for cell in cells if isinstance(cell, MethodCurves)}
    assert set(map(str, MADE_FOR_TRANSFORMERS.values())) <= methods


def test_its_cells_of_other_methods_are_those_of_table_1() -> None:
    shared = {name_of(one) for one in TABLE1.measurements([VIT])} & {
        name_of(one) for one in TRANSFORMER_RANKING.measurements([VIT])
    }
    assert len(shared) == len(set(TABLE1.rows) & set(TRANSFORMER_RANKING.rows))


def test_samp_plus_plus_is_tested_against_every_method_made_for_transformers() -> None:
    cells = {}
    for place, row in enumerate(TRANSFORMER_RANKING.rows):
        values = [0.1 * place + 0.01 * image for image in range(20)]
        numbers = {"deletion": values, "insertion": values, "gradients": [1] * 20, "forwards": [0] * 20}
        cells[name_of(TRANSFORMER_RANKING.measurement(row, VIT))] = {"numbers": numbers}
    section = TRANSFORMER_RANKING.section(Results(cells, {}), [VIT], Path("no figures"))
    (grid,) = (block for block in section.blocks if isinstance(block, Grid))
    assert [row[0] for row in grid.rows] == list(TRANSFORMER_RANKING.rows)
    said = {verdict.claim: verdict.state for verdict in section.verdicts}
    for rival in MADE_FOR_TRANSFORMERS:
        found = {state for claim, state in said.items() if rival in claim}
        assert found == {"holds", "fails", "open"}  # deletion is lower, insertion lower, and their difference 0
