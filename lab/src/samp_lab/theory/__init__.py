"""Beyond the paper: the coupled walk against all others, on images it was not tuned on."""

from __future__ import annotations

from samp_lab.experiment import Experiment
from samp_lab.figures.budget import BUDGET
from samp_lab.tables.coupled_ranking import OURS
from samp_lab.tables.diffid_rematch import REMATCH
from samp_lab.tables.transfer import TRANSFER
from samp_lab.theory.optimum_table import OPTIMUM
from samp_lab.theory.propositions import THEORY

ALL: tuple[Experiment, ...] = (OURS, TRANSFER, BUDGET, REMATCH, OPTIMUM, THEORY)
