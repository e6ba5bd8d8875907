"""Table 8: SAMP++ beside the Shapley methods on MNIST, in Deletion, Insertion and seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from samp.methods import Method
from samp_lab.effects import Effect
from samp_lab.experiment import FigureContext
from samp_lab.measurements.base import Measurement
from samp_lab.sections import Section, Verdicts
from samp_lab.setups import Setup
from samp_lab.store import Results
from samp_lab.tables.metric_table import MetricTable
from samp_lab.tables.time_table import TimeTable

ROWS: dict[str, str | Method] = {"ApproShapley": "shapley", "Deep SHAP": "deepshap", "SAMP++": "samp++"}
METRICS = MetricTable(
    name="table8",
    title="Table 8: the Shapley methods",
    rows=ROWS,
    setups=("mnist", "mnist@authors"),
    values={
        "mnist": {
            "ApproShapley": (0.014, None, 0.808, None),
            "Deep SHAP": (0.029, None, 0.955, None),
            "SAMP++": (-0.137, None, 1.050, None),
        }
    },
    effects=tuple(
        Effect("SAMP++", other, column, part="shapley")
        for other in ("ApproShapley", "Deep SHAP")
        for column in ("deletion", "insertion")
    ),
    about=(
        "ApproShapley draws 25 orders of the 784 pixels from black, 19,603 forwards an image; the paper does not say "
        "how many it drew. Deep SHAP is DeepLIFT averaged over black, white, uniform and Gaussian noise; the paper "
        "does not say what it averaged over. The seconds of the first table are of images in batches."
    ),
)
TIMES = TimeTable(
    rows=ROWS,
    values={"ApproShapley": 14.390, "Deep SHAP": 0.748, "SAMP++": 0.235},
    unit="SAMP++",
    claims={"ApproShapley": "faster", "Deep SHAP": "faster"},
    part="shapley",
)


@dataclass(frozen=True)
class ShapleyTable:
    """A table of Deletion and Insertion and one of seconds.

    >>> from samp_lab.setups import parse_setup
    >>> [measurement.kind for measurement in TABLE8.measurements([parse_setup("mnist")])]
    ['judged', 'judged', 'judged', 'timed', 'timed', 'timed']
    """

    metrics: MetricTable
    times: TimeTable

    @property
    def name(self) -> str:
        return self.metrics.name

    @property
    def title(self) -> str:
        return self.metrics.title

    @property
    def setups(self) -> tuple[str, ...]:
        return self.metrics.setups

    def measurements(self, setups: Sequence[Setup]) -> list[Measurement]:
        """Return the measurements of metrics and of seconds for every row."""
        return [
            *self.metrics.measurements(setups),
            *(measurement for setup in setups for measurement in self.times.measurements(setup)),
        ]

    def draw(self, context: FigureContext) -> None:
        """Tables have no figures."""

    def section(self, results: Results, setups: Sequence[Setup], figures: Path) -> Section:
        """Return the tables of each setup, then the verdicts of both."""
        metrics = self.metrics.section(results, setups, figures)
        grids = [grid for setup in setups if (grid := self.times.grid(results, setup))]
        verdicts = (*metrics.verdicts, *(one for setup in setups for one in self.times.verdicts(results, setup)))
        blocks = [block for block in metrics.blocks if not isinstance(block, Verdicts)]
        return Section(self.name, self.title, (*blocks, *grids, *([Verdicts(verdicts)] if verdicts else [])))


TABLE8 = ShapleyTable(METRICS, TIMES)
