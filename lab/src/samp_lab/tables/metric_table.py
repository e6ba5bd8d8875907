"""Tables of Deletion and Insertion, one for each setup with a row per method; most tables of the paper are such."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from samp.methods import Method
from samp.metrics.statistics import Summary, summarise
from samp_lab.effects import ARROWS, BETTER, Effect
from samp_lab.experiment import FigureContext
from samp_lab.measurements.base import Measurement
from samp_lab.measurements.method_maps import MethodCurves
from samp_lab.sections import Block, Grid, Paragraph, Section, Verdict, Verdicts
from samp_lab.setups import Setup
from samp_lab.statistics import kendall_tau
from samp_lab.store import Results

Value = tuple[float, float | None, float, float | None]
"""The paper's deletion and its deviation, insertion and its deviation."""
Summaries = Mapping[str, Mapping[str, Summary]]
"""By row and column."""


@dataclass(frozen=True)
class MetricTable:
    """Deletion and Insertion of methods, beside the paper's values and the effects it reports.

    `values` are the paper's, by data set and row; rows without one are our additions. `effects` are tested on every
    setup whose data set has values for both rows.

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

    def measurements(self, setups: Sequence[Setup]) -> list[Measurement]:
        """Return a measurement for every row on every setup."""
        return [self._measurement(row, setup) for setup in setups for row in self.rows]

    def draw(self, context: FigureContext) -> None:
        """Tables have no figures."""

    def section(self, results: Results, setups: Sequence[Setup], figures: Path) -> Section:
        """Return a table for each setup, then all verdicts."""
        blocks: list[Block] = [Paragraph(self.about)] if self.about else []
        verdicts: list[Verdict] = []
        for setup in setups:
            if any(results.has(self._measurement(row, setup)) for row in self.rows):
                blocks += self._setup_blocks(results, setup)
                verdicts += self._verdicts(results, setup)
        return Section(self.name, self.title, (*blocks, *([Verdicts(tuple(verdicts))] if verdicts else [])))

    def _measurement(self, row: str, setup: Setup) -> MethodCurves:
        return MethodCurves(setup, self.rows[row])

    def _setup_blocks(self, results: Results, setup: Setup) -> list[Block]:
        present = [row for row in self.rows if results.has(self._measurement(row, setup))]
        summaries = {row: self._summaries(results, row, setup) for row in present}
        best = {c: _best({row: summaries[row][c].mean for row in present}, BETTER[c]) for c in BETTER}
        what = ("ours", "the paper's", "difference") if self.values.get(setup.data) else ("ours",)
        cost = ("gradients", "forwards", "seconds")
        heads = ("", *(what * len(BETTER)), *cost)
        groups = (("", 1), *((ARROWS[c], len(what)) for c in BETTER), ("cost of an image", len(cost)))
        rows = []
        for row in present:
            texts = [row]
            for place, column in enumerate(BETTER):
                texts += _texts(summaries[row][column], row in best[column], self._paper(row, setup, place))[
                    : len(what)
                ]
            rows.append((*texts, *self._cost(results, row, setup)))
        grid = Grid(heads, tuple(rows), setup.title, groups)
        return [grid, Paragraph(self._order(results, setup, present, summaries))]

    def _summaries(self, results: Results, row: str, setup: Setup) -> dict[str, Summary]:
        return {column: summarise(results.numbers(self._measurement(row, setup), column)) for column in BETTER}

    def _paper(self, row: str, setup: Setup, place: int) -> tuple[float, float | None] | None:
        value = self.values.get(setup.data, {}).get(row)
        return None if value is None else (value[2 * place], value[2 * place + 1])  # type: ignore[return-value]  # deletion and insertion are never None

    def _cost(self, results: Results, row: str, setup: Setup) -> tuple[str, str, str]:
        measurement = self._measurement(row, setup)
        gradients, forwards = (fmean(results.numbers(measurement, column)) for column in ("gradients", "forwards"))
        seconds = results.seconds(measurement)
        return f"{gradients:,.0f}", f"{forwards:,.0f}", f"{fmean(seconds):.3g}" if seconds else "–"

    def _order(self, results: Results, setup: Setup, present: Sequence[str], summaries: Summaries) -> str:
        """Return the number of images, and Kendall's τ between the paper's order of the rows and ours."""
        known = [row for row in present if self._paper(row, setup, 0) is not None]
        sentences = [_count_images(results, [self._measurement(row, setup) for row in present])]
        if len(known) > 2:
            for place, column in enumerate(BETTER):
                paper = [self._paper(row, setup, place)[0] for row in known]  # type: ignore[index]  # known ones have a value
                tau = kendall_tau(paper, [summaries[row][column].mean for row in known])
                sentences.append(
                    f"Order of the rows by {column} against the paper's: Kendall's τ {tau:+.2f}.".replace("-", "−")
                )
        return " ".join(sentences)

    def _verdicts(self, results: Results, setup: Setup) -> list[Verdict]:
        found = []
        for effect in self.effects:
            place = list(BETTER).index(effect.column)
            a, b = self._paper(effect.a, setup, place), self._paper(effect.b, setup, place)
            if a is None or b is None:
                continue
            measurements = [self._measurement(row, setup) for row in (effect.a, effect.b)]
            if all(results.has(measurement) for measurement in measurements):
                first, second = (results.numbers(measurement, effect.column) for measurement in measurements)
                found.append(effect.verdict(a[0] - b[0], (first, second), setup.title))
        return found


def _texts(summary: Summary, best: bool, paper: tuple[float, float | None] | None) -> list[str]:
    """Return our mean with deviation and interval, the paper's, and the difference of the two."""
    mean = f"**{summary.mean:.3f}**" if best else f"{summary.mean:.3f}"
    spread = f" ± {summary.sd:.2f} [{summary.low:.3f}, {summary.high:.3f}]" if summary.count > 1 else ""
    ours = (mean + spread).replace("-", "−") if summary.count else "–"
    if paper is None:
        return [ours, "–", "–"]
    value, deviation = paper
    theirs = f"{value:.3f}" + (f" ± {deviation:.2f}" if deviation is not None else "")
    difference = f"{summary.mean - value:+.3f}".replace("-", "−") if summary.count else "–"
    return [ours, theirs.replace("-", "−"), difference]


def _best(means: Mapping[str, float], better: str) -> set[str]:
    known = {row: mean for row, mean in means.items() if not math.isnan(mean)}
    goal = (min if better == "lower" else max)(known.values(), default=None)
    return {row for row, mean in known.items() if mean == goal}


def _count_images(results: Results, measurements: Sequence[Measurement]) -> str:
    first = results.numbers(measurements[0], "deletion")
    without = sum(math.isnan(value) for value in first)
    count = f"{len(first)} images"
    return count + (f", {without} of them without a score above 0 and left out." if without else ".")
