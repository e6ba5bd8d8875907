"""Each table and figure of the paper as one small module: its settings and the paper's values as data."""

from __future__ import annotations

from samp.experiments.experiment import Experiment
from samp.experiments.paper.figure_baselines import BASELINES
from samp.experiments.paper.figure_confidence import CONFIDENCE
from samp.experiments.paper.figure_counting import COUNTING
from samp.experiments.paper.figure_curves import CURVES
from samp.experiments.paper.figure_eta import ETA
from samp.experiments.paper.figure_fine_grained import FINE_GRAINED
from samp.experiments.paper.figure_gallery import GALLERY
from samp.experiments.paper.figure_momentum import MOMENTUM_FIGURE
from samp.experiments.paper.figure_mosaics import MOSAICS
from samp.experiments.paper.figure_shapley import SHAPLEY
from samp.experiments.paper.figure_verification import VERIFICATION
from samp.experiments.paper.sensitivity import SENSITIVITY
from samp.experiments.paper.table1 import TABLE1
from samp.experiments.paper.table2 import TABLE2
from samp.experiments.paper.table3 import TABLE3
from samp.experiments.paper.table4 import TABLE4
from samp.experiments.paper.table6 import TABLE6
from samp.experiments.paper.table7 import TABLE7
from samp.experiments.paper.table8 import TABLE8

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
