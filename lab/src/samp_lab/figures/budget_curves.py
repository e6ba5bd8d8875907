"""The quality of methods against the gradients they use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from samp.methods import Method
from samp.metrics.statistics import Summary, summarise
from samp_lab.experiment import FigureContext
from samp_lab.figures.setup_figure import picture_block
from samp_lab.measurements.base import Measurement
from samp_lab.measurements.method_maps import MethodCurves
from samp_lab.sections import Block, Grid, Paragraph, Section, Verdict, Verdicts
from samp_lab.setups import Setup
from samp_lab.statistics import compare_paired, state_of_all, too_few_images
from samp_lab.store import Results

if TYPE_CHECKING:
    from samp_lab.figures.pages import SweepLine

ABOUT = (
    "Insertion − Deletion at about so many gradients an image. What was spent is counted, end points included, and "
    "averaged over images: pixels that are at their end from the start cost no step, so a walk may need less."
)


@dataclass(frozen=True)
class BudgetCurves:
    """Methods as functions of a budget of gradients, at several budgets; claims are of `champion` against `rival`.

    >>> from samp_lab.setups import parse_setup
    >>> from samp.methods import IG
    >>> curves = BudgetCurves("b", "B", {"IG": lambda budget: IG(steps=budget - 1)}, (7, 14), ("mnist",), "IG", "IG")
    >>> [measurement.method.steps for measurement in curves.measurements([parse_setup("mnist")])]
    [6, 13]
    """

    name: str
    title: str
    methods: Mapping[str, Callable[[int], Method]]
    budgets: tuple[int, ...]
    setups: tuple[str, ...]
    champion: str
    rival: str
    about: str = ABOUT

    def measurements(self, setups: Sequence[Setup]) -> list[Measurement]:
        """Return a measurement of every method at every budget."""
        return [
            self.measurement(setup, row, budget) for setup in setups for row in self.methods for budget in self.budgets
        ]

    def draw(self, context: FigureContext) -> None:
        """Draw a panel for each setup with a line for each method."""
        from samp_lab.figures.line_panels import PanelStyle, panel_page

        lines = {setup.title: found for setup in context.setups if (found := self._lines(context.results, setup))}
        if lines:
            look = PanelStyle("gradients an image (mean)", "insertion − deletion", self.budgets)
            context.save(panel_page(lines, look, ["Means over images with their 95 % intervals."]), self.name)

    def section(self, results: Results, setups: Sequence[Setup], figures: Path) -> Section:
        """Return the figure, a table for each setup, and the claims about the champion."""
        caption = "Insertion − Deletion against the gradients spent, on a logarithmic scale."
        blocks: list[Block] = [Paragraph(self.about), *picture_block(figures, self.name, caption)]
        there = [setup for setup in setups if any(self._available_budgets(results, setup, row) for row in self.methods)]
        blocks += [self._grid(results, setup) for setup in there]
        verdicts = tuple(verdict for setup in there if (verdict := self._verdict(results, setup)))
        claims = [Verdicts(verdicts, "What is claimed, and whether it holds")] if verdicts else []
        return Section(self.name, self.title, (*blocks, *claims) if there else ())

    def measurement(self, setup: Setup, row: str, budget: int) -> MethodCurves:
        """Return the measurement of this method at this budget."""
        return MethodCurves(setup, self.methods[row](budget))

    def _available_budgets(self, results: Results, setup: Setup, row: str) -> list[int]:
        return [budget for budget in self.budgets if results.has(self.measurement(setup, row, budget))]

    def _lines(self, results: Results, setup: Setup) -> list[SweepLine]:
        from samp_lab.figures.pages import SweepLine

        lines = []
        for row in self.methods:
            budgets = self._available_budgets(results, setup, row)
            spent = [self._mean_gradients(results, setup, row, budget) for budget in budgets]
            found = [summarise(self._differences(results, setup, row, budget)) for budget in budgets]
            means, lows, highs = ([getattr(one, name) for one in found] for name in ("mean", "low", "high"))
            lines += [SweepLine(row, spent, means, lows, highs)] if budgets else []
        return lines

    def _grid(self, results: Results, setup: Setup) -> Grid:
        best = {budget: self._best(results, setup, budget) for budget in self.budgets}
        rows = []
        for row in self.methods:
            texts = [row]
            for budget in self.budgets:
                if results.has(self.measurement(setup, row, budget)):
                    found = summarise(self._differences(results, setup, row, budget))
                    texts += [
                        f"{self._mean_gradients(results, setup, row, budget):.1f}",
                        _format_mean(found, row == best[budget]),
                    ]
                else:
                    texts += ["–", "–"]
            rows.append(tuple(texts))
        heads = ("", *("gradients", "ins − del ↑") * len(self.budgets))
        groups = (("", 1), *((f"budget {budget}", 2) for budget in self.budgets))
        return Grid(heads, tuple(rows), setup.title, groups)

    def _best(self, results: Results, setup: Setup, budget: int) -> str:
        known = [row for row in self.methods if results.has(self.measurement(setup, row, budget))]
        return max(known, key=lambda row: summarise(self._differences(results, setup, row, budget)).mean, default="")

    def _verdict(self, results: Results, setup: Setup) -> Verdict | None:
        """Return the verdict on all budgets: it holds if the claim holds at each, and fails if it fails at any."""
        shared = set(self._available_budgets(results, setup, self.champion)) & set(
            self._available_budgets(results, setup, self.rival)
        )
        found = {
            budget: compare_paired(
                *(self._differences(results, setup, row, budget) for row in (self.champion, self.rival))
            )
            for budget in sorted(shared)
        }
        if not found:
            return None
        few = next(filter(None, map(too_few_images, found.values())), "")
        measured = few or "; ".join(f"{budget}: {one.format('+.3f')}" for budget, one in found.items())
        claim = f"{self.champion} is above {self.rival} at every budget"
        return Verdict(claim, "–", measured, state_of_all([one.state(+1) for one in found.values()]), setup.title)

    def _differences(self, results: Results, setup: Setup, row: str, budget: int) -> list[float]:
        deletion, insertion = (
            results.numbers(self.measurement(setup, row, budget), column) for column in ("deletion", "insertion")
        )
        return [after - before for before, after in zip(deletion, insertion, strict=True)]

    def _mean_gradients(self, results: Results, setup: Setup, row: str, budget: int) -> float:
        return fmean(results.numbers(self.measurement(setup, row, budget), "gradients"))


def _format_mean(found: Summary, best: bool) -> str:
    mean = f"**{found.mean:.3f}**" if best else f"{found.mean:.3f}"
    return f"{mean} [{found.low:.3f}, {found.high:.3f}]".replace("-", "−")
