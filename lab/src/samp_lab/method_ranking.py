"""Contests: one method against all others on the same images, by Deletion, Insertion and their difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from samp.methods import Method
from samp.metrics.statistics import compare_pairs, holm, summarise
from samp_lab.effects import ARROWS, BETTER_OF_ALL, Column, Effect
from samp_lab.experiment import FigureContext
from samp_lab.measurements.base import Measurement, MethodCurves
from samp_lab.report.format import p_value
from samp_lab.sections import Block, Grid, Paragraph, Section, State, Verdict, Verdicts
from samp_lab.setups import Setup
from samp_lab.store import Results

COLUMNS: tuple[Column, ...] = ("deletion", "insertion", "difference")


@dataclass(frozen=True)
class MethodRanking:
    """Rows of methods, each compared with the `champion` image by image; claims are against `rivals`.

    >>> contest = MethodRanking("c", "C", {"ours": "samp++", "IG": "ig"}, ("mnist",), champion="ours", rivals=("IG",))
    >>> from samp_lab.setups import parse_setup
    >>> [cell.method for cell in contest.measurements([parse_setup("mnist")])]
    ['samp++', 'ig']
    """

    name: str
    title: str
    rows: Mapping[str, str | Method]
    setups: tuple[str, ...]
    champion: str
    rivals: tuple[str, ...]
    about: str = ""
    protocol: str | None = None
    """Another protocol than the bed's."""

    def measurements(self, setups: Sequence[Setup]) -> list[Measurement]:
        """A cell for every row on every bed."""
        return [self.measurement(row, bed) for row in self.rows for bed in setups]

    def draw(self, sheet: FigureContext) -> None:
        """Tables have no figures."""

    def section(self, results: Results, setups: Sequence[Setup], figures: Path) -> Section:
        """For each bed its table, then what is claimed of the champion."""
        blocks: list[Block] = [Paragraph(self.about)] if self.about else []
        verdicts: list[Verdict] = []
        for bed in setups:
            present = [row for row in self.rows if results.has(self.measurement(row, bed))]
            if self.champion in present and len(present) > 1:
                blocks.append(self._grid(results, bed, present))
                verdicts += self._claims(results, bed, present)
        if verdicts:
            blocks.append(Verdicts(tuple(verdicts), "What is claimed, and whether it holds"))
        return Section(self.name, self.title, tuple(blocks) if verdicts else ())

    def measurement(self, row: str, bed: Setup) -> MethodCurves:
        """The cell of this row."""
        return MethodCurves(bed, self.rows[row], self.protocol)

    def numbers(self, results: Results, row: str, bed: Setup, column: Column) -> list[float]:
        """One number per image; the difference is insertion − deletion."""
        cell = self.measurement(row, bed)
        if column != "difference":
            return results.numbers(cell, column)
        pairs = zip(results.numbers(cell, "insertion"), results.numbers(cell, "deletion"), strict=True)
        return [insertion - deletion for insertion, deletion in pairs]

    def _grid(self, results: Results, bed: Setup, present: Sequence[str]) -> Grid:
        columns = {c: self._column(results, bed, present, c) for c in COLUMNS}
        heads = ("", *("mean ± sd", f"less {self.champion}, Holm's p") * len(COLUMNS), "completeness", "gradients")
        groups = (("", 1), *((ARROWS[c], 2) for c in COLUMNS), ("median error", 1), ("of an image", 1))
        rows = [
            (row, *(cell for c in COLUMNS for cell in columns[c][row]), *self._cost(results, row, bed))
            for row in present
        ]
        return Grid(heads, tuple(rows), bed.title, groups)

    def _column(
        self, results: Results, bed: Setup, present: Sequence[str], column: Column
    ) -> dict[str, tuple[str, str]]:
        """By row: the mean, bold for the best, and the difference to the champion with Holm's p."""
        numbers = {row: self.numbers(results, row, bed, column) for row in present}
        summaries = {row: summarise(values) for row, values in numbers.items()}
        best = (min if BETTER_OF_ALL[column] == "lower" else max)(summaries.values(), key=lambda s: s.mean).mean
        others = [row for row in present if row != self.champion]
        compared = {row: compare_pairs(numbers[row], numbers[self.champion], BETTER_OF_ALL[column]) for row in others}
        ps = dict(zip(others, holm([compared[row].p for row in others]), strict=True))
        found = {}
        for row, summary in summaries.items():
            mean = f"**{summary.mean:.3f}**" if summary.mean == best else f"{summary.mean:.3f}"
            less = f"{compared[row].difference:+.3f}, {p_value(ps[row])}" if row in compared else "–"
            found[row] = (f"{mean} ± {summary.sd:.2f}".replace("-", "−"), less.replace("-", "−"))
        return found

    def _cost(self, results: Results, row: str, bed: Setup) -> tuple[str, str]:
        cell = self.measurement(row, bed)
        known = results.entry(cell)["numbers"]
        errors = sorted(error for error in known.get("completeness_error", []) if error is not None)
        forwards = fmean(results.numbers(cell, "forwards"))
        more = f" + {forwards:,.0f} forwards" if forwards else ""
        error = f"{errors[len(errors) // 2]:.1e}".replace("-", "−") if errors else "–"
        return error, f"{fmean(results.numbers(cell, 'gradients')):,.1f}{more}"

    def _claims(self, results: Results, bed: Setup, present: Sequence[str]) -> list[Verdict]:
        """Better than each rival in every column, and on no bed beaten on both metrics by anyone."""
        found = []
        for rival in (row for row in self.rivals if row in present):
            for column in COLUMNS:
                pair = (self.numbers(results, self.champion, bed, column), self.numbers(results, rival, bed, column))
                found.append(Effect(self.champion, rival, column).claim(pair, bed.title))
        return [*found, self._verdict_on_champion(results, bed, present)]

    def _verdict_on_champion(self, results: Results, bed: Setup, present: Sequence[str]) -> Verdict:
        means = {
            row: [summarise(self.numbers(results, row, bed, column)).mean for column in COLUMNS] for row in present
        }
        own = means[self.champion]
        on_both = [row for row, (deletion, insertion, _) in means.items() if deletion < own[0] and insertion > own[1]]
        first = max(means, key=lambda row: means[row][2])
        beaten = f"; better on both: {', '.join(on_both)}" if on_both else ""
        said = f"first by insertion − deletion: {first}{beaten}"
        state: State = "holds" if first == self.champion and not on_both else "fails"
        claim = f"{self.champion} has the best insertion − deletion, and none is better on both"
        return Verdict(claim, "–", said, state, bed.title)
