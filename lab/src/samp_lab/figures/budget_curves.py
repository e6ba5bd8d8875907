"""Budget curves: the quality of methods against the gradients they spend."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from samp.methods import Method
from samp.metrics.statistics import Summary, summarise
from samp_lab.claims import Difference, image_by_image
from samp_lab.experiment import Sheet
from samp_lab.figures.setup_figure import picture
from samp_lab.measurements.base import Cell, Judged
from samp_lab.sections import Block, Grid, Section, State, Verdict, Verdicts, Words
from samp_lab.setups import Bed
from samp_lab.store import Results

if TYPE_CHECKING:
    from samp_lab.figures.pages import Swept

ABOUT = (
    "Insertion − Deletion at about so many gradients an image. What was spent is counted, end points included, and "
    "averaged over images: pixels that are at their end from the start cost no step, so a walk may need less."
)


@dataclass(frozen=True)
class BudgetCurves:
    """Methods as functions of a budget of gradients, at several budgets; claims are of `champion` against `rival`.

    >>> from samp_lab.setups import bed
    >>> from samp.methods import IG
    >>> curves = BudgetCurves("b", "B", {"IG": lambda budget: IG(steps=budget - 1)}, (7, 14), ("mnist",), "IG", "IG")
    >>> [cell.method.steps for cell in curves.cells([bed("mnist")])]
    [6, 13]
    """

    name: str
    title: str
    methods: Mapping[str, Callable[[int], Method]]
    budgets: tuple[int, ...]
    beds: tuple[str, ...]
    champion: str
    rival: str
    about: str = ABOUT

    def cells(self, beds: Sequence[Bed]) -> list[Cell]:
        """Every method at every budget."""
        return [self.cell(bed, row, budget) for bed in beds for row in self.methods for budget in self.budgets]

    def draw(self, sheet: Sheet) -> None:
        """A panel for each bed, a line for each method."""
        from samp_lab.figures.line_panels import Look, panel_page

        lines = {bed.title: found for bed in sheet.beds if (found := self._lines(sheet.results, bed))}
        if lines:
            look = Look("gradients an image (mean)", "insertion − deletion", self.budgets)
            sheet.save(panel_page(lines, look, ["Means over images with their 95 % intervals."]), self.name)

    def section(self, results: Results, beds: Sequence[Bed], figures: Path) -> Section:
        """The figure, for each bed its table, then what is claimed of the champion."""
        caption = "Insertion − Deletion against the gradients spent, on a logarithmic scale."
        blocks: list[Block] = [Words(self.about), *picture(figures, self.name, caption)]
        there = [bed for bed in beds if any(self._measured(results, bed, row) for row in self.methods)]
        blocks += [self._grid(results, bed) for bed in there]
        verdicts = tuple(verdict for bed in there if (verdict := self._verdict(results, bed)))
        claims = [Verdicts(verdicts, "What is claimed, and whether it holds")] if verdicts else []
        return Section(self.name, self.title, (*blocks, *claims) if there else ())

    def cell(self, bed: Bed, row: str, budget: int) -> Judged:
        """The cell of this method at this budget."""
        return Judged(bed, self.methods[row](budget))

    def _measured(self, results: Results, bed: Bed, row: str) -> list[int]:
        return [budget for budget in self.budgets if results.has(self.cell(bed, row, budget))]

    def _lines(self, results: Results, bed: Bed) -> list[Swept]:
        from samp_lab.figures.pages import Swept

        lines = []
        for row in self.methods:
            budgets = self._measured(results, bed, row)
            spent = [self._spent(results, bed, row, budget) for budget in budgets]
            found = [summarise(self._differences(results, bed, row, budget)) for budget in budgets]
            means, lows, highs = ([getattr(one, name) for one in found] for name in ("mean", "low", "high"))
            lines += [Swept(row, spent, means, lows, highs)] if budgets else []
        return lines

    def _grid(self, results: Results, bed: Bed) -> Grid:
        best = {budget: self._best(results, bed, budget) for budget in self.budgets}
        rows = []
        for row in self.methods:
            cells = [row]
            for budget in self.budgets:
                if results.has(self.cell(bed, row, budget)):
                    found = summarise(self._differences(results, bed, row, budget))
                    cells += [f"{self._spent(results, bed, row, budget):.1f}", _shown(found, row == best[budget])]
                else:
                    cells += ["–", "–"]
            rows.append(tuple(cells))
        heads = ("", *("gradients", "ins − del ↑") * len(self.budgets))
        groups = (("", 1), *((f"budget {budget}", 2) for budget in self.budgets))
        return Grid(heads, tuple(rows), bed.title, groups)

    def _best(self, results: Results, bed: Bed, budget: int) -> str:
        known = [row for row in self.methods if results.has(self.cell(bed, row, budget))]
        return max(known, key=lambda row: summarise(self._differences(results, bed, row, budget)).mean, default="")

    def _verdict(self, results: Results, bed: Bed) -> Verdict | None:
        """Budget by budget, image by image; it holds if it does at all of them, and fails if it does at any."""
        shared = set(self._measured(results, bed, self.champion)) & set(self._measured(results, bed, self.rival))
        found = {
            budget: image_by_image(
                *(self._differences(results, bed, row, budget) for row in (self.champion, self.rival))
            )
            for budget in sorted(shared)
        }
        if not found:
            return None
        said = "; ".join(f"{budget}: {_difference(one)}" for budget, one in found.items())
        claim = f"{self.champion} is above {self.rival} at every budget"
        return Verdict(claim, "–", said, _together([one.state(+1) for one in found.values()]), bed.title)

    def _differences(self, results: Results, bed: Bed, row: str, budget: int) -> list[float]:
        deletion, insertion = (
            results.numbers(self.cell(bed, row, budget), column) for column in ("deletion", "insertion")
        )
        return [after - before for before, after in zip(deletion, insertion, strict=True)]

    def _spent(self, results: Results, bed: Bed, row: str, budget: int) -> float:
        return fmean(results.numbers(self.cell(bed, row, budget), "gradients"))


def _together(states: Sequence[State]) -> State:
    if "fails" in states:
        return "fails"
    return "open" if "open" in states else "holds"


def _shown(found: Summary, best: bool) -> str:
    mean = f"**{found.mean:.3f}**" if best else f"{found.mean:.3f}"
    return f"{mean} [{found.low:.3f}, {found.high:.3f}]".replace("-", "−")


def _difference(found: Difference) -> str:
    return f"{found.value:+.3f} [{found.low:+.3f}, {found.high:+.3f}]".replace("-", "−")
