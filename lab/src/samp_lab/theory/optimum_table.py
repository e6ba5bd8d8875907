"""How far paths and searches are from the optimum of Eq. 5, which is solved exactly for 16 groups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from samp.methods import SAMP, Coupled, Method, SAMPPlusPlus
from samp.metrics.statistics import summarise
from samp_lab.experiment import FigureContext
from samp_lab.measurements.base import Measurement
from samp_lab.measurements.path_orders import PAIR, WAYS, WIDTHS, Cut, MethodOrders, Optimum, Squares, Superpixels
from samp_lab.sections import Block, Grid, Paragraph, Section, Verdict, Verdicts
from samp_lab.setups import Setup
from samp_lab.statistics import compare_paired
from samp_lab.store import Results

SEARCHES = {
    "largest variance": "optimum",
    "largest area": "highest",
    **{f"beam of {width}": f"beam {width}" for width in WIDTHS},
    "greedy": "greedy",
    "random": "random",
}
"""Searches that need scores alone: by their row, the prefix of their columns in `Optimum`."""
HEADS = {"to_baseline": "deletion's walk", "to_image": "insertion's walk", "both": "one order for both"}
CLOSE = 1e-4  # relative: what scores of other batches may differ by, twice squared
ABOUT = (
    "Eq. 5, the variance of the credits f(S ∪ i) − f(S), is solved exactly over all orders of the groups, by dynamic "
    "programming over sets, and so is the area under the score's curve, which Insertion and Deletion judge by. “Eq. 5” "
    "is a path's variance as a share of the largest one, the mean over images with its 95 % interval; “optimal” on how "
    "many images the path is a best one; “area” where its area lies between that of random orders (0) and the largest "
    "one (1). The two are not the same aim: credits vary most if the score is first driven the wrong way, which Eq. 5 "
    "does not forbid. Methods move one group a step; with IC a group moves in parts, and the order is that of arrival. "
    "“One order for both” is the ranking of a method's credit: a group earns what it takes off deletion's score and "
    "adds to insertion's. Greedy moves the group with the largest true gain; a beam goes on from those sets whose "
    "paths have earned the most squares. Random is the mean of 200 orders."
)


@dataclass(frozen=True)
class OptimumTable:
    """Paths of methods beside the true optimum; claims are of `champion` against `rivals`.

    >>> from samp_lab.setups import parse_setup
    >>> [measurement.kind for measurement in OPTIMUM.measurements([parse_setup("mnist")])]
    ['optimum', 'ordered', 'ordered', 'ordered', 'optimum', 'ordered', 'ordered', 'ordered']
    """

    name: str
    title: str
    methods: Mapping[str, Method]
    setups: tuple[str, ...]
    cuts: Mapping[str, Cut]
    champion: str
    rivals: tuple[str, ...]
    about: str = ABOUT

    def measurements(self, setups: Sequence[Setup]) -> list[Measurement]:
        """Return, for every setup and cut, the optimum and the order of every method."""
        found: list[Measurement] = []
        for setup in setups:
            for cut in self.cuts.values():
                found += [Optimum(setup, cut), *(MethodOrders(setup, method, cut) for method in self.methods.values())]
        return found

    def draw(self, context: FigureContext) -> None:
        """Tables have no figures."""

    def section(self, results: Results, setups: Sequence[Setup], figures: Path) -> Section:
        """Return a table for each setup and cut, then the claims about the champion."""
        there = [
            (setup, name, cut)
            for setup in setups
            for name, cut in self.cuts.items()
            if results.has(Optimum(setup, cut))  # shares are relative to the optimum
        ]
        blocks: list[Block] = [Paragraph(self.about)]
        blocks += [self._grid(results, setup, name, cut) for setup, name, cut in there]
        verdicts = tuple(verdict for place in there for verdict in self._claims(results, *place))
        claims = [Verdicts(verdicts, "What is claimed, and whether it holds")] if verdicts else []
        return Section(self.name, self.title, (*blocks, *claims) if there else ())

    def shares(self, results: Results, setup: Setup, cut: Cut, row: str, way: str) -> list[float] | None:
        """Return each image's variance as a share of the largest; None if the row was not measured."""
        found = self._numbers(results, setup, cut, row, f"{way} variance")
        best = results.numbers(Optimum(setup, cut), f"optimum {way} variance")
        return found and [value / most if most > 0 else math.nan for value, most in zip(found, best, strict=True)]

    def heights(self, results: Results, setup: Setup, cut: Cut, row: str, way: str) -> list[float] | None:
        """Return where each image's area lies between that of random orders (0) and the largest (1)."""
        found = self._numbers(results, setup, cut, row, f"{way} area")
        low, high = (results.numbers(Optimum(setup, cut), f"{name} {way} area") for name in ("random", "highest"))
        return found and [(a - b) / (c - b) if c > b else math.nan for a, b, c in zip(found, low, high, strict=True)]

    def _numbers(self, results: Results, setup: Setup, cut: Cut, row: str, column: str) -> list[float] | None:
        if row in SEARCHES:
            return results.numbers(Optimum(setup, cut), f"{SEARCHES[row]} {column}")
        measurement = MethodOrders(setup, self.methods[row], cut)
        return results.numbers(measurement, column) if results.has(measurement) else None

    def _grid(self, results: Results, setup: Setup, name: str, cut: Cut) -> Grid:
        rows = []
        for row in (*self.methods, *SEARCHES):
            texts = [row]
            for way in WAYS:
                shares, heights = (of(results, setup, cut, row, way) for of in (self.shares, self.heights))
                texts += [_format_mean(shares), _count_optimal(shares), _format_mean(heights)]
            rows.append(tuple(texts))
        heads = ("", *("Eq. 5 ↑", "optimal", "area ↑") * len(WAYS))
        groups = (("", 1), *((HEADS[way], 3) for way in WAYS))
        return Grid(heads, tuple(rows), f"{setup.title}: {name}", groups)

    def _claims(self, results: Results, setup: Setup, name: str, cut: Cut) -> list[Verdict]:
        found = []
        for rival in self.rivals:
            for way in WAYS:
                for aim, of in (("the optimum of Eq. 5", self.shares), ("the largest area", self.heights)):
                    ours, theirs = (of(results, setup, cut, row, way) for row in (self.champion, rival))
                    if ours and theirs:
                        difference = compare_paired(ours, theirs)
                        claim = f"{self.champion} nearer to {aim} than {rival}: {name}, {HEADS[way]}"
                        found.append(Verdict(claim, "–", str(difference), difference.state(+1), setup.title))
        return found


def _format_mean(shares: list[float] | None) -> str:
    if not shares:
        return "–"
    found = summarise(shares)
    return f"{found.mean:.3f} [{found.low:.3f}, {found.high:.3f}]".replace("-", "−")


def _count_optimal(shares: list[float] | None) -> str:
    return f"{sum(share >= 1 - CLOSE for share in shares)} of {len(shares)}" if shares else "–"


OPTIMUM = OptimumTable(
    name="optimum",
    title="How far from the optimum",
    methods={
        "coupled": Coupled(pixels_per_step=1, baseline=PAIR),
        "SAMP++": SAMPPlusPlus(pixels_per_step=1, baseline=PAIR),
        "SAMP": SAMP(pixels_per_step=1, baseline=PAIR),
    },
    setups=("mnist:even", "cifar10:even"),
    cuts={"16 patches": Squares(4), "16 superpixels": Superpixels(4)},
    champion="coupled",
    rivals=("SAMP", "SAMP++"),
)
