"""Fig. λ: Deletion and Insertion drawn against the momentum coefficient, over the cells of its table."""

from __future__ import annotations

from samp_lab.figures.sweep import Sweep
from samp_lab.tables.momentum_table import LAMBDAS, MOMENTUM

MOMENTUM_FIGURE = Sweep(MOMENTUM, LAMBDAS, "λ", best=0.3)
