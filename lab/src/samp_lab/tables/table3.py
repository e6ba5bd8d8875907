"""Table 3: the upper bound η of IC, without momentum (docs/paper.md#no-momentum)."""

from __future__ import annotations

from samp.methods import SAMP
from samp_lab.effects import Effect
from samp_lab.tables.metric_table import MetricTable

TABLE3 = MetricTable(
    name="table3",
    title="Table 3: the upper bound η",
    rows={f"1/{n}": SAMP(eta=1 / n) for n in (10, 50, 100, 200)},
    setups=("imagenet/mobilenet_v2", "imagenet@authors"),
    values={
        "imagenet": {
            "1/10": (0.159, 0.121, 1.056, 0.185),
            "1/50": (0.218, 0.133, 1.130, 0.168),
            "1/100": (0.249, 0.142, 1.031, 0.155),
            "1/200": (0.279, 0.147, 0.939, 0.159),
        }
    },
    effects=tuple(
        Effect(row, "1/10", column, part="constraint-neutral", neutral=True)
        for row in ("1/50", "1/100", "1/200")
        for column in ("deletion", "insertion")
    ),
    about=(
        "SAMP with IC and without momentum, as the rows shared with Table 2 show the paper's to be. The paper says "
        "that IC has no significant impact; its own numbers change with η all the same, and stand beside ours."
    ),
)
