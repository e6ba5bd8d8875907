"""Tables of seconds: methods timed one image at a time in one run, which only their ratios outlast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from samp.methods import Method
from samp.metrics.statistics import summarise
from samp_lab.measurements.paper_tables import MethodSeconds
from samp_lab.sections import Grid, Verdict
from samp_lab.setups import Setup
from samp_lab.statistics import claim_state, ratio
from samp_lab.store import Results


@dataclass(frozen=True)
class TimeTable:
    """Seconds of each row beside the paper's, as multiples of the row `unit`; `claims` are what the paper says of it.

    A claim is the other row and whether `unit` is "faster" or "slower" than that. Both are of one data set, `data`;
    on another, seconds stand alone.

    >>> table = TimeTable({"SAMP++": "samp++", "CAM": "cam"}, {"SAMP++": 0.235}, "SAMP++", {"CAM": "slower"})
    >>> from samp_lab.setups import parse_setup
    >>> [cell.method for cell in table.measurements(parse_setup("mnist"))]
    ['samp++', 'cam']
    """

    rows: Mapping[str, str | Method]
    values: Mapping[str, float]
    unit: str
    claims: Mapping[str, str]
    data: str = "mnist"

    def measurements(self, bed: Setup) -> list[MethodSeconds]:
        """A cell for every row."""
        return [self._measurement(row, bed) for row in self.rows]

    def grid(self, results: Results, bed: Setup) -> Grid | None:
        """The rows that were timed, or None."""
        seconds = self._seconds(results, bed)
        if not seconds:
            return None
        theirs = ("the paper's",) if self._is_paper_data(bed) else ()
        heads = ("", "ours", *theirs, "ours", *theirs, "gradients", "forwards")
        width = 1 + len(theirs)
        groups = (("", 1), ("seconds", width), (f"× {self.unit}", width), ("model calls", 2))
        rows = tuple(self._row(row, seconds, results, bed) for row in seconds)
        count = len(next(iter(seconds.values())))
        return Grid(heads, rows, f"{bed.title}: one image at a time, the median of {count}", groups)

    def verdicts(self, results: Results, bed: Setup) -> list[Verdict]:
        """The claims whose two rows were timed."""
        seconds = self._seconds(results, bed)
        if self.unit not in seconds or not self._is_paper_data(bed):
            return []
        return [self._verdict(other, seconds, bed) for other in self.claims if other in seconds]

    def _measurement(self, row: str, bed: Setup) -> MethodSeconds:
        return MethodSeconds(bed, self.rows[row])

    def _seconds(self, results: Results, bed: Setup) -> dict[str, list[float]]:
        found = {
            row: results.seconds(self._measurement(row, bed))
            for row in self.rows
            if results.has(self._measurement(row, bed))
        }
        return {row: seconds for row, seconds in found.items() if seconds}

    def _is_paper_data(self, bed: Setup) -> bool:
        return bed.data.partition(":")[0] == self.data  # also for half of the data set

    def _row(self, row: str, seconds: Mapping[str, list[float]], results: Results, bed: Setup) -> tuple[str, ...]:
        cell = self._measurement(row, bed)
        calls = (summarise(results.numbers(cell, name)).mean for name in ("gradients", "forwards"))
        multiple = f"{ratio(seconds[row], seconds[self.unit]).value:.2f}" if self.unit in seconds else "–"
        theirs = self._paper(row) if self._is_paper_data(bed) else ((), ())
        return (row, f"{median(seconds[row]):.3g}", *theirs[0], multiple, *theirs[1], *(f"{n:,.0f}" for n in calls))

    def _paper(self, row: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The paper's seconds, and how many times the unit's they are."""
        if row not in self.values:
            return ("–",), ("–",)
        return (f"{self.values[row]:.3f}",), (f"{self.values[row] / self.values[self.unit]:.2f}",)

    def _verdict(self, other: str, seconds: Mapping[str, list[float]], bed: Setup) -> Verdict:
        found = ratio(seconds[self.unit], seconds[other])
        state = claim_state(found, least=1.0) if self.claims[other] == "slower" else claim_state(found, most=1.0)
        paper = f"× {self.values[self.unit] / self.values[other]:.3g}" if other in self.values else self.claims[other]
        return Verdict(
            f"{self.unit} {self.claims[other]} than {other}", paper, f"× {found.format('.3g')}", state, bed.title
        )


def median(values: Sequence[float]) -> float:
    """Half of the values lie below: one image that another process held up does not count.

    >>> median([1.0, 9.0, 2.0])
    2.0
    """
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
