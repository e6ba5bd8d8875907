"""Stored cells measured again on this machine: of each table, one whose weights and images are at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from samp_lab.measurements.base import Measurement, name_of
from samp_lab.registry import load_experiment
from samp_lab.runner import measure
from samp_lab.setups import parse_setup
from samp_lab.store import Store
from samp_lab.tables.metric_cells import MetricCells
from samp_lab.workspace import ExperimentOptions, Workspace

RESULTS = Path(__file__).parents[2] / "results"
DATA = Path(os.environ.get("SAMP_DATA", "nowhere"))
# Rounding decides between pixels of nearly equal gain, so that single images of another machine differ: a CPU from the
# H200 that made the cells of ResNet-50 by up to 0.025.
CELLS = [
    ("slim", "table1", "mnist/mnist-slim-authors@authors", "SAMP++", 4, 0.02),
    ("slim", "table1", "cifar10/cifar10-slim-authors@authors", "IG", 4, 0.02),
    (".", "table1", "imagenet/resnet50", "SAMP", 1, 0.05),
    (".", "table2", "imagenet/resnet50", "+MS", 1, 0.05),
    (".", "table3", "imagenet/resnet50", "1/10", 1, 0.05),
    (".", "table4", "imagenet/resnet50", "to x⁰", 1, 0.05),
    (".", "table6", "imagenet@authors", "B+B", 1, 0.05),
]


def cells_of(experiment: str) -> MetricCells:
    cells: MetricCells = load_experiment(experiment).cells  # type: ignore[attr-defined]  # tables of Deletion and Insertion
    return cells


@pytest.mark.skipif(not DATA.is_dir(), reason="needs MNIST, CIFAR-10, photos and ResNet-50 in SAMP_DATA")
@pytest.mark.parametrize(("folder", "experiment", "setup", "row", "images", "tolerance"), CELLS)
def test_a_stored_cell_comes_out_again(
    folder: str, experiment: str, setup: str, row: str, images: int, tolerance: float, tmp_path: Path
) -> None:
    cell = cells_of(experiment).measurement(row, parse_setup(setup))
    stored = Store(RESULTS / folder).read().entries[name_of(cell)]
    workspace = Workspace(ExperimentOptions(data=DATA, models=tmp_path, limit=images, part=images))
    again = measure(cell, workspace, Store(tmp_path)).entry
    assert again["facts"]["weights"] == stored["facts"]["weights"]
    for column in ("deletion", "insertion"):
        assert again["numbers"][column] == pytest.approx(stored["numbers"][column][:images], abs=tolerance)


def cell_named(experiment: str, setup: str, ending: str) -> Measurement:
    """The one measurement of an experiment on a setup whose name has this in it."""
    (cell,) = (one for one in load_experiment(experiment).measurements([parse_setup(setup)]) if ending in name_of(one))
    return cell


@pytest.mark.skipif(not DATA.is_dir(), reason="needs VOC's photos and ResNet-50 in SAMP_DATA")
def test_a_stored_pointing_game_of_table_7_comes_out_again(tmp_path: Path) -> None:
    cell = cell_named("table7", "voc/resnet50", " method=MWP()")
    stored = Store(RESULTS).read().entries[name_of(cell)]
    workspace = Workspace(ExperimentOptions(data=DATA, models=tmp_path, part=8))
    assert measure(cell, workspace, Store(tmp_path)).entry["numbers"] == stored["numbers"]


@pytest.mark.skipif(not DATA.is_dir(), reason="needs MNIST in SAMP_DATA")
@pytest.mark.parametrize(
    ("experiment", "name"),
    [("table7", "fidelity bed=mnist/mnist-slim-authors@authors method=CAM("), ("table8", "DeepSHAP")],
)
def test_a_stored_cell_of_a_slim_net_comes_out_again(experiment: str, name: str, tmp_path: Path) -> None:
    images = 4
    (cell,) = (
        one
        for one in load_experiment(experiment).measurements([parse_setup("mnist/mnist-slim-authors@authors")])
        if name in name_of(one) and not getattr(one, "alone", False)
    )
    stored = Store(RESULTS / "slim").read().entries[name_of(cell)]["numbers"]
    workspace = Workspace(ExperimentOptions(data=DATA, models=tmp_path, limit=images, part=images))
    again = measure(cell, workspace, Store(tmp_path)).entry["numbers"]
    columns = [column for column in ("cells", "bhatt", "deletion", "insertion") if column in again]
    assert len(columns) == 2
    for column in columns:
        assert again[column] == pytest.approx(stored[column][:images], abs=0.02)
