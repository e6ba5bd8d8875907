"""A table whose rows are values of one setting, drawn against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from samp.metrics.statistics import summarise
from samp_lab.effects import ARROWS, BETTER
from samp_lab.experiment import FigureContext
from samp_lab.figures.setup_figure import picture_block
from samp_lab.measurements.base import Measurement
from samp_lab.measurements.method_maps import MethodCurves
from samp_lab.sections import Block, Section, State, Verdict, Verdicts
from samp_lab.setups import Setup
from samp_lab.statistics import Difference, compare_paired, correct_family, too_few_images
from samp_lab.store import Results
from samp_lab.tables.metric_table import MetricTable

if TYPE_CHECKING:
    from samp_lab.figures.pages import SweepLine

NEAR = 0.1 + 1e-9  # "≈ 0.3" is from 0.2 to 0.4


@dataclass(frozen=True)
class Sweep:
    """A table whose rows are values of `axis` in their order, its figure, and whether the paper's `best` one is best.

    >>> from samp_lab.figures.momentum import MOMENTUM
    >>> MOMENTUM.name, len(MOMENTUM.values)
    ('momentum', 10)
    """

    table: MetricTable
    values: tuple[float, ...]
    axis: str
    best: float
    part: str = ""
    """The paper's claim that the best value belongs to (`samp_lab.paper_claims`)."""
    authors_best: float | None = None
    """The value here that the authors' benchmark calls `best`, where its convention is another: judged as well."""

    @property
    def name(self) -> str:
        return self.table.name

    @property
    def title(self) -> str:
        return self.table.title

    @property
    def setups(self) -> tuple[str, ...]:
        return self.table.setups

    def measurements(self, setups: Sequence[Setup]) -> list[Measurement]:
        """Return the measurements of the table."""
        return self.table.measurements(setups)

    def draw(self, context: FigureContext) -> None:
        """Draw one figure with a line for each setup."""
        from samp_lab.figures.pages import sweep_page

        setups = [setup for setup in context.setups if self._has_results(context.results, setup)]
        if setups:
            halves = {ARROWS[c]: [self._line(context.results, setup, c) for setup in setups] for c in BETTER}
            words = "Means over images with their 95 % intervals."
            context.save(sweep_page(halves, self.axis, [words]), self.name)

    def section(self, results: Results, setups: Sequence[Setup], figures: Path) -> Section:
        """Return the figure, the table, and the verdict on the best value."""
        table = self.table.section(results, setups, figures)
        blocks: list[Block] = picture_block(figures, self.name, f"Deletion and Insertion against {self.axis}.")
        there = [setup for setup in setups if self._has_results(results, setup)]
        verdicts = tuple(verdict for setup in there for verdict in self._verdicts(results, setup))
        return Section(self.name, self.title, (*blocks, *table.blocks, *([Verdicts(verdicts)] if verdicts else [])))

    def _measurement(self, row: str, setup: Setup) -> MethodCurves:
        return self.table.cells.measurement(row, setup)

    def _has_results(self, results: Results, setup: Setup) -> bool:
        return all(results.has(self._measurement(row, setup)) for row in self.table.rows)

    def _line(self, results: Results, setup: Setup, column: str) -> SweepLine:
        from samp_lab.figures.pages import SweepLine

        found = [summarise(results.numbers(self._measurement(row, setup), column)) for row in self.table.rows]
        means, lows, highs = ([getattr(one, name) for one in found] for name in ("mean", "low", "high"))
        return SweepLine(setup.title, self.values, means, lows, highs)

    def _verdicts(self, results: Results, setup: Setup) -> list[Verdict]:
        """Return the verdict on the paper's best value, and on what it stands for in the authors' convention."""
        claim = f"best {self.axis} ≈ {self.best:g} by Insertion − Deletion"
        found = [self._verdict(results, setup, claim, self.best, "text")] if setup.reading == "text" else []
        if self.authors_best is None:
            return found
        # rows are in the paper's convention on all setups; on one of `text`, the convention alone is the authors'
        claim = f"best {self.axis} ≈ {self.authors_best:g} by Insertion − Deletion, {self.best:g} in the authors' code"
        return [*found, self._verdict(results, setup, claim, self.authors_best, "authors")]

    def _verdict(self, results: Results, setup: Setup, claim: str, best: float, reading: str) -> Verdict:
        """Return the verdict on the best value by Insertion − Deletion; values near `best` count as it."""
        scores = [self._difference(results, row, setup) for row in self.table.rows]
        means = [summarise(score).mean for score in scores]
        ours = int(np.nanargmax(means)) if not np.isnan(means).all() else 0
        theirs = min(range(len(self.values)), key=lambda place: abs(self.values[place] - best))
        family = correct_family([compare_paired(score, scores[theirs]) for score in scores])
        gain = family[ours]
        measured = f"best at {self.values[ours]:g}"
        measured += f", better than at {best:g} by {gain}" if ours != theirs else ""
        state = _state(abs(self.values[ours] - best), gain)
        return Verdict(claim, f"{best:g}", too_few_images(gain) or measured, state, setup.title, self.part, reading)

    def _difference(self, results: Results, row: str, setup: Setup) -> list[float]:
        deletion, insertion = (results.numbers(self._measurement(row, setup), column) for column in BETTER)
        return [after - before for before, after in zip(deletion, insertion, strict=True)]


def _state(away: float, gain: Difference) -> State:
    """Return the state of "the paper's value is best", by how far ours is from it and what ours gains over it."""
    if too_few_images(gain):
        return "missing"
    return "holds" if away <= NEAR else gain.state(-1)
