"""Transfer: maps of one net scored by another, to see whether they are merely adversarial to their own net."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from samp.methods import Method, SAMPPlusPlus
from samp.metrics.statistics import summarise
from samp_lab.experiment import FigureContext
from samp_lab.measurements.base import Measurement
from samp_lab.measurements.path_orders import TransferCurves
from samp_lab.sections import Block, Grid, Paragraph, Section, Verdict, Verdicts
from samp_lab.setups import IMAGENET_NETS, NET_TITLES, Setup
from samp_lab.statistics import claim_state, compare_paired
from samp_lab.store import Results

NETS = IMAGENET_NETS[1:]  # those that this table has always had
MARGIN = -0.03
ABOUT = (
    "Insertion − Deletion by the judge's score of the class that the map explains, which is the one its own net "
    "predicts. Photos whose score by the judge is not above 0 cannot be normalised and are left out. All nets see the "
    "same 224 × 224 pixels, each as it was trained to."
)


def judges_of(setup: Setup) -> tuple[str, ...]:
    """Return the other nets with the same classes and input size.

    >>> from samp_lab.setups import parse_setup
    >>> judges_of(parse_setup("imagenet/mobilenet_v2")), judges_of(parse_setup("mnist"))
    (('efficientnet_lite0', 'squeezenet1_1'), ())
    """
    return tuple(net for net in NETS if net != setup.net) if setup.net in NETS else ()


@dataclass(frozen=True)
class TransferTable:
    """Maps of each setup's net, scored by the other nets; the champion may lose at most `margin` against the rival.

    >>> from samp_lab.setups import parse_setup
    >>> sorted({measurement.judge for measurement in TRANSFER.measurements([parse_setup("imagenet/squeezenet1_1")])})
    ['efficientnet_lite0', 'mobilenet_v2']
    """

    name: str
    title: str
    rows: Mapping[str, str | Method]
    setups: tuple[str, ...]
    champion: str
    rival: str
    margin: float = MARGIN
    about: str = ABOUT

    def measurements(self, setups: Sequence[Setup]) -> list[Measurement]:
        """Return a measurement of every row on every setup by every judge."""
        return [
            self.measurement(setup, row, judge) for setup in setups for judge in judges_of(setup) for row in self.rows
        ]

    def draw(self, context: FigureContext) -> None:
        """Tables have no figures."""

    def section(self, results: Results, setups: Sequence[Setup], figures: Path) -> Section:
        """Return a table for each setup with a column for each judge, then the claims about the champion."""
        blocks: list[Block] = [Paragraph(self.about)]
        verdicts: list[Verdict] = []
        for setup in setups:
            judges = [judge for judge in judges_of(setup) if self._present(results, setup, judge)]
            if judges:
                blocks.append(self._grid(results, setup, judges))
                verdicts += [found for judge in judges if (found := self._claim(results, setup, judge))]
        claims = [Verdicts(tuple(verdicts), "What is claimed, and whether it holds")] if verdicts else []
        return Section(self.name, self.title, (*blocks, *claims) if len(blocks) > 1 else ())

    def measurement(self, setup: Setup, row: str, judge: str) -> TransferCurves:
        """Return the measurement of this row and judge."""
        return TransferCurves(setup, self.rows[row], judge)

    def _present(self, results: Results, setup: Setup, judge: str) -> list[str]:
        return [row for row in self.rows if results.has(self.measurement(setup, row, judge))]

    def _numbers(self, results: Results, setup: Setup, row: str, judge: str) -> list[float]:
        return results.numbers(self.measurement(setup, row, judge), "difference")

    def _grid(self, results: Results, setup: Setup, judges: Sequence[str]) -> Grid:
        columns = [self._column(results, setup, judge) for judge in judges]
        rows = [(row, *(text for column in columns for text in column[row])) for row in self.rows]
        heads = ("", *("insertion − deletion ↑", f"less {self.rival}", "photos") * len(judges))
        groups = (("", 1), *((f"judged by {NET_TITLES.get(judge, judge)}", 3) for judge in judges))
        return Grid(heads, tuple(rows), f"Maps of {setup.title}", groups)

    def _column(self, results: Results, setup: Setup, judge: str) -> dict[str, tuple[str, str, str]]:
        present = self._present(results, setup, judge)
        numbers = {row: self._numbers(results, setup, row, judge) for row in present}
        summaries = {row: summarise(values) for row, values in numbers.items()}
        best = max(present, key=lambda row: summaries[row].mean)
        found = dict.fromkeys(self.rows, ("–", "–", "–"))
        for row, summary in summaries.items():
            mean = f"**{summary.mean:.3f}**" if row == best else f"{summary.mean:.3f}"
            interval = f" [{summary.low:.3f}, {summary.high:.3f}]"
            compared = row != self.rival and self.rival in numbers
            less = compare_paired(numbers[row], numbers[self.rival]).format("+.3f") if compared else "–"
            found[row] = ((mean + interval).replace("-", "−"), less, f"{summary.count}")
        return found

    def _claim(self, results: Results, setup: Setup, judge: str) -> Verdict | None:
        pair = [row for row in (self.champion, self.rival) if row in self._present(results, setup, judge)]
        if len(pair) < 2:
            return None
        found = compare_paired(*(self._numbers(results, setup, row, judge) for row in pair))
        margin = f"{self.margin:g}".replace("-", "−")
        claim = f"{self.champion} less {self.rival} is above {margin}, judged by {NET_TITLES.get(judge, judge)}"
        return Verdict(claim, "–", str(found), claim_state(found, least=self.margin), setup.title)


TRANSFER = TransferTable(
    name="transfer",
    title="Maps judged by another net",
    rows={
        "coupled": "coupled",
        "SAMP++": "samp++",
        "SAMP++, η 0.02": SAMPPlusPlus(eta=0.02),
        "SAMP": "samp",
        "IG": "ig",
        "Grad-CAM": "gradcam",
    },
    setups=tuple(f"imagenet:even/{net}" for net in NETS),
    champion="coupled",
    rival="SAMP++",
)
