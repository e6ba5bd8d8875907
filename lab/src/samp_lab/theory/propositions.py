"""Prop. 1 and 2 in numbers: simulated Brownian allocations, and the credits of real nets along random orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from samp.attribution import DIRECTIONS, Direction
from samp.metrics.intervals import Floats
from samp.metrics.statistics import summarise
from samp_lab.claims_on_setups import SetupClaim
from samp_lab.experiment import FigureContext
from samp_lab.figures.setup_figure import picture_block
from samp_lab.measurements.base import Measurement
from samp_lab.measurements.path_orders import Cut, RandomOrders, Squares
from samp_lab.sections import Block, Grid, Paragraph, Section, State, Verdict, Verdicts
from samp_lab.setups import Setup
from samp_lab.statistics import Estimate, Statistic, bootstrap_estimate, claim_state
from samp_lab.store import Results
from samp_lab.theory.allocation import simulate_bridge
from samp_lab.theory.exact_cases import exact_blocks, exact_checks

if TYPE_CHECKING:
    from samp_lab.figures.pages import SweepLine

SIGMA, TOTAL = 1.0, 3.0  # of the simulation
SIZES = (4, 16, 64)
WORDS: dict[Direction, str] = {"to_baseline": "image to black", "to_image": "blurred to image"}
ABOUT = (
    "Ass. 1 takes the credits of a path for steps of a Brownian motion. Given their sum C, each then has mean C/d and "
    "variance σ(1 − 1/d), any two have covariance −σ/d (Prop. 1), which vanishes for large d (Prop. 2), and the "
    "expected score along a random path is a straight line. That follows from Ass. 1, as the simulation shows; whether "
    "a net's credits are like that is another question. Below, groups of a net's pixels move in random orders. That "
    "the covariances of all pairs of moves average to −σ/d is no finding: credits that sum to a constant cannot do "
    "otherwise. What can fail is that all moves, all pairs and all groups are alike, and Gaussian."
)


@dataclass(frozen=True)
class Theory:
    """What Ass. 1 implies, simulated and measured on random orders of a setup's groups.

    >>> from samp_lab.setups import parse_setup
    >>> [measurement.kind for measurement in THEORY.measurements([parse_setup("mnist")])]
    ['shuffled']
    """

    name: str
    title: str
    setups: tuple[str, ...]
    cut: Cut
    about: str = ABOUT

    def measurements(self, setups: Sequence[Setup]) -> list[Measurement]:
        """Return one measurement for each setup."""
        return [RandomOrders(setup, self.cut) for setup in setups]

    def draw(self, context: FigureContext) -> None:
        """Draw the expected score of each setup and direction beside the straight line."""
        from samp_lab.figures.line_panels import PanelStyle, panel_page

        there = [setup for setup in context.setups if context.results.has(RandomOrders(setup, self.cut))]
        if there:
            lines = {setup.title: [self._line(context.results, setup, d) for d in DIRECTIONS] for setup in there}
            look = PanelStyle("share of the groups moved", "share of the change", against=((0.0, 0.0), (1.0, 1.0)))
            caption = "Mean over images and random orders, with 95 % intervals over images; dotted: Prop. 1."
            context.save(panel_page(lines, look, [caption]), self.name)

    def section(self, results: Results, setups: Sequence[Setup], figures: Path) -> Section:
        """Return the simulation, the figure, a table for all setups, and verdicts on Ass. 1."""
        there = [setup for setup in setups if results.has(RandomOrders(setup, self.cut))]
        if not there:
            return Section(self.name, self.title, ())
        blocks: list[Block] = [Paragraph(self.about), simulation_table()]
        blocks += picture_block(figures, self.name, "The expected score along random orders of the groups.")
        measured = {(setup, d): self._estimates(results, setup, d) for setup in there for d in DIRECTIONS}
        blocks.append(_grid(measured))
        rows = tuple(
            _verdict(setup, d, claim, found[claim]) for (setup, d), found in measured.items() for claim in found
        )
        blocks += [Paragraph(_failure_sentence(rows)), *exact_blocks()]
        exact = tuple(check.verdict() for check in exact_checks())
        return Section(self.name, self.title, (*blocks, Verdicts((*rows, *exact))))

    def _estimates(self, results: Results, setup: Setup, direction: Direction) -> dict[Claim, Estimate]:
        """Return the estimate that each claim is about."""
        columns = results.entry(RandomOrders(setup, self.cut))["numbers"]
        curves, spread = (np.array(columns[f"{name} {direction}"], np.float64) for name in ("curve", "spread"))
        return {
            LINEAR: bootstrap_estimate(line_deviation(curves), len(curves)),
            FIT: bootstrap_estimate(line_fit(curves), len(curves)),
            STEADY: bootstrap_estimate(late_by_early(spread), len(spread)),
            PAIRS: _mean(results.numbers(RandomOrders(setup, self.cut), f"neighbours {direction}"), spread.shape[1]),
            GAUSSIAN: _mean(results.numbers(RandomOrders(setup, self.cut), f"kurtosis {direction}")),
            ALIKE: _mean(results.numbers(RandomOrders(setup, self.cut), f"identity {direction}")),
        }

    def _line(self, results: Results, setup: Setup, direction: Direction) -> SweepLine:
        from samp_lab.figures.pages import SweepLine

        curves = np.array(results.entry(RandomOrders(setup, self.cut))["numbers"][f"curve {direction}"], np.float64)
        points = [bootstrap_estimate(share_at(curves, place), len(curves)) for place in range(curves.shape[1])]
        means, lows, highs = ([getattr(one, name) for one in points] for name in ("value", "low", "high"))
        return SweepLine(WORDS[direction], np.linspace(0, 1, len(points)).tolist(), means, lows, highs)


@dataclass(frozen=True)
class Claim:
    """A consequence of Ass. 1, and the bounds within which we count a number as agreeing with it."""

    text: str
    head: str
    theory: str
    least: float
    most: float

    def state(self, found: Estimate) -> State:
        """Return whether the number lies within the bounds, by its interval.

        >>> [LINEAR.state(Estimate(0.1, *ends)) for ends in ((0.01, 0.02), (0.05, 0.2), (0.2, 0.3))]
        ['holds', 'open', 'fails']
        """
        return claim_state(found, self.least, self.most)


LINEAR = Claim("the expected score is a straight line", "farthest from the line", "0 (we say: below 0.1)", -np.inf, 0.1)
FIT = Claim("a straight line fits the expected score", "R² of the line", "1 (we say: above 0.95)", 0.95, np.inf)
STEADY = Claim("late moves vary as early ones", "variance, last third by first", "1 (we say: 0.8 to 1.25)", 0.8, 1.25)
PAIRS = Claim(
    "neighbouring moves covary by −σ/d", "neighbours' correlation less −1/(d−1)", "0 (we say: ± 0.02)", -0.02, 0.02
)
GAUSSIAN = Claim("credits are Gaussian", "excess kurtosis", "0 (we say: ± 0.5)", -0.5, 0.5)
ALIKE = Claim("all groups are alike", "variance that goes with the group", "0 (we say: below 0.1)", -np.inf, 0.1)
CLAIMS = (LINEAR, FIT, STEADY, PAIRS, GAUSSIAN, ALIKE)


def line_deviation(curves: Floats) -> Statistic:
    """Return the largest distance of the mean of curves (n d+1, from 0) from a straight line, as a share of its change.

    >>> float(line_deviation(np.array([[0.0, 1.0, 4.0]]))(np.ones((1, 1)))[0])
    0.25
    """
    line = np.linspace(0, 1, curves.shape[1])
    return lambda weights: np.abs(weights @ curves / (weights @ curves[:, -1:]) - line).max(1)


def line_fit(curves: Floats) -> Statistic:
    """Return R²: the share of the mean curve's variation that the straight line between its ends accounts for.

    >>> float(line_fit(np.array([[0.0, 2.0, 4.0], [0.0, 0.0, 4.0]]))(np.array([[1.0, 0.0], [1.0, 1.0]])).round(3)[1])
    0.885
    """
    line = np.linspace(0, 1, curves.shape[1])

    def statistic(weights: Floats) -> Floats:
        shares = weights @ curves / (weights @ curves[:, -1:])
        missed = ((shares - line) ** 2).sum(1)
        return np.asarray(1 - missed / ((shares - shares.mean(1, keepdims=True)) ** 2).sum(1), np.float64)

    return statistic


def share_at(curves: Floats, place: int) -> Statistic:
    """Return the mean curve at one place, as a share of its change.

    >>> float(share_at(np.array([[0.0, 1.0, 4.0]]), 1)(np.ones((1, 1)))[0])
    0.25
    """
    return lambda weights: (weights @ curves[:, place]) / (weights @ curves[:, -1])


def late_by_early(spread: Floats) -> Statistic:
    """Return the variance of the last third of moves over that of the first, over all images (n d).

    >>> float(late_by_early(np.array([[1.0, 5.0, 2.0]]))(np.ones((1, 1)))[0])
    2.0
    """
    third = spread.shape[1] // 3
    return lambda weights: (weights @ spread[:, -third:].sum(1)) / (weights @ spread[:, :third].sum(1))


def simulation_table() -> Grid:
    """Return a table of moments of Brownian allocations given their sum, beside those of Prop. 1."""
    rows = []
    for groups in SIZES:
        found = simulate_bridge(groups, SIGMA, TOTAL)
        theory = (TOTAL / groups, SIGMA * (1 - 1 / groups), -SIGMA / groups)
        moments = (found.mean, found.variance, found.covariance)
        texts = [
            text
            for (value, half), expected in zip(moments, theory, strict=True)
            for text in (f"{value:.4f} ± {half:.4f}".replace("-", "−"), f"{expected:.4f}".replace("-", "−"))
        ]
        rows.append((f"d = {groups}", *texts, f"{found.count:,}"))
    heads = ("", *("simulated", "Prop. 1") * 3, "paths kept")
    groups_of_heads = (("", 1), ("mean of a credit", 2), ("its variance", 2), ("covariance of two", 2), ("", 1))
    title = f"Brownian motions with σ = {SIGMA:g} that end near C = {TOTAL:g}; ± is a 95 % interval"
    return Grid(heads, tuple(rows), title, groups_of_heads)


def _grid(measured: dict[tuple[Setup, Direction], dict[Claim, Estimate]]) -> Grid:
    rows = [
        (f"{setup.title}: {WORDS[d]}", *(found[claim].format(".2f") for claim in CLAIMS))
        for (setup, d), found in measured.items()
    ]
    expected = ("Ass. 1", *(claim.theory.partition(" ")[0] for claim in CLAIMS))
    return Grid(("", *(claim.head for claim in CLAIMS)), (*rows, expected), "Real nets, groups in random orders")


def _verdict(setup: Setup, direction: Direction, claim: Claim, found: Estimate) -> Verdict:
    judged = SetupClaim(setup, "brownian", found.images or 0).verdict(
        claim.text, claim.theory, found.format(".2f"), claim.state(found)
    )
    return replace(judged, setup=f"{setup.title}: {WORDS[direction]}")


def _failure_sentence(verdicts: Sequence[Verdict]) -> str:
    """Return a sentence on the claims that fail, and where."""
    failed = {v.claim: [w.setup for w in verdicts if w.claim == v.claim and w.state == "fails"] for v in verdicts}
    sentences = [f"that {claim} ({'; '.join(where)})" for claim, where in failed.items() if where]
    return f"What fails on these nets: {', '.join(sentences)}." if sentences else "Nothing of it fails on these nets."


def _mean(values: Sequence[float], groups: int | None = None) -> Estimate:
    """Return the mean over images; for correlations (`groups` given), less their value by Prop. 1."""
    less = 0.0 if groups is None else -1 / (groups - 1)
    found = summarise(values)
    return Estimate(found.mean - less, found.low - less, found.high - less, images=found.count)


THEORY = Theory(
    name="theory",
    title="Prop. 1 and 2 in numbers",
    setups=("mnist:even", "cifar10:even", "imagenet:even/mobilenet_v2"),
    cut=Squares(7),
)
