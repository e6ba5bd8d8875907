"""Tables of Deletion and Insertion with a row for each method, under both readings; most of the paper's are such."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from samp.methods import Method
from samp_lab.effects import Effect
from samp_lab.experiment import FigureContext
from samp_lab.measurements.base import Measurement
from samp_lab.sections import Block, Grid, Paragraph, Section, Verdict, Verdicts
from samp_lab.setups import Setup
from samp_lab.statistics import compare_paired, correct_family
from samp_lab.store import Results
from samp_lab.tables.agreement import agreement_sentence
from samp_lab.tables.metric_cells import MetricCells, Value, split_setups
from samp_lab.tables.metric_grids import full_grid, other_nets_grid
from samp_lab.tables.rival_tests import RivalTests, compare_with_rivals, rival_grid, rival_verdicts

Note = Callable[[MetricCells, Results, Sequence[Setup]], list[Block]]
"""From the table, the results and the setups that have some to what is said of them."""


@dataclass(frozen=True)
class MetricTable:
    """Deletion and Insertion of methods, beside the paper's values and the effects it reports.

    `values` are the paper's, by data set and row; rows without one are our additions. `effects` are tested on every
    setup whose data set has values for both rows, and `champions` against all other rows with values.

    >>> table = MetricTable("t", "T", {"IG": "ig"}, ("mnist",), {"mnist": {"IG": (-0.038, 0.14, 0.795, 0.11)}})
    >>> from samp_lab.setups import parse_setup
    >>> [measurement.method for measurement in table.measurements([parse_setup("mnist")])]
    ['ig']
    """

    name: str
    title: str
    rows: Mapping[str, str | Method]
    setups: tuple[str, ...]
    values: Mapping[str, Mapping[str, Value]]
    effects: tuple[Effect, ...] = ()
    about: str = ""
    champions: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def cells(self) -> MetricCells:
        """The rows as they are measured, and the paper's values."""
        return MetricCells(self.rows, self.values)

    def measurements(self, setups: Sequence[Setup]) -> list[Measurement]:
        """Return a measurement for every row on every setup; on nets of other training seeds for those of the paper."""
        return [self.cells.measurement(row, setup) for setup in setups for row in self.cells.rows_on(setup)]

    def draw(self, context: FigureContext) -> None:
        """Tables have no figures."""

    def section(self, results: Results, setups: Sequence[Setup], figures: Path) -> Section:
        """Return the grids of each data set, the notes, all verdicts, and every test of the champions."""
        known = [setup for setup in setups if self.cells.present(results, setup)]
        blocks: list[Block] = [Paragraph(self.about)] if self.about else []
        for data in dict.fromkeys(setup.data for setup in known):
            blocks += self._data_blocks(results, [setup for setup in known if setup.data == data])
        for note in self.notes:
            blocks += note(self.cells, results, known)
        tests = {one: compare_with_rivals(self.cells, results, one, self.champions) for one in known}
        verdicts = [one for setup in known for one in self._verdicts(results, setup, tests[setup])]
        blocks += [Verdicts(tuple(verdicts))] if verdicts else []
        return Section(self.name, self.title, (*blocks, *self._every_test(tests)))

    def _data_blocks(self, results: Results, setups: Sequence[Setup]) -> list[Block]:
        """Return the grid of both readings, a sentence on each, and the grid of all other nets."""
        full, others = split_setups(setups)
        blocks: list[Block] = [full_grid(self.cells, results, full)]
        blocks += [Paragraph(self._words(results, setup, named=len(full) > 1)) for setup in full]
        blocks += [other_nets_grid(self.cells, results, full, others)] if others else []
        return [*blocks, *(Paragraph(words) for setup in setups if (words := self._failures(results, setup)))]

    def _failures(self, results: Results, setup: Setup) -> str:
        """Return which rows were not measured on a setup and why, or "" if all were."""
        found = self.cells.failures(results, setup)
        reasons = " ".join(f"{row}: {why if why.endswith('.') else f'{why}.'}" for row, why in found.items())
        return f"Not measured on {setup.title}: {reasons}" if found else ""

    def _words(self, results: Results, setup: Setup, *, named: bool) -> str:
        """Return the number of images and how the setup agrees with the paper, after the reading's name if asked."""
        first = results.numbers(self.cells.measurement(self.cells.present(results, setup)[0], setup), "deletion")
        without = sum(math.isnan(value) for value in first)
        images = f"{len(first)} images"
        images += f", {without} of them without a score above 0 and left out." if without else "."
        agreement = agreement_sentence(self.cells, results, setup)
        whole = f"{images} {agreement[:1].upper()}{agreement[1:]}".strip()
        return f"Reading “{setup.reading}”: {whole}" if named else whole

    def _verdicts(self, results: Results, setup: Setup, tests: RivalTests) -> list[Verdict]:
        """Return the verdicts on the champions and on all effects, whose p are Holm's over those of one claim."""
        found = rival_verdicts(self.cells, setup, self.champions, tests)
        for part in dict.fromkeys(effect.part for effect in self.effects):
            family = [one for one in self.effects if one.part == part and self._is_tested(one, results, setup)]
            tested = [compare_paired(*self._pair(effect, results, setup)) for effect in family]
            for effect, alone, corrected in zip(family, tested, correct_family(tested), strict=True):
                difference = alone if effect.neutral else corrected  # the correction would favour "no difference"
                found.append(effect.verdict(self._paper_difference(effect, setup), difference, setup))
        return found

    def _is_tested(self, effect: Effect, results: Results, setup: Setup) -> bool:
        present = self.cells.present(results, setup)
        return all(row in present and row in self.values.get(setup.data, {}) for row in (effect.a, effect.b))

    def _pair(self, effect: Effect, results: Results, setup: Setup) -> tuple[list[float], list[float]]:
        first, second = (self.cells.numbers(results, row, setup, effect.column) for row in (effect.a, effect.b))
        return first, second

    def _paper_difference(self, effect: Effect, setup: Setup) -> float:
        first, second = (self.cells.paper(row, setup.data, effect.column) for row in (effect.a, effect.b))
        return first[0] - second[0] if first and second else math.nan

    def _every_test(self, tests: Mapping[Setup, RivalTests]) -> list[Grid]:
        """Return all single tests of the champions, on the setups that are shown in full."""
        by_data = {data: [one for one in tests if one.data == data] for data in (setup.data for setup in tests)}
        full = [one for group in by_data.values() for one in split_setups(group)[0]]
        return [rival_grid(setup, tests[setup]) for setup in full if tests[setup]]
