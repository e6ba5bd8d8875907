"""Table 4: walking to the baseline, to the image, or both; η ratio 0.1, no momentum (docs/paper.md#no-momentum)."""

from __future__ import annotations

from samp.methods import SAMP
from samp_lab.effects import Effect
from samp_lab.setups import IMAGENET_NETS
from samp_lab.tables.metric_table import MetricTable

TABLE4 = MetricTable(
    name="table4",
    title="Table 4: the direction of the path",
    rows={
        "to x⁰": SAMP(eta=0.1, direction="to_baseline"),
        "to x^T": SAMP(eta=0.1, direction="to_image"),
        "both": SAMP(eta=0.1),
    },
    setups=(*(f"imagenet/{net}" for net in IMAGENET_NETS), "imagenet@authors"),
    values={
        "imagenet": {
            "to x⁰": (0.108, 0.107, 0.659, 0.171),
            "to x^T": (0.199, 0.135, 1.330, 0.230),
            "both": (0.159, 0.121, 1.056, 0.185),
        }
    },
    effects=tuple(
        Effect(row, "both", column, part="directions")  # each on its side of "both": so the two are in order as well
        for row in ("to x⁰", "to x^T")
        for column in ("deletion", "insertion")
    ),
)
