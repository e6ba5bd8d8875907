"""All experiments by their names, in the order of the report: the paper's tables, its figures, and what goes beyond.

>>> list(EXPERIMENTS)[:3], "ours" in EXPERIMENTS
(['table1', 'table2', 'table3'], True)
"""

from __future__ import annotations

from samp_lab import tables, theory
from samp_lab.experiment import Experiment

SETS: dict[str, tuple[Experiment, ...]] = {"paper": (*tables.TABLES, *tables.FIGURES), "beyond": theory.ALL}
"""Experiments that are run together."""
EXPERIMENTS: dict[str, Experiment] = {one.name: one for experiments in SETS.values() for one in experiments}
