"""Table 6: the baselines of the two directions; η ratio 0.02, no momentum (docs/paper.md#no-momentum, #blur)."""

from __future__ import annotations

from samp.baselines import Baseline, Blurred, Uniform, black, white
from samp.methods import SAMP
from samp_lab.effects import Effect
from samp_lab.tables.metric_table import MetricTable

PAIRS: dict[str, tuple[Baseline, Baseline]] = {
    "B+B": (black, black),
    "B+W": (black, white),
    "B+U": (black, Uniform()),
    "B+G": (black, Blurred(31, 5.0)),
}
TABLE6 = MetricTable(
    name="table6",
    title="Table 6: the choice of baselines",
    rows={name: SAMP(eta=0.02, baseline=pair) for name, pair in PAIRS.items()},
    setups=("imagenet/mobilenet_v2", "imagenet@authors"),
    values={
        "imagenet": {
            "B+B": (0.254, 0.137, 0.779, 0.178),
            "B+W": (0.272, 0.137, 0.743, 0.166),
            "B+U": (0.257, 0.130, 0.681, 0.179),
            "B+G": (0.218, 0.133, 1.130, 0.168),
        }
    },
    effects=tuple(
        Effect("B+G", other, column, part="baselines")
        for other in ("B+B", "B+W", "B+U")
        for column in ("deletion", "insertion")
    ),
    about="Black (B), white (W), uniform noise (U) and the blurred image (G), for deletion + insertion.",
)
