"""μFidelity of methods beside the paper's, and whether SAMP++ is better than each other method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from samp.methods import Method
from samp.metrics.statistics import Summary, summarise
from samp_lab.claims_on_setups import SetupClaim, count_pairs
from samp_lab.measurements.paper_tables import Fidelity
from samp_lab.readings import method_as_read
from samp_lab.sections import Grid, Verdict
from samp_lab.setups import Setup
from samp_lab.statistics import compare_paired, not_worse_state
from samp_lab.store import Results

FIDELITY_VALUES = {
    "SmoothGrad": 0.327,
    "RISE": 0.286,
    "IG": 0.453,
    "Blur IG": 0.292,
    "Guided IG": 0.453,
    "SAMP++": 0.461,
}
CELLS, OLD_GRID, PIXELS = "cells", "novello", "bhatt"
"""Columns: equal cells; a 9 × 9 grid of unequal ones, which older runs have instead; and single pixels."""
UNIT = "SAMP++"
ABOUT_FIDELITY = (
    "The paper gives no settings of μFidelity and cites Novello et al. (2022): 200 subsets of a fifth of the cells of "
    "a grid, black, Spearman's correlation. Their grid of 9 × 9 cells does not divide 28 pixels, and on unequal cells "
    "a constant map is credited with their sizes; here cells are 4 × 4 pixels, 7 × 7 of them on MNIST, and a constant "
    "map has no correlation. Beside it stands Bhatt et al.'s own definition: single pixels and Pearson's correlation."
)


@dataclass(frozen=True)
class FidelityTable:
    """μFidelity of each row, beside the paper's on MNIST.

    >>> from samp_lab.setups import parse_setup
    >>> [measurement.method for measurement in FidelityTable({"IG": "ig"}).measurements(parse_setup("mnist"))]
    ['ig']
    """

    rows: Mapping[str, str | Method]
    values: Mapping[str, float] = field(default_factory=lambda: FIDELITY_VALUES)

    def measurements(self, setup: Setup) -> list[Fidelity]:
        """Return a measurement for every row."""
        return [self._measurement(row, setup) for row in self.rows]

    def grid(self, results: Results, setup: Setup) -> Grid | None:
        """Return a table of the rows that were measured, or None; rows on the old grid only if there are no others."""
        for column in (CELLS, OLD_GRID):
            if present := self._summaries(results, setup, column):
                return self._grid(present, setup, "" if column == CELLS else " (a 9 × 9 grid, of an older run)")
        return None

    def verdicts(self, results: Results, setup: Setup) -> list[Verdict]:
        """Return whether SAMP++ is worse than any row that the paper has; the old grid decides nothing."""
        there = self._summaries(results, setup, CELLS)
        others = [row for row in self._paper(setup) if row != UNIT and row in there]
        return [self._verdict(results, setup, other) for other in others] if UNIT in there else []

    def _measurement(self, row: str, setup: Setup) -> Fidelity:
        return Fidelity(setup, method_as_read(self.rows[row], setup))

    def _paper(self, setup: Setup) -> Mapping[str, float]:
        return self.values if setup.data.partition(":")[0] == "mnist" else {}

    def _summaries(self, results: Results, setup: Setup, column: str) -> dict[str, tuple[Summary, Summary]]:
        """Return by row μFidelity of this column and that of single pixels, where the column was measured."""
        found = {}
        for row in self.rows:
            measurement = self._measurement(row, setup)
            if results.has(measurement) and column in results.entry(measurement)["numbers"]:
                first, second = (summarise(results.numbers(measurement, name)) for name in (column, PIXELS))
                found[row] = (first, second)
        return found

    def _grid(self, present: Mapping[str, tuple[Summary, Summary]], setup: Setup, remark: str) -> Grid:
        best = [highest({row: found[place].mean for row, found in present.items()}) for place in (0, 1)]
        paper = self._paper(setup)
        heads = ("", *("ours", "the paper's", "difference")[: 3 if paper else 1], "ours")
        groups = (("", 1), (f"μFidelity ↑{remark}", len(heads) - 2), ("μFidelity ↑ as Bhatt et al. define it", 1))
        rows = []
        for row, (first, second) in present.items():
            beside = _beside_paper(first, row == best[0], paper.get(row))
            rows.append((row, *beside[: len(heads) - 2], _mean(second, row == best[1])))
        count = max(first.count for first, _ in present.values())
        return Grid(heads, tuple(rows), f"{setup.title}, {count} images", groups)

    def _verdict(self, results: Results, setup: Setup, other: str) -> Verdict:
        ours, theirs = (results.numbers(self._measurement(row, setup), CELLS) for row in (UNIT, other))
        difference = compare_paired(ours, theirs)
        paper = f"{self.values[UNIT] - self.values[other]:+.3f}"
        claim = SetupClaim(setup, "fidelity", count_pairs(ours, theirs))
        words = f"{UNIT} not worse than {other}, μFidelity ↑"
        return claim.verdict(words, f"“competitive”; {paper}", str(difference), not_worse_state(difference))


def highest(means: Mapping[str, float]) -> str:
    """Return the row of the highest mean, "" if none is known.

    >>> highest({"IG": 0.1, "CAM": float("nan"), "RISE": 0.3})
    'RISE'
    """
    return max((row for row, mean in means.items() if mean == mean), key=lambda row: means[row], default="")


def _mean(found: Summary, best: bool) -> str:
    mean = f"**{found.mean:.3f}**" if best else f"{found.mean:.3f}"
    return f"{mean} ± {found.sd:.2f} [{found.low:.3f}, {found.high:.3f}]".replace("-", "−")


def _beside_paper(found: Summary, best: bool, paper: float | None) -> tuple[str, str, str]:
    """Return our mean, the paper's, and the difference."""
    if paper is None:
        return _mean(found, best), "–", "–"
    return _mean(found, best), f"{paper:.3f}", f"{found.mean - paper:+.3f}".replace("-", "−")
