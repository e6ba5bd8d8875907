"""Fig. λ: Deletion and Insertion drawn against the momentum coefficient, over the cells of its table."""

from __future__ import annotations

from samp.experiments.paper.momentum import LAMBDAS, MOMENTUM
from samp.experiments.sweep import Sweep

MOMENTUM_FIGURE = Sweep(MOMENTUM, LAMBDAS, "λ", best=0.3)
