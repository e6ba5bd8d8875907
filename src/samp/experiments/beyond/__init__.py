"""Beyond the paper: the coupled walk against all others, on images it was not tuned on."""

from __future__ import annotations

from samp.experiments.beyond.budget import BUDGET
from samp.experiments.beyond.optimum import OPTIMUM
from samp.experiments.beyond.ours import OURS
from samp.experiments.beyond.rematch import REMATCH
from samp.experiments.beyond.theory import THEORY
from samp.experiments.beyond.transfer import TRANSFER
from samp.experiments.experiment import Experiment

ALL: tuple[Experiment, ...] = (OURS, TRANSFER, BUDGET, REMATCH, OPTIMUM, THEORY)
