"""Fig. λ: Deletion and Insertion against the momentum coefficient; best near 0.3 on ImageNet."""

from __future__ import annotations

from samp.methods import SAMPPlusPlus
from samp_lab.figures.sweep import Sweep
from samp_lab.tables.metric_table import MetricTable

LAMBDAS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
TABLE = MetricTable(
    name="momentum",
    title="Fig. λ: the momentum coefficient",
    rows={f"λ = {value}": SAMPPlusPlus(momentum=value) for value in LAMBDAS},
    setups=("imagenet/mobilenet_v2",),
    values={},
)
# the authors' code exchanges λ and 1 − λ of Eq. 10, so that its 0.3 is our 0.7
MOMENTUM = Sweep(TABLE, LAMBDAS, "λ", best=0.3, part="best-lambda", authors_best=0.7)
