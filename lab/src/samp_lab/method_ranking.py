"""Rankings: one method against all others on the same images, by Deletion, Insertion and their difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from samp.methods import Method
from samp.metrics.statistics import compare_pairs, holm, summarise
from samp_lab.effects import ARROWS, BETTER_OF_ALL, Column, Effect
from samp_lab.experiment import FigureContext
from samp_lab.measurements.base import Measurement
from samp_lab.measurements.method_maps import MethodCurves
from samp_lab.readings import method_as_read
from samp_lab.report.format import p_value
from samp_lab.sections import Block, Grid, Paragraph, Section, State, Verdict, Verdicts
from samp_lab.setups import Setup
from samp_lab.statistics import compare_paired, correct_family, too_few_images
from samp_lab.store import Results

COLUMNS: tuple[Column, ...] = ("deletion", "insertion", "difference")


@dataclass(frozen=True)
class MethodRanking:
    """Rows of methods, each compared with the `champion` image by image; claims are against `rivals`.

    >>> ranking = MethodRanking("c", "C", {"ours": "samp++", "IG": "ig"}, ("mnist",), champion="ours", rivals=("IG",))
    >>> from samp_lab.setups import parse_setup
    >>> [measurement.method for measurement in ranking.measurements([parse_setup("mnist")])]
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
    """Instead of the setup's protocol."""
    nets: str = ""
    """What the names of the nets begin with that it is measured on and shown for; all nets if empty."""

    def measurements(self, setups: Sequence[Setup]) -> list[Measurement]:
        """Return a measurement for every row on every setup of its `nets`."""
        own = [one for one in setups if one.net.startswith(self.nets)]
        return [self.measurement(row, setup) for row in self.rows for setup in own]

    def draw(self, context: FigureContext) -> None:
        """Tables have no figures."""

    def section(self, results: Results, setups: Sequence[Setup], figures: Path) -> Section:
        """Return a table for each setup, then the claims about the champion."""
        blocks: list[Block] = [Paragraph(self.about)] if self.about else []
        verdicts: list[Verdict] = []
        for setup in setups:
            present = [row for row in self.rows if results.has(self.measurement(row, setup))]
            if self.champion in present and len(present) > 1:
                blocks.append(self._grid(results, setup, present))
                verdicts += self._claims(results, setup, present)
        if verdicts:
            blocks.append(Verdicts(tuple(verdicts), "What is claimed, and whether it holds"))
        return Section(self.name, self.title, tuple(blocks) if verdicts else ())

    def measurement(self, row: str, setup: Setup) -> MethodCurves:
        """Return the measurement of this row."""
        return MethodCurves(setup, method_as_read(self.rows[row], setup), self.protocol)

    def numbers(self, results: Results, row: str, setup: Setup, column: Column) -> list[float]:
        """One number per image; the difference is insertion − deletion."""
        measurement = self.measurement(row, setup)
        if column != "difference":
            return results.numbers(measurement, column)
        pairs = zip(results.numbers(measurement, "insertion"), results.numbers(measurement, "deletion"), strict=True)
        return [insertion - deletion for insertion, deletion in pairs]

    def _grid(self, results: Results, setup: Setup, present: Sequence[str]) -> Grid:
        columns = {c: self._column(results, setup, present, c) for c in COLUMNS}
        heads = ("", *("mean ± sd", f"less {self.champion}, Holm's p") * len(COLUMNS), "completeness", "gradients")
        groups = (("", 1), *((ARROWS[c], 2) for c in COLUMNS), ("median error", 1), ("of an image", 1))
        rows = [
            (row, *(text for c in COLUMNS for text in columns[c][row]), *self._cost(results, row, setup))
            for row in present
        ]
        return Grid(heads, tuple(rows), setup.title, groups)

    def _column(
        self, results: Results, setup: Setup, present: Sequence[str], column: Column
    ) -> dict[str, tuple[str, str]]:
        """Return, by row, the mean (bold if best) and the difference to the champion with Holm's p."""
        numbers = {row: self.numbers(results, row, setup, column) for row in present}
        summaries = {row: summarise(values) for row, values in numbers.items()}
        best = (min if BETTER_OF_ALL[column] == "lower" else max)(summaries.values(), key=lambda s: s.mean).mean
        others = [row for row in present if row != self.champion]
        compared = {row: compare_pairs(numbers[row], numbers[self.champion], BETTER_OF_ALL[column]) for row in others}
        ps = dict(zip(others, holm([compared[row].p for row in others]), strict=True))
        texts = {}
        for row, summary in summaries.items():
            mean = f"**{summary.mean:.3f}**" if summary.mean == best else f"{summary.mean:.3f}"
            less = f"{compared[row].difference:+.3f}, {p_value(ps[row])}" if row in compared else "–"
            texts[row] = (f"{mean} ± {summary.sd:.2f}".replace("-", "−"), less.replace("-", "−"))
        return texts

    def _cost(self, results: Results, row: str, setup: Setup) -> tuple[str, str]:
        measurement = self.measurement(row, setup)
        known = results.entry(measurement)["numbers"]
        errors = sorted(error for error in known.get("completeness_error", []) if error is not None)
        forwards = fmean(results.numbers(measurement, "forwards"))
        more = f" + {forwards:,.0f} forwards" if forwards else ""
        error = f"{errors[len(errors) // 2]:.1e}".replace("-", "−") if errors else "–"
        return error, f"{fmean(results.numbers(measurement, 'gradients')):,.1f}{more}"

    def _claims(self, results: Results, setup: Setup, present: Sequence[str]) -> list[Verdict]:
        """Return verdicts on: better than each rival in every column, and beaten on both metrics by no one."""
        effects = [Effect(self.champion, row, column) for row in self.rivals if row in present for column in COLUMNS]
        family = [
            compare_paired(*(self.numbers(results, row, setup, effect.column) for row in (effect.a, effect.b)))
            for effect in effects
        ]
        pairs = zip(effects, correct_family(family), strict=True)
        return [
            *(effect.claim(found, setup) for effect, found in pairs),
            self._verdict_on_champion(results, setup, present),
        ]

    def _verdict_on_champion(self, results: Results, setup: Setup, present: Sequence[str]) -> Verdict:
        found = {row: [summarise(self.numbers(results, row, setup, column)) for column in COLUMNS] for row in present}
        means = {row: [one.mean for one in summaries] for row, summaries in found.items()}
        few = too_few_images(found[self.champion][0])
        own = means[self.champion]
        on_both = [row for row, (deletion, insertion, _) in means.items() if deletion < own[0] and insertion > own[1]]
        first = max(means, key=lambda row: means[row][2])
        beaten = f"; better on both: {', '.join(on_both)}" if on_both else ""
        measured = f"first by insertion − deletion: {first}{beaten}"
        state: State = "holds" if first == self.champion and not on_both else "fails"
        state = "missing" if few else state
        claim = f"{self.champion} has the best insertion − deletion, and none is better on both"
        return Verdict(claim, "–", few or measured, state, setup.title, reading=setup.reading)
