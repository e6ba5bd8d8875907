"""Def. 1: does SAMP concentrate the attribution, by variance at equal sum, Gini and the share of the top 10 %?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from samp.attribution import DIRECTIONS
from samp.methods import Method
from samp.metrics.statistics import summarise
from samp_lab.claims_on_setups import SetupClaim, count_pairs
from samp_lab.experiment import FigureContext
from samp_lab.measurements.base import Measurement
from samp_lab.measurements.credit_concentration import CreditConcentration
from samp_lab.readings import method_as_read
from samp_lab.sections import Block, Grid, Paragraph, Section, Verdict, Verdicts
from samp_lab.setups import Setup
from samp_lab.statistics import Difference, compare_paired, correct_family
from samp_lab.store import Results

PART = "concentration"
SPARSE = "sparse"
ROWS: dict[str, str | Method] = {
    "SAMP": "samp",
    "SAMP++": "samp++",
    "IG": "ig",
    "Guided IG": "guidedig",
    "Blur IG": "blurig",
    "random order": "random",
}
PATH = "path variance"
MEASURES = {
    PATH: "log10 Var of exact credits along its order",
    "map variance": "log10 d²·Var of the map at sum 1",
    "gini": "Gini of |credit|",
    "top10": "share of |credit| on the top 10 %",
}
ON_THE_PATH = ("random order",)  # a random map is no method: only its order is compared
PAIRS = tuple((ours, other) for ours in ("SAMP", "SAMP++") for other in ("IG", "Guided IG", "Blur IG", "random order"))
# the paper contrasts its maps with IG's; a map's variance at sum 1 grows with its negative credit and is not judged
JUDGED_MAPS = (("SAMP", "IG"), ("SAMP++", "IG"))
MAP_MEASURES = ("gini", "top10")
ABOUT = (
    "Def. 1 prefers the path whose attribution has the largest variance, given that all attributions sum to the same "
    "C = Δy. What it means is therefore the first column: every pixel gets its share of the true change of the score "
    "in the step that moves it, which sums to C for any order of the pixels. All orders move the same pixels, as many "
    "a step as SAMP does, both from the image to the deletion baseline and from the insertion baseline to the image "
    "(the mean of both logarithms is shown). SAMP's order is that of its path; the others do not move pixel by pixel, "
    "and their order is the ranking by their credit. The maps themselves do not sum to C: SAMP's credit is a product "
    "of gradient and step, often many times Δy. So the second column is the variance of the map divided by its own "
    "sum; negative credit makes that sum small and this variance large. Gini and the top 10 % go by |credit| and do "
    "not depend on the sum. IG from black gives the black pixels of a digit nothing; SAMP also walks from the blurred "
    "image, in which they are not black, and so credits more pixels."
)


@dataclass(frozen=True)
class ConcentrationTable:
    """How concentrated the credit of each row is, by four measures, and whether SAMP's is more so than IG's.

    >>> from samp_lab.setups import parse_setup
    >>> [measurement.method for measurement in CONCENTRATION.measurements([parse_setup("mnist")])][:2]
    ['samp', 'samp++']
    """

    name: str
    title: str
    setups: tuple[str, ...]

    def measurements(self, setups: Sequence[Setup]) -> list[Measurement]:
        """Return a measurement for every row on every setup."""
        return [measurement_of(row, setup) for setup in setups for row in ROWS]

    def draw(self, context: FigureContext) -> None:
        """Tables have no figures."""

    def section(self, results: Results, setups: Sequence[Setup], figures: Path) -> Section:
        """Return a table for each setup, then all verdicts."""
        blocks: list[Block] = [Paragraph(ABOUT)]
        verdicts: list[Verdict] = []
        for setup in setups:
            present = [row for row in ROWS if results.has(measurement_of(row, setup))]
            blocks += [_grid(results, setup, present)] if present else []
            verdicts += _verdicts(results, setup, present)
        return Section(self.name, self.title, (*blocks, *([Verdicts(tuple(verdicts))] if verdicts else [])))


def measurement_of(row: str, setup: Setup) -> CreditConcentration:
    """Return the measurement of a row, with the method as the setup's reading has it."""
    return CreditConcentration(setup, method_as_read(ROWS[row], setup))


def values_of(results: Results, row: str, setup: Setup, measure: str) -> list[float]:
    """Return a measure of each image; that of the path is the mean of both directions."""
    measurement = measurement_of(row, setup)
    if measure != PATH:
        return results.numbers(measurement, measure)
    both = (results.numbers(measurement, f"{measure} {direction}") for direction in DIRECTIONS)
    return [sum(pair) / len(pair) for pair in zip(*both, strict=True)]


def _grid(results: Results, setup: Setup, present: Sequence[str]) -> Grid:
    rows = []
    for row in present:
        shown = [PATH] if row in ON_THE_PATH else list(MEASURES)
        texts = [_text(values_of(results, row, setup, measure)) for measure in shown]
        rows.append((row, *texts, *["–"] * (len(MEASURES) - len(texts))))
    count = len(values_of(results, present[0], setup, PATH))
    return Grid(("", *MEASURES.values()), tuple(rows), f"{setup.title}, {count} images")


def _text(values: Sequence[float]) -> str:
    found = summarise(values)
    return f"{found.mean:.3f} [{found.low:.3f}, {found.high:.3f}]".replace("-", "−") if found.count else "–"


def _verdicts(results: Results, setup: Setup, present: Sequence[str]) -> list[Verdict]:
    """Return the verdicts on Def. 1 and on sparse maps, each with Holm's p over its own tests."""
    tests = {PART: [(pair, PATH) for pair in PAIRS]}
    tests[SPARSE] = [(pair, measure) for pair in JUDGED_MAPS for measure in MAP_MEASURES]
    found = []
    for part, family in tests.items():
        there = [(pair, measure) for pair, measure in family if set(pair) <= set(present)]
        pairs = [[values_of(results, row, setup, measure) for row in pair] for pair, measure in there]
        corrected = correct_family([compare_paired(*values) for values in pairs])
        for (pair, measure), (a, b), difference in zip(there, pairs, corrected, strict=True):
            found.append(_verdict(SetupClaim(setup, part, count_pairs(a, b)), pair, measure, difference))
    return found


def _verdict(judged: SetupClaim, pair: tuple[str, str], measure: str, found: Difference) -> Verdict:
    claim = f"{pair[0]} more concentrated than {pair[1]}: {MEASURES[measure]}"
    paper = "largest variance" if measure == PATH else "“IG spreads attributions over most pixels”"
    return judged.verdict(claim, paper, str(found), found.state(+1))


CONCENTRATION = ConcentrationTable(
    name="concentration",
    title="Def. 1: concentration of the attribution",
    setups=("mnist", "mnist@authors", "cifar10", "cifar10@authors", "imagenet/resnet50"),
)
