"""Tables of seconds: methods timed one image at a time in one run; their ratios can be compared across machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from samp.methods import Method
from samp.metrics.statistics import summarise
from samp_lab.measurements.paper_tables import MethodSeconds
from samp_lab.readings import method_as_read
from samp_lab.sections import Grid, Verdict
from samp_lab.setups import Setup
from samp_lab.statistics import claim_state, ratio
from samp_lab.store import Results


@dataclass(frozen=True)
class TimeTable:
    """Seconds of each row beside the paper's, also as multiples of the row `unit`.

    `claims` are the paper's: another row, and whether `unit` is "faster" or "slower" than it. `values` and `claims` are
    about the data set `data` and left out for others.

    >>> table = TimeTable({"SAMP++": "samp++", "CAM": "cam"}, {"SAMP++": 0.235}, "SAMP++", {"CAM": "slower"})
    >>> from samp_lab.setups import parse_setup
    >>> [measurement.method for measurement in table.measurements(parse_setup("mnist"))]
    ['samp++', 'cam']
    """

    rows: Mapping[str, str | Method]
    values: Mapping[str, float]
    unit: str
    claims: Mapping[str, str]
    data: str = "mnist"

    def measurements(self, setup: Setup) -> list[MethodSeconds]:
        """Return a measurement for every row."""
        return [self._measurement(row, setup) for row in self.rows]

    def grid(self, results: Results, setup: Setup) -> Grid | None:
        """Return a table of the rows that were timed, or None if there are none."""
        seconds = self._seconds(results, setup)
        if not seconds:
            return None
        paper = ("the paper's",) if self._is_paper_data(setup) else ()
        heads = ("", "ours", *paper, "ours", *paper, "gradients", "forwards")
        width = 1 + len(paper)
        groups = (("", 1), ("seconds", width), (f"× {self.unit}", width), ("model calls", 2))
        rows = tuple(self._row(row, seconds, results, setup) for row in seconds)
        count = len(next(iter(seconds.values())))
        return Grid(heads, rows, f"{setup.title}: one image at a time, the median of {count}", groups)

    def verdicts(self, results: Results, setup: Setup) -> list[Verdict]:
        """Return the verdicts on claims whose two rows were timed."""
        seconds = self._seconds(results, setup)
        if self.unit not in seconds or not self._is_paper_data(setup):
            return []
        return [self._verdict(other, seconds, setup) for other in self.claims if other in seconds]

    def _measurement(self, row: str, setup: Setup) -> MethodSeconds:
        return MethodSeconds(setup, method_as_read(self.rows[row], setup))

    def _seconds(self, results: Results, setup: Setup) -> dict[str, list[float]]:
        found = {
            row: results.seconds(self._measurement(row, setup))
            for row in self.rows
            if results.has(self._measurement(row, setup))
        }
        return {row: seconds for row, seconds in found.items() if seconds}

    def _is_paper_data(self, setup: Setup) -> bool:
        return setup.data.partition(":")[0] == self.data  # half of the data set is mnist:even

    def _row(self, row: str, seconds: Mapping[str, list[float]], results: Results, setup: Setup) -> tuple[str, ...]:
        measurement = self._measurement(row, setup)
        calls = (summarise(results.numbers(measurement, name)).mean for name in ("gradients", "forwards"))
        multiple = f"{ratio(seconds[row], seconds[self.unit]).value:.2f}" if self.unit in seconds else "–"
        paper = self._paper(row) if self._is_paper_data(setup) else ((), ())
        return (row, f"{median(seconds[row]):.3g}", *paper[0], multiple, *paper[1], *(f"{n:,.0f}" for n in calls))

    def _paper(self, row: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the paper's seconds, and as a multiple of the unit's."""
        if row not in self.values:
            return ("–",), ("–",)
        return (f"{self.values[row]:.3f}",), (f"{self.values[row] / self.values[self.unit]:.2f}",)

    def _verdict(self, other: str, seconds: Mapping[str, list[float]], setup: Setup) -> Verdict:
        found = ratio(seconds[self.unit], seconds[other])
        state = claim_state(found, least=1.0) if self.claims[other] == "slower" else claim_state(found, most=1.0)
        paper = f"× {self.values[self.unit] / self.values[other]:.3g}" if other in self.values else self.claims[other]
        return Verdict(
            f"{self.unit} {self.claims[other]} than {other}", paper, f"× {found.format('.3g')}", state, setup.title
        )


def median(values: Sequence[float]) -> float:
    """Return the median: one image that another process held up does not count.

    >>> median([1.0, 9.0, 2.0])
    2.0
    """
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
