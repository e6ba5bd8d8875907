"""All experiments by their names, in the order of the report: the paper's tables, its figures, and what goes beyond.

>>> list(EXPERIMENTS)[:3], "ours" in EXPERIMENTS
(['table1', 'table2', 'table3'], True)
"""

from __future__ import annotations

from samp_lab.experiment import Experiment
from samp_lab.figures.baselines import BASELINES
from samp_lab.figures.budget import BUDGET
from samp_lab.figures.confidence import CONFIDENCE
from samp_lab.figures.counting import COUNTING
from samp_lab.figures.curves import CURVES
from samp_lab.figures.eta import ETA
from samp_lab.figures.fine_grained import FINE_GRAINED
from samp_lab.figures.gallery import GALLERY
from samp_lab.figures.momentum import MOMENTUM_FIGURE
from samp_lab.figures.mosaics import MOSAICS
from samp_lab.figures.sensitivity import SENSITIVITY
from samp_lab.figures.shapley import SHAPLEY
from samp_lab.figures.verification import VERIFICATION
from samp_lab.tables.coupled_ranking import OURS
from samp_lab.tables.diffid_rematch import REMATCH
from samp_lab.tables.table1 import TABLE1
from samp_lab.tables.table2 import TABLE2
from samp_lab.tables.table3 import TABLE3
from samp_lab.tables.table4 import TABLE4
from samp_lab.tables.table6 import TABLE6
from samp_lab.tables.table7 import TABLE7
from samp_lab.tables.table8 import TABLE8
from samp_lab.tables.transfer import TRANSFER
from samp_lab.theory.optimum_table import OPTIMUM
from samp_lab.theory.propositions import THEORY

TABLES: tuple[Experiment, ...] = (TABLE1, TABLE2, TABLE3, TABLE4, TABLE6, TABLE7, TABLE8)
FIGURES: tuple[Experiment, ...] = (
    CURVES,
    VERIFICATION,
    GALLERY,
    SENSITIVITY,
    MOMENTUM_FIGURE,
    BASELINES,
    ETA,
    COUNTING,
    CONFIDENCE,
    SHAPLEY,
    MOSAICS,
    FINE_GRAINED,
)
BEYOND: tuple[Experiment, ...] = (OURS, TRANSFER, BUDGET, REMATCH, OPTIMUM, THEORY)
SETS: dict[str, tuple[Experiment, ...]] = {"paper": (*TABLES, *FIGURES), "beyond": BEYOND}
"""Experiments that are run together."""
EXPERIMENTS: dict[str, Experiment] = {one.name: one for experiments in SETS.values() for one in experiments}
